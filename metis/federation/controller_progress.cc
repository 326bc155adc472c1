// The controller's progress: phases, timers, tests, and the end.
#include "metis/core/enum_name.h"
#include "metis/core/planted.h"
#include "metis/core/text.h"
#include "metis/federation/controller.h"

namespace metis::federation {

void Controller::Advance(Out& out) {
  if (phase_ == Phase::kFinished) return;
  AdvancePhase(out);
  if (phase_ == Phase::kRunning) {
    CommitAll(out);
  } else if (begun_) {
    FinishIfMet(out);  // a test may come in during a pause
  }
  if (phase_ == Phase::kFinished || !begun_) return;
  if (auto deadline = protocol_->Deadline(); deadline && deadline->first > deadline_round_) {
    timers_.erase({TimerId::Kind::kRound, deadline_round_});
    deadline_round_ = deadline->first;
    Instant due = now_ + deadline->second;
    if (Planted(PlantedBug::kRoundDeadlineAtOnce)) due = now_;
    StartTimerFor({TimerId::Kind::kRound, deadline_round_}, due, out);
  }
  if (settings_.test.every_commits &&
      statistics_.commits >= commits_at_test_ + *settings_.test.every_commits) {
    RequestTest(out);
  }
}

void Controller::AdvancePhase(Out& out) {
  size_t live = membership_.live_learners();
  if (Planted(PlantedBug::kQuorumBySizeOnly)) live = membership_.learners();
  if (!begun_) {
    uint32_t wanted = settings_.membership.start_with != 0 ? settings_.membership.start_with
                                                           : settings_.membership.learners;
    if (live >= wanted && !operator_paused_) Begin(out);
    return;
  }
  bool quorum = live >= settings_.membership.quorum;
  if (quorum && !operator_paused_) {
    if (phase_ == Phase::kPaused) EnterPhase(Phase::kRunning, "quorum and operator agree", out);
    return;
  }
  std::string reason = operator_paused_ ? std::string("paused by the operator")
                                        : Text("quorum is gone: ", live, " live learners, ",
                                               settings_.membership.quorum, " needed");
  if (phase_ != Phase::kPaused || phase_reason_ != reason) {
    EnterPhase(Phase::kPaused, std::move(reason), out);
  }
}

void Controller::Begin(Out& out) {
  begun_ = true;
  EnterPhase(Phase::kRunning, Text(membership_.live_learners(), " learners have joined"), out);
  if (settings_.stop.duration) {
    StartTimerFor({TimerId::Kind::kDuration, 0}, now_ + *settings_.stop.duration, out);
  }
  RequestTest(out);
  if (settings_.test.every) {
    StartTimerFor({TimerId::Kind::kTest, 0}, now_ + *settings_.test.every, out);
  }
  for (LearnerId learner : protocol_->Begin(version_, membership_)) {
    SendCommunityTo(learner, false, out);
  }
}

void Controller::EnterPhase(Phase phase, std::string reason, Out& out) {
  phase_ = phase;
  phase_reason_ = std::move(reason);
  out.push_back(StateChanged{phase_, phase_reason_});
}

void Controller::StartTimerFor(TimerId timer, Instant due, Out& out) {
  timers_[timer] = due;
  out.push_back(StartTimer{timer, due});
}

void Controller::On(const TimerFired& event, Out& out) {
  auto timer = timers_.find(event.timer);
  if (timer == timers_.end() || now_ < timer->second) return;  // stale, or started anew
  timers_.erase(timer);
  if (phase_ == Phase::kFinished) return;
  switch (event.timer.kind) {
    case TimerId::Kind::kDuration:
      return Finish(StopReason::kDuration, out);
    case TimerId::Kind::kTest:
      RequestTest(out);
      return StartTimerFor(event.timer, now_ + *settings_.test.every, out);
    case TimerId::Kind::kRound:
      return protocol_->DeadlinePassed(event.timer.subject);
    case TimerId::Kind::kEvaluation:
      for (PendingUpdate& pending : pending_) {
        if (pending.ordinal != event.timer.subject || Planted(PlantedBug::kDeadlineIgnored))
          continue;
        for (LearnerId evaluator : pending.evaluation.awaited()) {
          const Member& member = *membership_.Find(evaluator);
          out.push_back(CancelEvaluation{evaluator, member.incarnation(), pending.update.id});
        }
        pending.evaluation.Close();
      }
      return;
    case TimerId::Kind::kLease: {
      LearnerId learner(static_cast<uint32_t>(event.timer.subject));
      bool withdraw = settings_.membership.lease_end == LeaseEnd::kWithdraw &&
                      aggregator_->contribution(learner).has_value();
      if (withdraw) Withdraw(learner, out);
      return;
    }
  }
}

void Controller::RequestTest(Out& out) {
  std::optional<LearnerId> observer = membership_.LiveObserver();
  if (!observer || latest_test_ == version_) return;
  // One that tests more slowly than it is asked has one model in hand and one to go on with; the
  // latest is next, once it has answered. Nothing that it tests is in vain.
  test_due_ = tests_under_way_.size() >= 2;
  if (test_due_) return;
  tests_under_way_[version_] = community_;
  latest_test_ = version_;
  commits_at_test_ = statistics_.commits;
  out.push_back(metis::federation::RequestTest{
      *observer, membership_.Find(*observer)->incarnation(), version_, community_});
}

// Also after the end: the final model's test comes then.
void Controller::On(const CommunityTested& event, Out& out) {
  const Member* member = Heard(event.observer, event.incarnation, out);
  if (member == nullptr || member->trains()) return;
  auto test = tests_under_way_.find(event.version);
  if (test == tests_under_way_.end()) return;
  UpdateId none{event.observer, event.incarnation, Sequence(0)};
  if (Result<void> checked = CheckStatistics(event.counts, member->declared.validation_counts);
      checked) {
    stop_.Tested(event.version, event.counts.Headline(), std::move(test->second));
  } else {
    out.push_back(RefuseCounts{event.observer, none,
                               checked.error().In(Text("observer ", event.observer)).message});
  }
  tests_under_way_.erase(test);
  if (test_due_) RequestTest(out);
  DismissObservers(out);
}

void Controller::On(const OperatorCommand& event, Out& out) {
  if (phase_ == Phase::kFinished) return;
  switch (event.kind) {
    case OperatorCommand::Kind::kPause:
      operator_paused_ = true;
      return;
    case OperatorCommand::Kind::kResume:
      operator_paused_ = false;
      return;
    case OperatorCommand::Kind::kStop:
      return Finish(StopReason::kOperator, out);
    case OperatorCommand::Kind::kWithdraw:
      return Withdraw(event.learner, out);
  }
}

bool Controller::FinishIfMet(Out& out) {
  const std::optional<StopReason> met =
      stop_.Met(statistics_.commits - statistics_.withdrawals, statistics_.requests,
                settings_.policy.protocol->rounds);
  if (met) Finish(*met, out);
  return met.has_value();
}

void Controller::Finish(StopReason reason, Out& out) {
  stop_reason_ = reason;
  RequestTest(out);
  // Whoever comes back with an older test in hand is asked for this one then.
  if (!membership_.LiveObserver() && latest_test_ != version_) test_due_ = true;
  timers_.clear();
  EnterPhase(Phase::kFinished, std::string(NameOf(reason)), out);
  out.push_back(Finished{reason, version_});
  for (const UpdateId& id : Pending()) {
    RejectUpdate rejection{id, RejectReason::kFinished,
                           "the federation finished before this update's turn"};
    Member* member = membership_.Find(id.learner, id.incarnation);
    if (member != nullptr && member->verdict.sequence == id.sequence) {
      member->verdict = {id.sequence, false, rejection};
    }
    out.push_back(std::move(rejection));
  }
  pending_.clear();
  protocol_->Abandon();
  for (const auto& [learner, member] : membership_.all()) {
    if (member.live() && member.trains()) {
      out.push_back(Dismiss{learner, member.incarnation(), "the federation has finished"});
    }
  }
  DismissObservers(out);
}

void Controller::DismissObservers(Out& out) {
  if (phase_ != Phase::kFinished || !tests_under_way_.empty()) return;
  for (const auto& [observer, member] : membership_.all()) {
    if (member.live() && !member.trains()) {
      out.push_back(Dismiss{observer, member.incarnation(), "the federation has finished"});
    }
  }
}

void Controller::Resume(Out& out) const {
  for (const auto& [timer, due] : timers_) {
    if (Planted(PlantedBug::kDurationForgotten) && timer.kind == TimerId::Kind::kDuration) continue;
    out.push_back(StartTimer{timer, due});
  }
  for (const PendingUpdate& pending : pending_) {
    for (LearnerId evaluator : pending.evaluation.awaited()) {
      out.push_back(RequestEvaluation{evaluator, membership_.Find(evaluator)->incarnation(),
                                      pending.update.id, pending.update.model});
    }
  }
  ResendTests(out);
}

// To the observer that is there now: the one that was asked may be gone.
void Controller::ResendTests(Out& out) const {
  std::optional<LearnerId> observer = membership_.LiveObserver();
  if (!observer) return;
  for (const auto& [version, model] : tests_under_way_) {
    out.push_back(metis::federation::RequestTest{
        *observer, membership_.Find(*observer)->incarnation(), version, model});
  }
}

}  // namespace metis::federation
