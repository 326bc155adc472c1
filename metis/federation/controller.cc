// The controller's front: construction, dispatch, members, snapshot. Updates and commits are in
// controller_updates.cc, phases, tests and the end in controller_progress.cc.
#include "metis/federation/controller.h"

#include <algorithm>

#include "metis/core/fingerprint.h"
#include "metis/core/planted.h"
#include "metis/core/text.h"

namespace metis::federation {

namespace {

std::unique_ptr<const Weighting> MakeWeighting(const Settings& settings) {
  if (settings.policy.aggregator->weighs) return nullptr;
  return settings.policy.weighting->make(settings);
}

std::optional<EvaluationTerms> TermsOf(const Settings& settings) {
  const WeightingPart& weighting = *settings.policy.weighting;
  if (settings.policy.aggregator->weighs || weighting.evaluation == nullptr) return std::nullopt;
  return weighting.evaluation(settings);
}

}  // namespace

Controller::Controller(const Settings& settings, ModelPtr initial, ModelPool& pool,
                       ModelStore& store)
    : settings_(settings),
      schema_hash_(initial->schema()->hash()),
      weighting_(MakeWeighting(settings_)),
      evaluation_(TermsOf(settings_)),
      evaluators_(settings.policy.evaluators->make(settings_)),
      membership_(settings.membership.max_learners, schema_hash_),
      protocol_(settings.policy.protocol->make(settings_)),
      aggregator_(settings.policy.aggregator->make({settings_, initial, pool, store})),
      optimizer_(settings.policy.optimizer->make(settings_, pool)),
      community_(std::move(initial)),
      stop_(settings.stop) {}

void Controller::Handle(Instant now, const Event& event, Out& out) {
  now_ = std::max(now_, now);
  std::visit([&](const auto& alternative) { On(alternative, out); }, event);
  Advance(out);
}

// --- Members
// -------------------------------------------------------------------------------------------

void Controller::On(const LearnerJoined& event, Out& out) {
  // An observer that comes back after the end may still owe the last test.
  bool last_test = event.role == Role::kObserver && !tests_under_way_.empty();
  if (phase_ == Phase::kFinished && !last_test) {
    out.push_back(Dismiss{event.learner, event.incarnation, "the federation has finished"});
    return;
  }
  Result<Membership::Joined> joined = Admit(event);
  if (!joined) {
    out.push_back(RefuseJoin{event.learner, event.incarnation, joined.error().message});
    return;
  }
  out.push_back(AcceptJoin{event.learner, event.incarnation});
  if (*joined == Membership::Joined::kRepeated) return;
  timers_.erase({TimerId::Kind::kLease, event.learner.value()});
  bool same_life = *joined == Membership::Joined::kReturned;
  if (!same_life) {
    if (!Planted(PlantedBug::kStaleIncarnation)) ledger_.Forget(event.learner);
    for (PendingUpdate& pending : pending_) pending.evaluation.Gone(event.learner);
  }
  Welcome(event.learner, same_life, out);
}

Result<Membership::Joined> Controller::Admit(const LearnerJoined& event) {
  const Declared& declared = event.validation_counts;
  // One of another kind than the others is refused as such.
  const bool fits = !membership_.form().known() || membership_.form().kind == declared.kind();
  if (fits && weighting_ != nullptr && event.role == Role::kLearner) {
    Result<void> scored = weighting_->Suits(declared);
    if (!scored) {
      return scored.error().In(
          Text("learner ", event.learner, " cannot be weighed by this federation's metric"));
    }
  }
  return membership_.Join(event);
}

void Controller::Welcome(LearnerId learner, bool same_life, Out& out) {
  const Member& member = *membership_.Find(learner);
  if (!member.trains()) {
    if (membership_.LiveObserver() == learner) ResendTests(out);
    return;
  }
  if (!begun_) return;
  if (phase_ == Phase::kFinished) {
    out.push_back(Dismiss{learner, member.incarnation(), "the federation has finished"});
    return;
  }
  switch (protocol_->Arrived(learner, same_life)) {
    case Protocol::Welcome::kNothing:
      return;
    case Protocol::Welcome::kSend:
      return SendCommunityTo(learner, false, out);
    case Protocol::Welcome::kSendRestart:
      return SendCommunityTo(learner, true, out);
  }
}

Member* Controller::Heard(LearnerId learner, Incarnation incarnation, Out& out) {
  Member* member = membership_.Find(learner, incarnation);
  if (member == nullptr || member->presence == Presence::kLeft) return nullptr;
  if (member->presence == Presence::kLost) {
    member->presence = Presence::kLive;
    timers_.erase({TimerId::Kind::kLease, learner.value()});
    Welcome(learner, true, out);
  }
  return member;
}

bool Controller::DismissStale(LearnerId learner, Incarnation incarnation, Out& out) {
  const Member* member = membership_.Find(learner);
  bool finished = phase_ == Phase::kFinished;
  bool stale = member != nullptr && incarnation < member->incarnation();
  if (finished) {
    out.push_back(Dismiss{learner, incarnation, "the federation has finished"});
  } else if (stale) {
    out.push_back(Dismiss{learner, incarnation,
                          Text("incarnation ", member->incarnation(), " of learner ", learner,
                               " has joined: is it running twice?")});
  }
  return finished || stale;
}

void Controller::On(const LearnerReturned& event, Out& out) {
  Heard(event.learner, event.incarnation, out);
}

void Controller::Gone(LearnerId learner, Presence presence, Out& out) {
  const bool tested = membership_.LiveObserver() == learner;
  membership_.Find(learner)->presence = presence;
  for (PendingUpdate& pending : pending_) pending.evaluation.Gone(learner);
  if (tested) ResendTests(out);  // to another one, if there is
}

void Controller::On(const LearnerLost& event, Out& out) {
  Member* member = membership_.Find(event.learner, event.incarnation);
  if (member == nullptr || !member->live()) return;
  Gone(event.learner, Presence::kLost, out);
  if (Planted(PlantedBug::kLostUpdate)) {
    std::erase_if(pending_, [&](const PendingUpdate& pending) {
      return pending.update.id.learner == event.learner;
    });
  }
  if (phase_ == Phase::kFinished) return;
  StartTimerFor({TimerId::Kind::kLease, event.learner.value()}, now_ + settings_.membership.lease,
                out);
}

void Controller::On(const LearnerLeft& event, Out& out) {
  Member* member = membership_.Find(event.learner, event.incarnation);
  if (member == nullptr || member->presence == Presence::kLeft) return;
  timers_.erase({TimerId::Kind::kLease, event.learner.value()});
  Gone(event.learner, Presence::kLeft, out);
}

void Controller::On(const EpochReported& event, Out& out) {
  if (DismissStale(event.learner, event.incarnation, out)) return;
  if (Heard(event.learner, event.incarnation, out) == nullptr) return;
  out.push_back(ReportSteps{event.learner, event.incarnation, ledger_.committed_steps()});
}

void Controller::On(const CommunityRequested& event, Out& out) {
  if (DismissStale(event.learner, event.incarnation, out)) return;
  const UpdateId latest{event.learner, event.incarnation, event.last_sent};
  Member* member = Heard(event.learner, event.incarnation, out);
  if (member == nullptr) {
    // Nobody asks before it was accepted: what is known here is older, restored from a copy.
    if (membership_.Find(latest.learner, latest.incarnation) == nullptr)
      RejectStranger(latest, out);
    return;
  }
  if (!begun_ || !member->trains()) return;
  if (member->verdict.pending) return;  // its commit will answer
  if (event.last_sent > member->verdict.sequence) {
    // Nobody asks before it has heard of its latest update: that is forgotten, or never came so
    // far.
    return Reject(*member,
                  RejectUpdate{latest, RejectReason::kUnknownUpdate,
                               Text("update ", latest.sequence, " of learner ", latest.learner,
                                    " is not known here: it goes on from the current model")},
                  out);
  }
  if (protocol_->Owes(event.learner)) SendCommunityTo(event.learner, false, out);
}

void Controller::SendCommunityTo(LearnerId learner, bool restart, Out& out) {
  const Member& member = *membership_.Find(learner);
  ledger_.Sent(learner, version_);
  out.push_back(SendCommunity{.learner = learner,
                              .incarnation = member.incarnation(),
                              .version = version_,
                              .model = community_,
                              .committed_steps = ledger_.committed_steps(),
                              .answers = member.verdict.sequence,
                              .restart = restart});
}

// --- The whole state
// -----------------------------------------------------------------------------------

template <typename A>
void Controller::StateFields(A& archive) {
  archive("now", now_);
  archive("phase", phase_);
  archive("phase_reason", phase_reason_);
  archive("operator_paused", operator_paused_);
  archive("begun", begun_);
  archive("stop_reason", stop_reason_);
  archive("version", version_);
  archive("membership", membership_);
  archive("ledger", ledger_);
  archive("pending", pending_);
  archive("next_ordinal", next_ordinal_);
  archive("deadline_round", deadline_round_);
  archive("timers", timers_);
  archive("stop", stop_);
  archive("tests_under_way", tests_under_way_);
  archive("test_due", test_due_);
  archive("latest_test", latest_test_);
  archive("commits_at_test", commits_at_test_);
  archive("statistics", statistics_);
}

namespace {
// Of the snapshot's form. Another one is refused, never guessed at. 2: test_due. 3: the training
// examples of pending updates.
constexpr uint64_t kSnapshotFormat = 3;
}  // namespace

void Controller::SaveParts(BinaryWriter& archive) const {
  aggregator_->Save(archive);
  protocol_->Save(archive);
  if (settings_.policy.optimizer->keeps_model) archive("community", community_);
  optimizer_->Save(archive);
}

Result<void> Controller::RestoreParts(BinaryReader& archive) {
  if (Result<void> restored = aggregator_->Restore(archive); !restored) return restored;
  if (Result<void> restored = protocol_->Restore(archive); !restored) return restored;
  community_ = aggregator_->Current();
  if (settings_.policy.optimizer->keeps_model) archive("community", community_);
  if (!community_) return Invalid("the snapshot has no community model");
  return optimizer_->Restore(archive);
}

// Writing reads only: StateFields() is mutable for the reader's sake.
Archived Controller::Snapshot() const {
  BinaryWriter writer;
  writer("format", kSnapshotFormat);
  writer("schema_hash", schema_hash_);
  const_cast<Controller*>(this)->StateFields(writer);
  SaveParts(writer);
  return std::move(writer).Take();
}

uint64_t Controller::StateHash() const {
  BinaryWriter writer(BinaryWriter::Mode::kHash);
  const_cast<Controller*>(this)->StateFields(writer);
  SaveParts(writer);
  return Fingerprint(writer.archived().bytes);
}

Result<void> Controller::Restore(const Archived& snapshot) {
  BinaryReader reader(snapshot);
  uint64_t format = 0;
  uint64_t schema_hash = 0;
  reader("format", format);
  if (format != kSnapshotFormat) {
    return Invalid(Text("the snapshot has format ", format, ", this program reads format ",
                        kSnapshotFormat, ": go on with the version that began the run"));
  }
  reader("schema_hash", schema_hash);
  if (schema_hash != schema_hash_) {
    return Invalid(Text("the snapshot is of model schema ", Hex(schema_hash), ", not ",
                        Hex(schema_hash_), ": is it of another run?"));
  }
  StateFields(reader);
  if (Planted(PlantedBug::kSnapshotForgetsQueue)) pending_.clear();
  if (Result<void> restored = RestoreParts(reader); !restored) {
    return restored.error().In("snapshot");
  }
  if (Result<void> finished = reader.Finish(); !finished) return finished.error().In("snapshot");
  return {};
}

std::vector<UpdateId> Controller::Pending() const {
  std::vector<UpdateId> ids;
  for (const PendingUpdate& pending : pending_) ids.push_back(pending.update.id);
  std::vector<UpdateId> weighed = protocol_->Uncommitted();
  ids.insert(ids.end(), weighed.begin(), weighed.end());
  return ids;
}

}  // namespace metis::federation
