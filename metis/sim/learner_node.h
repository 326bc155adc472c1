// A simulated learner machine: a LearnerSession, a trainer and an evaluator, at the speed of its
// device group. Training is real, its duration is virtual. It can crash and return in a new life,
// freeze, and leave. The evaluator works beside training, one request after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "metis/federation/learner_session.h"
#include "metis/sim/local_training.h"
#include "metis/sim/node.h"
#include "metis/sim/settings.h"
#include "metis/sim/workload.h"

namespace metis::sim {

class LearnerNode final : public drivers::ParticipantInbox {
 public:
  LearnerNode(World& world, const Workload& workload, const federation::Settings& settings,
              DeviceGroup group, LearnerId learner, uint64_t seed, bool train_ahead = true);

  // Begins a life: joins the federation.
  void Start();
  // The process dies: everything under way is gone, and a freeze with it.
  void Crash();
  // While it is down: a next life says that it is there and dies before it joins.
  void Stir();
  // Says goodbye, if it can speak, and ends.
  void Leave();
  // Nothing happens at this machine until then; messages wait.
  void PauseUntil(Instant until);

  void Receive(federation::Action message) override;

  bool up() const { return session_ != nullptr; }
  LearnerId learner() const { return learner_; }
  const federation::LearnerSession* session() const { return session_.get(); }

 private:
  // Runs the task after the delay, at this machine: not in another life, not while it is frozen.
  void After(Duration delay, EventQueue::Task task);
  void AtOrAfterPause(uint64_t life, EventQueue::Task task);
  void Send(federation::Event event, bool with_model = false);
  void Heartbeat();

  void Perform(std::vector<federation::SessionAction> actions);
  void Do(const federation::SendToController& action);
  void Do(const federation::LoadModel& action);
  void Do(const federation::TrainEpoch& action);
  void Do(const federation::TakeModel& action);
  void Do(const federation::StartRetry& action);
  void Do(const federation::Ended& action);

  void Enqueue(const federation::RequestEvaluation& request);
  void Cancel(const federation::CancelEvaluation& cancel);
  void BeginEvaluation();
  void EvaluationDone(const Statistics& counts);
  Duration EvaluationTime() const;
  // Whether the trigger looks at the validation loss after every epoch.
  bool watches_loss() const;
  // Stops what the trainer is doing: its outcome is of no interest any more.
  void StopTraining();
  // Runs the task after the delay with what the job came to; a failure ends the run instead.
  template <typename T>
  void AfterJob(Duration delay, Executor::Job<Result<T>> job, std::function<void(const T&)> task);
  // A broken or hostile learner, if faults say so.
  federation::UpdateReceived Corrupted(federation::UpdateReceived update);

  World& world_;
  const Workload& workload_;
  const federation::Settings& settings_;
  const DeviceGroup group_;
  const LearnerId learner_;
  const uint64_t seed_;
  const Executor::Begin begin_epochs_;

  uint64_t life_ = 0;  // counts Start() and Crash(): what was scheduled in another one is void
  Incarnation incarnation_;
  Instant paused_until_;
  uint64_t retry_ = 0;
  std::unique_ptr<federation::LearnerSession> session_;
  // Shared with jobs, which may outlive a crash. Training is used by one job after the other, the
  // evaluator beside it.
  std::shared_ptr<LocalTraining> training_;
  std::shared_ptr<learner::Evaluator> evaluator_;
  std::function<void()> stop_training_;  // empty while nothing is being trained
  Statistics own_counts_;                // of the local model at the latest epoch's end
  std::deque<federation::RequestEvaluation> evaluations_;
  std::optional<federation::UpdateReceived>
      earlier_life_;  // its last update, to be replayed by faults
};

}  // namespace metis::sim
