// The controller's updates: from arrival through evaluation to the commit.
#include <algorithm>

#include "metis/core/check.h"
#include "metis/core/planted.h"
#include "metis/core/text.h"
#include "metis/federation/controller.h"

namespace metis::federation {

void Controller::On(const UpdateReceived& event, Out& out) {
  const UpdateId& id = event.id;
  if (phase_ == Phase::kFinished) return AfterTheEnd(id, out);
  std::vector<UpdateId> pending = Pending();
  if (std::find(pending.begin(), pending.end(), id) != pending.end()) {
    // Acknowledged already, whatever has become of its learner since.
    Heard(id.learner, id.incarnation, out);
    out.push_back(AcknowledgeUpdate{id});
    return;
  }
  Member* member = membership_.Find(id.learner);
  if (member != nullptr && id.incarnation < member->incarnation() &&
      !Planted(PlantedBug::kStaleIncarnation)) {
    ++statistics_.rejected;
    out.push_back(RejectUpdate{
        id, RejectReason::kStaleIncarnation,
        Text("the update of learner ", id.learner, " is of incarnation ", id.incarnation,
             ", but incarnation ", member->incarnation(), " has joined: is it running twice?")});
    return;
  }
  if (!Planted(PlantedBug::kStaleIncarnation)) member = Heard(id.learner, id.incarnation, out);
  if (member == nullptr || !member->trains()) return RejectStranger(id, out);
  if (!begun_) return RejectEarly(id, out);
  bool repeated = id.sequence <= member->verdict.sequence;
  if (Planted(PlantedBug::kDoubleApply) && !member->verdict.pending) repeated = false;
  if (repeated) return Repeated(id, *member, out);
  std::optional<RejectUpdate> refusal = Refusal(event, *member);
  const auto first = std::find_if(pending.begin(), pending.end(), [&](const UpdateId& each) {
    return each.learner == id.learner && each.incarnation == id.incarnation;
  });
  if (first != pending.end()) return RejectSecond(id, *first, std::move(refusal), out);
  if (refusal) return Reject(*member, *std::move(refusal), out);
  if (Result<void> admitted = protocol_->Admit(id, event.base); !admitted) {
    return Reject(*member, RejectUpdate{id, RejectReason::kLate, admitted.error().message}, out);
  }
  Accept(event, *member, out);
}

void Controller::RejectStranger(const UpdateId& id, Out& out) {
  ++statistics_.rejected;
  out.push_back(RejectUpdate{id, RejectReason::kUnknownLearner,
                             Text("learner ", id.learner, " has not joined: join first")});
}

// What is known here is older than its base, restored from a copy. Its learner waits for the
// beginning; as a stranger it would join and send again without a pause.
void Controller::RejectEarly(const UpdateId& id, Out& out) {
  ++statistics_.rejected;
  out.push_back(RejectUpdate{
      id, RejectReason::kUnknownBase,
      Text("the federation has not begun: learner ", id.learner, " is sent a model once it does")});
}

// A learner waits for its answer before it trains on: whoever does not would have models without
// number kept and evaluated, and everybody else's wait behind them. Whatever is wrong with the
// second one, the first one's verdict and its place in the round stay.
void Controller::RejectSecond(const UpdateId& id, const UpdateId& first,
                              std::optional<RejectUpdate> refusal, Out& out) {
  ++statistics_.rejected;
  if (!refusal) {
    refusal = RejectUpdate{id, RejectReason::kLate,
                           Text("update ", first.sequence, " of learner ", id.learner,
                                " is not committed yet: one at a time")};
  }
  out.push_back(*std::move(refusal));
}

// One that was committed or refused before the end keeps its verdict.
void Controller::AfterTheEnd(const UpdateId& id, Out& out) {
  const Member* member = membership_.Find(id.learner, id.incarnation);
  if (member == nullptr || id.sequence > member->verdict.sequence) {
    out.push_back(RejectUpdate{id, RejectReason::kFinished, "the federation has finished"});
  } else if (id.sequence == member->verdict.sequence) {
    PushVerdict(*member, id, out);
  }
  out.push_back(Dismiss{id.learner, id.incarnation, "the federation has finished"});
}

void Controller::PushVerdict(const Member& member, const UpdateId& id, Out& out) const {
  if (member.verdict.rejected) {
    out.push_back(*member.verdict.rejected);
  } else {
    out.push_back(AcknowledgeUpdate{id});
  }
}

// A repeated update is never applied again: it gets its verdict and the current community model.
void Controller::Repeated(const UpdateId& id, const Member& member, Out& out) {
  if (id.sequence < member.verdict.sequence) return;  // its learner has long gone on
  PushVerdict(member, id, out);
  if (!member.verdict.pending && protocol_->Owes(id.learner)) {
    SendCommunityTo(id.learner, false, out);
  }
}

std::optional<RejectUpdate> Controller::Refusal(const UpdateReceived& event, const Member& member) {
  const UpdateId& id = event.id;
  auto refuse = [&](RejectReason reason, std::string message) {
    return RejectUpdate{id, reason, std::move(message)};
  };
  if (!event.model || event.model->schema()->hash() != schema_hash_) {
    return refuse(RejectReason::kSchema,
                  Text("the model of learner ", id.learner,
                       " has another schema than the federation: was it built for another run?"));
  }
  Gate gate{settings_.max_parameter, settings_.membership.max_learners};
  if (Result<void> passed = gate.Check(*event.model); !passed) {
    return refuse(RejectReason::kGate, passed.error().In(Text("learner ", id.learner)).message);
  }
  // S_c is a sum of these: one forged number would make everybody else's staleness meaningless.
  constexpr uint64_t kMaxSteps = uint64_t{1} << 40;
  if (event.steps > kMaxSteps) {
    return refuse(RejectReason::kGate, Text("learner ", id.learner, ": ", event.steps,
                                            " steps are more than the 2^40 that are believed"));
  }
  if (evaluation_ && evaluation_->count_own) {
    Result<void> checked = CheckStatistics(event.own_counts, member.declared.validation_counts);
    if (!checked) {
      return refuse(RejectReason::kForgedCounts,
                    checked.error().In(Text("learner ", id.learner)).message);
    }
  }
  // Before anything about its time: to a controller that was restored from an older copy such an
  // update may look late, and its learner would not take an older model for that.
  if (event.base > version_ || !ledger_.WasSent(id.learner, event.base)) {
    return refuse(RejectReason::kUnknownBase,
                  Text("the update of learner ", id.learner, " claims to be trained on version ",
                       event.base, ", which it was not sent"));
  }
  return std::nullopt;
}

void Controller::Reject(Member& member, RejectUpdate rejection, Out& out) {
  LearnerId learner = rejection.id.learner;
  ++statistics_.rejected;
  // What is wrong with its content is so whenever it is sent; nobody waits for that learner. A late
  // one is expected to train again.
  bool content = rejection.reason == RejectReason::kSchema ||
                 rejection.reason == RejectReason::kGate ||
                 rejection.reason == RejectReason::kForgedCounts;
  if (content) protocol_->Refused(learner);
  member.verdict = {rejection.id.sequence, false, rejection};
  out.push_back(std::move(rejection));
  if (protocol_->Owes(learner)) SendCommunityTo(learner, false, out);
}

void Controller::Accept(const UpdateReceived& event, Member& member, Out& out) {
  member.verdict = {event.id.sequence, true, std::nullopt};
  out.push_back(AcknowledgeUpdate{event.id});
  protocol_->Received(event.id.learner);
  if (Planted(PlantedBug::kStepsAtArrival)) ledger_.Committed(event.steps);
  PendingUpdate pending;
  pending.ordinal = next_ordinal_++;
  pending.update = event;
  pending.steps_at_base = ledger_.StepsAt(event.id.learner, event.base);
  pending.training_examples = member.declared.training_examples;
  pending.evaluation = EvaluationRound(event.own_counts);
  if (evaluation_) AskEvaluators(pending, out);
  pending_.push_back(std::move(pending));
}

void Controller::AskEvaluators(PendingUpdate& pending, Out& out) {
  std::vector<LearnerId> able;
  for (const auto& [evaluator, member] : membership_.all()) {
    const bool other = evaluator != pending.update.id.learner;
    if (other && member.trains() && member.live() && member.validation_examples() > 0) {
      able.push_back(evaluator);
    }
  }
  for (LearnerId evaluator : evaluators_->Choose(able, pending.update.id)) {
    if (Planted(PlantedBug::kEvaluatorSkipped) && evaluator == LearnerId(1)) continue;
    const Member& member = *membership_.Find(evaluator);
    pending.evaluation.Ask(evaluator, member.incarnation(), member.declared.validation_counts);
    out.push_back(RequestEvaluation{evaluator, member.incarnation(), pending.update.id,
                                    pending.update.model});
    ++statistics_.models_evaluated;
    ++statistics_.models_exchanged;
  }
  Instant due = now_ + evaluation_->deadline;
  if (Planted(PlantedBug::kDeadlineAtOnce)) due = now_;
  StartTimerFor({TimerId::Kind::kEvaluation, pending.ordinal}, due, out);
}

Controller::PendingUpdate* Controller::FindPending(const UpdateId& id) {
  auto found = std::find_if(pending_.begin(), pending_.end(),
                            [&](const PendingUpdate& pending) { return pending.update.id == id; });
  return found == pending_.end() ? nullptr : &*found;
}

void Controller::On(const CountsReceived& event, Out& out) {
  if (phase_ == Phase::kFinished) return;
  if (Heard(event.evaluator, event.incarnation, out) == nullptr) return;
  PendingUpdate* pending = FindPending(event.update);
  if (pending == nullptr || !pending->evaluation.Awaits(event.evaluator, event.incarnation)) return;
  if (Result<void> answer = pending->evaluation.Answer(event.evaluator, event.counts); !answer) {
    out.push_back(RefuseCounts{event.evaluator, event.update,
                               answer.error().In(Text("evaluator ", event.evaluator)).message});
  }
}

void Controller::On(const EvaluationFailed& event, Out& out) {
  if (phase_ == Phase::kFinished) return;
  if (Heard(event.evaluator, event.incarnation, out) == nullptr) return;
  PendingUpdate* pending = FindPending(event.update);
  if (pending != nullptr && pending->evaluation.Awaits(event.evaluator, event.incarnation)) {
    pending->evaluation.Silent(event.evaluator);
  }
}

// Hands updates to the protocol in arrival order: the first that is still under evaluation holds
// the rest.
void Controller::OfferWeighed() {
  auto next = pending_.begin();
  if (Planted(PlantedBug::kCommitOutOfOrder)) {
    next = std::find_if(pending_.begin(), pending_.end(),
                        [](const PendingUpdate& pending) { return pending.evaluation.complete(); });
  }
  if (next == pending_.end() || !next->evaluation.complete()) return;
  PendingUpdate pending = std::move(*next);
  pending_.erase(next);
  timers_.erase({TimerId::Kind::kEvaluation, pending.ordinal});
  protocol_->Offer(Weigh(std::move(pending)));
}

WeighedUpdate Controller::Weigh(PendingUpdate pending) const {
  UpdateReceived& update = pending.update;
  const Evaluation evaluation = pending.evaluation.Gathered(evaluation_ && evaluation_->count_own);
  const std::optional<double> previous = aggregator_->contribution(update.id.learner);
  const Peers peers(membership_, *aggregator_, update.id.learner);
  const Candidate candidate{
      .learner = update.id.learner,
      .training_examples = pending.training_examples,
      .steps = update.steps,
      .staleness = ledger_.EffectiveStaleness(pending.steps_at_base, update.steps),
      .version_staleness = version_.value() - update.base.value(),
      .cycle = update.cycle,
      .evaluation = evaluation,
      .previous = previous,
      .peers = peers};
  const std::optional<double> contribution =
      weighting_ ? weighting_->Weigh(candidate)
                 : aggregator_->OwnWeight(candidate.version_staleness);
  WeighedUpdate weighed;
  weighed.id = update.id;
  weighed.base = update.base;
  weighed.steps = update.steps;
  weighed.steps_at_base = pending.steps_at_base;
  weighed.model = std::move(update.model);
  weighed.cycle = std::move(update.cycle);
  weighed.coverage = evaluation.coverage;
  weighed.kept_previous = !contribution.has_value();
  weighed.contribution = contribution.value_or(previous.value_or(0));
  return weighed;
}

Result<void> Controller::Aggregate(const std::vector<WeighedUpdate>& updates) {
  // A member may have begun a new life with fewer examples since its update was weighed.
  double largest = weighting_ ? weighting_->LargestContribution(membership_) : 0;
  for (const WeighedUpdate& update : updates) largest = std::max(largest, update.contribution);
  if (!settings_.policy.protocol->rounds) {
    METIS_CHECK(updates.size() == 1);
    return aggregator_->Replace(updates[0].id.learner, updates[0].contribution, updates[0].model,
                                largest);
  }
  std::vector<Contribution> contributions;
  for (const WeighedUpdate& update : updates) {
    contributions.push_back({update.id.learner, update.contribution, update.model});
  }
  return aggregator_->ReplaceAll(std::move(contributions), largest);
}

// True if there is a new version.
bool Controller::CommitDue(Out& out) {
  std::optional<std::vector<WeighedUpdate>> due = protocol_->TakeDue(membership_);
  if (!due) return false;
  const ModelPtr before = aggregator_->Current();
  if (const Result<void> aggregated = Aggregate(*due); !aggregated) {
    protocol_->Failed(*due);
    // A raised scale may have changed the last bits: then that is a version of its own.
    const bool changed = aggregator_->Current() != before;
    if (changed) Record(Commit(), out);
    for (const WeighedUpdate& update : *due) RejectFailed(update.id, aggregated.error(), out);
    return changed;
  }
  Protocol::Sending sending = protocol_->Committed(version_.Next(), *due, membership_);
  Record({*std::move(due), std::move(sending)}, out);
  return true;
}

void Controller::RejectFailed(const UpdateId& id, const Error& error, Out& out) {
  Member* member = membership_.Find(id.learner, id.incarnation);
  RejectUpdate rejection{id, RejectReason::kStorage, error.message};
  if (member != nullptr) return Reject(*member, std::move(rejection), out);
  // Of an earlier life: acknowledged, so refused by name all the same.
  ++statistics_.rejected;
  out.push_back(std::move(rejection));
}

void Controller::CommitAll(Out& out) {
  while (!FinishIfMet(out)) {
    size_t waiting = pending_.size();
    OfferWeighed();
    if (!CommitDue(out) && pending_.size() == waiting) return;
  }
}

void Controller::Record(Commit commit, Out& out) {
  bool reuse = Planted(PlantedBug::kVersionReuse) && !pending_.empty();
  Version before = version_;
  if (!reuse) version_ = version_.Next();
  ++statistics_.commits;
  CommunityCommitted note;
  note.version = version_;
  uint64_t steps = 0;
  for (WeighedUpdate& update : commit.updates) {
    ++statistics_.requests;
    statistics_.models_exchanged += 2;
    steps += update.steps;
    note.updates.push_back(
        {.id = update.id,
         .contribution = update.contribution,
         .coverage = update.coverage,
         .kept_previous = update.kept_previous,
         .steps = update.steps,
         .staleness = ledger_.EffectiveStaleness(update.steps_at_base, update.steps),
         .version_staleness = before.value() - update.base.value(),
         .cycle = std::move(update.cycle)});
    Member* member = membership_.Find(update.id.learner, update.id.incarnation);
    if (member != nullptr && member->verdict.sequence == update.id.sequence) {
      member->verdict.pending = false;
    }
    StartLeaseIfLost(update.id.learner, out);
  }
  if (!Planted(PlantedBug::kStepsAtArrival)) ledger_.Committed(steps);
  community_ = optimizer_->Step(community_, aggregator_->Current());
  note.total_contribution = aggregator_->total_contribution();
  note.committed_steps = ledger_.committed_steps();
  note.model = community_;
  out.push_back(std::move(note));
  const auto& [receivers, restart] = commit.sending;
  for (LearnerId learner : receivers) {
    const Member& member = *membership_.Find(learner);
    // A new life has been given its model on joining, and is owed nothing for its predecessor's
    // update.
    bool same_life = restart || member.incarnation() == commit.updates[0].id.incarnation;
    if (member.live() && same_life) SendCommunityTo(learner, restart, out);
  }
}

// Its lease may have ended while its update waited: the model that comes in now gets one of its
// own.
void Controller::StartLeaseIfLost(LearnerId learner, Out& out) {
  const TimerId lease{TimerId::Kind::kLease, learner.value()};
  const bool lost = membership_.Find(learner)->presence == Presence::kLost;
  if (lost && !timers_.contains(lease)) {
    StartTimerFor(lease, now_ + settings_.membership.lease, out);
  }
}

Result<void> Controller::Withdrawable() const {
  if (settings_.policy.protocol->rounds && !settings_.keep_models) {
    return Invalid(
        "of a finished round this federation keeps the mix and not its models: none can be taken "
        "out again. The next round's mix is made of what is sent for it alone. To be able to "
        "withdraw, set storage.durability = \"full\", or storage.memory_mb");
  }
  return aggregator_->Withdrawable();
}

void Controller::Withdraw(LearnerId learner, Out& out) {
  Result<void> withdrawn = Withdrawable();
  if (withdrawn) withdrawn = aggregator_->Withdraw(learner);
  if (!withdrawn) {
    out.push_back(StateChanged{phase_, withdrawn.error().message});
    return;
  }
  version_ = version_.Next();
  ++statistics_.commits;
  ++statistics_.withdrawals;
  CommunityCommitted note;
  note.version = version_;
  note.withdrawn = learner;
  community_ = optimizer_->Step(community_, aggregator_->Current());
  note.total_contribution = aggregator_->total_contribution();
  note.committed_steps = ledger_.committed_steps();
  note.model = community_;
  out.push_back(std::move(note));
}

}  // namespace metis::federation
