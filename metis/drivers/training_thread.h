// The thread on which a learner trains and evaluates its own models: one job after the other, each
// answered on that thread. What is abandoned ends as soon as the mini-batch allows and is never
// answered. One other thread gives the jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "metis/core/result.h"
#include "metis/drivers/event_loop.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/trainer.h"

namespace metis::drivers {

class TrainingThread {
 public:
  template <typename T>
  using Answer = std::function<void(Result<T>)>;

  struct Epoch {
    learner::EpochReport report;
    double validation_loss = 0;  // NaN where it is not watched
  };
  struct Taken {
    ModelPtr model;
    Statistics own_counts;  // none without an evaluator
  };

  // `own` may be null. With `watch_loss` (and an evaluator) every received model, and the local one
  // after every epoch, is evaluated. After an epoch that took t it waits slowdown * t.
  TrainingThread(std::unique_ptr<learner::Trainer> trainer, std::unique_ptr<learner::Evaluator> own,
                 bool watch_loss, double slowdown);
  ~TrainingThread();  // abandons, and waits for the thread

  void Start();
  // Drops what is under way and begins with this model; the answer is its validation loss, NaN
  // where that is not watched.
  void Load(ModelPtr model, Answer<double> answer);
  void Train(learner::EpochKey key, Answer<Epoch> answer);
  // The local model as it is.
  void Take(Answer<Taken> answer);
  void Abandon();

 private:
  template <typename T>
  void Post(Answer<T> answer, std::function<Result<T>(const std::stop_token&)> work);
  Result<double> DoLoad(const ModelPtr& model);
  Result<Epoch> DoTrain(learner::EpochKey key, const std::stop_token& stop);
  Result<Taken> DoTake();
  // Snapshot and, with an evaluator, evaluation of the local model, unless they are there already.
  Result<void> LookAtLocal();
  void WaitAfter(Duration taken, const std::stop_token& stop);

  const bool watch_loss_;
  const double slowdown_;
  std::stop_source stop_;  // of everything since the latest Load or Abandon
  EventLoop thread_;

  // --- The training thread's own
  const std::unique_ptr<learner::Trainer> trainer_;
  const std::unique_ptr<learner::Evaluator> own_;
  ModelPtr local_;                           // the local model, once looked at since it changed
  std::optional<learner::Evaluation> seen_;  // of it
};

}  // namespace metis::drivers
