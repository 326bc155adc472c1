// A learner in any world: drives a LearnerSession, has its training and its evaluation of other
// learners' models done, one request after the other, by a worker. It trains while the controller
// is absent. Only what the session and the evaluations come to leaves: models, counts, losses,
// sizes. It owns no thread; everything happens in tasks of its loop, except where it says
// otherwise.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/drivers/loop.h"
#include "metis/drivers/transport.h"
#include "metis/federation/learner_session.h"
#include "metis/work/worker.h"

namespace metis::drivers {

struct LearnerHostOptions {
  federation::Settings settings;
  federation::LearnerJoined declared;
  uint64_t seed = 0;
  bool evaluates = false;    // it has a validation set
  bool keeps_state = false;  // Trainer::keeps_state()
  // Called once, on the loop: it was dismissed, refused, has left, or failed. The text says why; an
  // error where the learner or its data are at fault.
  std::function<void(Result<std::string>)> on_end = nullptr;
  // Called on the loop after every epoch: the cycle so far, and whether an update is due.
  std::function<void(const federation::CycleRecord&, bool asks)> on_epoch = nullptr;
};

// What an operator sees of a learner at work.
struct LearnerProgress {
  std::string state;  // "training", "waiting for the controller", ...
  uint64_t updates_acknowledged = 0;
  uint64_t updates_refused = 0;
  uint64_t cycle = 0;
  uint64_t epoch = 0;
  uint64_t examples_trained = 0;
  double training_loss = 0;
  uint64_t version = 0;  // that it trains from
  uint64_t models_evaluated = 0;
};

class LearnerHost : public ParticipantInbox {
 public:
  // Called on the loop. Null: nothing is said.
  using Say = std::function<void(const std::string&)>;

  // The ports outlive it; what the loop still holds for it must be dropped before it goes.
  LearnerHost(LearnerHostOptions options, Loop& loop, work::Worker& worker,
              ParticipantTransport& transport, Say say = nullptr);

  // --- Any thread
  void Start();
  void Receive(federation::Action message) override;
  void Reconnected() override;
  // Says goodbye (LearnerLeft) and ends.
  void Leave();
  LearnerProgress progress() const;

  // --- On the loop
  const federation::LearnerSession& session() const { return session_; }
  bool ended() const { return over_; }

 private:
  using Out = std::vector<federation::SessionAction>;

  LearnerId self() const { return options_.declared.learner; }
  Incarnation life() const { return options_.declared.incarnation; }

  void DoStart();
  void DoLeave();
  void Finish(Result<std::string> how);
  void Handle(const federation::Action& message);
  void Hear(const federation::SendCommunity& message, Out& out);
  void Hear(const federation::AcknowledgeUpdate& message, Out& out);
  void Hear(const federation::RejectUpdate& message, Out& out);
  void Hear(const federation::RefuseJoin& message, Out& out);
  void Hear(const federation::AcceptJoin& message, Out& out);
  void Hear(const federation::RequestEvaluation& request, Out& out);
  void Hear(const federation::CancelEvaluation& cancel, Out& out);
  template <typename T>
  void Hear(const T& message, Out& out);
  void Acknowledged(Sequence update);

  // What the session asks for.
  void Perform(const Out& actions);
  void Do(const federation::SendToController& action);
  void Do(const federation::LoadModel& action);
  void Do(const federation::TrainEpoch& action);
  void Do(const federation::TakeModel& action);
  void Do(const federation::StartRetry& action);
  void Do(const federation::Ended& action);
  void StopTraining();
  // Has it done; `use` gets the result, a failure ends the learner.
  void Train(work::Work work, std::function<void(work::WorkResult&, Out&)> use);

  void BeginEvaluation();
  void EvaluationDone(Result<work::WorkResult> result);

  template <typename... Parts>
  void Tell(const Parts&... parts);
  // Changes what the operator sees.
  template <typename F>
  void Note(F change);

  // --- Constant
  const LearnerHostOptions options_;
  Loop& loop_;
  work::Worker& worker_;
  ParticipantTransport& transport_;
  const Say say_;
  const bool watches_loss_;  // after every epoch

  mutable std::mutex progress_mutex_;
  LearnerProgress progress_;                      // guarded by progress_mutex_
  federation::LearnerSession::State shown_ = {};  // likewise

  // --- The loop's
  federation::LearnerSession session_;
  bool over_ = false;
  bool at_fault_ = false;  // should the session end now: this learner has no place here
  uint64_t retry_ = 0;
  Sequence refused_;                                       // the latest refused update
  std::deque<federation::RequestEvaluation> evaluations_;  // the first one is under way
  std::optional<work::Worker::JobId> evaluating_;
  std::optional<work::Worker::JobId> training_;
  ModelPtr received_;         // that the cycle under way began with
  work::LearnerState state_;  // that its latest epoch left
  std::optional<learner::Evaluation>
      own_;  // of the local model after that epoch, where it is watched
};

}  // namespace metis::drivers
