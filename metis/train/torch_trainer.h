// Local training and evaluation with libtorch, behind the interfaces of learner/. No libtorch in
// this header. Each instance is for one thread at a time; instances share nothing but the
// architecture's pool, so learners train side by side and each gives the same bits as alone.
//
// A mini-batch B of the epoch's order, shuffled by (seed, learner, cycle, epoch), makes a step:
//
//   loss = mean over B of cross-entropy(scores(x), y)
//   grad = d loss / d w  +  mu (w - w_received)
//   u = g u - eta grad;  w = w + u
//
// The last mini-batch of an epoch may be smaller; if it would hold a single example and the network
// normalises over batches, that example joins the mini-batch before.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "metis/core/ids.h"
#include "metis/core/result.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/settings.h"
#include "metis/learner/trainer.h"
#include "metis/train/architecture.h"
#include "metis/train/examples.h"

namespace metis::train {

// Hears of every mini-batch, on the thread that trains: how many of the epoch are done, and their
// mean loss.
using StepListener = std::function<void(uint64_t steps, double mean_loss)>;

// Fails where the examples do not suit: none, of another shape or more classes than the
// architecture was made for, or augmentation of anything but colour images. `pool` is borrowed and
// must be of the architecture's schema (checked).
Result<std::unique_ptr<learner::Trainer>> MakeTrainer(
    ArchitecturePtr architecture, Examples examples, const learner::TrainingSettings& settings,
    ModelPool& pool, uint64_t seed, LearnerId learner, StepListener listener = {});

// A class is predicted where its score is the largest, the first of equals. Of `settings` batch
// size and precision matter.
Result<std::unique_ptr<learner::Evaluator>> MakeEvaluator(
    ArchitecturePtr architecture, Examples examples, const learner::TrainingSettings& settings);

}  // namespace metis::train
