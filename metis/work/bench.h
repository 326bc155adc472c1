// Where work is done: a pure function of the work and of the data of the sites that the bench has
// tools for. Any thread may use it. Benches wrap each other: JournalBench asks its journal first.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "metis/core/result.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/trainer.h"
#include "metis/work/work.h"

namespace metis::work {

class Bench {
 public:
  virtual ~Bench() = default;
  // Ends early, with an error, when asked to stop.
  virtual Result<WorkResult> Do(const Work& work, const std::stop_token& stop) = 0;
};

// Trainers and evaluators of sites, each lent to one piece of work at a time. Any thread asks.
class Tools {
 public:
  template <typename T>
  using Lent = std::unique_ptr<T, std::function<void(T*)>>;

  virtual ~Tools() = default;
  // May wait until one is free.
  virtual Lent<learner::Trainer> Trainer(uint32_t who) = 0;
  virtual Lent<learner::Evaluator> Evaluator(uint32_t who) = 0;  // checked: it has a validation set
  virtual Lent<learner::Evaluator> Tester(uint32_t part) = 0;
};

// Does the work with tools, which outlive it.
class ToolBench final : public Bench {
 public:
  explicit ToolBench(Tools& tools) : tools_(tools) {}
  Result<WorkResult> Do(const Work& work, const std::stop_token& stop) override;

 private:
  Result<WorkResult> Train(const Work& work, const std::stop_token& stop);
  Result<WorkResult> TakeModel(const Work& work, const std::stop_token& stop);
  // The bytes of a state, trained anew where only its history is known; adds the examples.
  Result<learner::TrainingStatePtr> Value(const LearnerState& state, uint64_t& examples,
                                          const std::stop_token& stop);

  Tools& tools_;
};

}  // namespace metis::work
