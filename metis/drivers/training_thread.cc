#include "metis/drivers/training_thread.h"

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

#include "metis/core/check.h"

namespace metis::drivers {
namespace {
constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();
}  // namespace

TrainingThread::TrainingThread(std::unique_ptr<learner::Trainer> trainer,
                               std::unique_ptr<learner::Evaluator> own, bool watch_loss,
                               double slowdown)
    : watch_loss_(watch_loss && own != nullptr),
      slowdown_(slowdown),
      trainer_(std::move(trainer)),
      own_(std::move(own)) {
  METIS_CHECK(trainer_ != nullptr);
}

TrainingThread::~TrainingThread() {
  Abandon();
  thread_.Stop();
}

void TrainingThread::Start() { thread_.Start(); }

void TrainingThread::Abandon() {
  stop_.request_stop();
  stop_ = std::stop_source();
}

template <typename T>
void TrainingThread::Post(Answer<T> answer, std::function<Result<T>(const std::stop_token&)> work) {
  thread_.Post(
      [answer = std::move(answer), work = std::move(work), stop = stop_.get_token()]() mutable {
        if (stop.stop_requested()) return;
        Result<T> outcome = work(stop);
        if (!stop.stop_requested()) answer(std::move(outcome));
      });
}

void TrainingThread::Load(ModelPtr model, Answer<double> answer) {
  Abandon();
  Post<double>(std::move(answer),
               [this, model = std::move(model)](const std::stop_token&) { return DoLoad(model); });
}

void TrainingThread::Train(learner::EpochKey key, Answer<Epoch> answer) {
  Post<Epoch>(std::move(answer),
              [this, key](const std::stop_token& stop) { return DoTrain(key, stop); });
}

void TrainingThread::Take(Answer<Taken> answer) {
  Post<Taken>(std::move(answer), [this](const std::stop_token&) { return DoTake(); });
}

Result<double> TrainingThread::DoLoad(const ModelPtr& model) {
  local_.reset();
  seen_.reset();
  if (Result<void> loaded = trainer_->Load(model); !loaded) return loaded.error();
  if (!watch_loss_) return kNoLoss;
  Result<learner::Evaluation> evaluated = own_->Evaluate(*model);
  if (!evaluated) return evaluated.error();
  return evaluated->loss;
}

Result<TrainingThread::Epoch> TrainingThread::DoTrain(learner::EpochKey key,
                                                      const std::stop_token& stop) {
  local_.reset();
  seen_.reset();
  const Instant begun = thread_.now();
  Result<learner::EpochReport> report = trainer_->TrainEpoch(key, stop);
  if (!report) return report.error();
  Epoch epoch{*report, kNoLoss};
  if (watch_loss_ && !stop.stop_requested()) {
    if (Result<void> looked = LookAtLocal(); !looked) return looked.error();
    epoch.validation_loss = seen_->loss;
  }
  WaitAfter(thread_.now() - begun, stop);
  return epoch;
}

Result<TrainingThread::Taken> TrainingThread::DoTake() {
  if (Result<void> looked = LookAtLocal(); !looked) return looked.error();
  return Taken{local_, seen_ ? seen_->counts : Statistics()};
}

Result<void> TrainingThread::LookAtLocal() {
  if (!local_) {
    Result<ModelPtr> model = trainer_->Snapshot();
    if (!model) return model.error();
    local_ = *std::move(model);
  }
  if (own_ && !seen_) {
    Result<learner::Evaluation> evaluated = own_->Evaluate(*local_);
    if (!evaluated) return evaluated.error();
    seen_ = *std::move(evaluated);
  }
  return {};
}

void TrainingThread::WaitAfter(Duration taken, const std::stop_token& stop) {
  if (slowdown_ <= 0) return;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, std::chrono::duration<double>(slowdown_ * taken.seconds()),
                [] { return false; });
}

}  // namespace metis::drivers
