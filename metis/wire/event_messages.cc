#include <utility>

#include "metis/core/text.h"
#include "metis/wire/messages.h"
#include "metis/wire/messages_internal.h"
#include "metis/wire/statistics_messages.h"

namespace metis::wire {

namespace {

using federation::CommunityRequested;
using federation::CommunityTested;
using federation::CountsReceived;
using federation::CycleReason;
using federation::CycleRecord;
using federation::EpochReported;
using federation::EvaluationFailed;
using federation::Event;
using federation::LearnerJoined;
using federation::LearnerLeft;
using federation::UpdateReceived;

// Puts an event into a message; false: a participant does not send it this way.
struct EventEncoder {
  v1::FromParticipant& message;

  bool operator()(const LearnerJoined& event) const {
    v1::Join* join = message.mutable_join();
    join->set_group(event.group);
    join->set_training_examples(event.training_examples);
    EncodeDeclared(event.validation_counts, join);
    join->set_schema_hash(event.schema_hash);
    return true;
  }
  bool operator()(const LearnerLeft&) const {
    message.mutable_leave();
    return true;
  }
  bool operator()(const EpochReported& event) const {
    v1::Epoch* epoch = message.mutable_epoch();
    epoch->set_cycle(event.cycle);
    epoch->set_epoch(event.epoch);
    return true;
  }
  bool operator()(const CommunityRequested& event) const {
    message.mutable_request()->set_last_sent(event.last_sent.value());
    return true;
  }
  bool operator()(const CountsReceived& event) const {
    v1::Counts* counts = message.mutable_counts();
    Encode(event.update, counts->mutable_update());
    EncodeStatistics(
        event.counts, [&] { return counts->mutable_counts(); },
        [&] { return counts->mutable_statistics(); });
    return true;
  }
  bool operator()(const EvaluationFailed& event) const {
    Encode(event.update, message.mutable_evaluation_failed()->mutable_update());
    return true;
  }
  bool operator()(const CommunityTested& event) const {
    v1::Tested* tested = message.mutable_tested();
    tested->set_version(event.version.value());
    EncodeStatistics(
        event.counts, [&] { return tested->mutable_counts(); },
        [&] { return tested->mutable_statistics(); });
    tested->set_loss(event.loss);
    return true;
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }
};

struct Sender {
  LearnerId learner;
  Incarnation incarnation;
};

Result<Event> DecodeJoin(const v1::Join& join, Sender sender, const std::string& name,
                         federation::Role role) {
  if (Result<void> checked = CheckName(name); !checked) return checked.error();
  if (join.group().size() > kMaxGroupBytes ||
      Printable(join.group(), kMaxGroupBytes) != join.group()) {
    return Invalid(Text("\"", Printable(join.group()), "\", of ", join.group().size(),
                        " bytes, is no name of a group: at most ", kMaxGroupBytes,
                        " without control characters are taken"));
  }
  Result<Declared> validation = DecodeDeclared(join);
  if (!validation) return validation.error();
  return Event(LearnerJoined{.learner = sender.learner,
                             .incarnation = sender.incarnation,
                             .role = role,
                             .name = name,
                             .group = join.group(),
                             .training_examples = join.training_examples(),
                             .validation_counts = *std::move(validation),
                             .schema_hash = join.schema_hash()});
}

Result<Event> DecodeCounts(const v1::Counts& message, Sender sender) {
  if (!message.has_update()) return Missing("counts", "update");
  Result<Statistics> counts = DecodeStatistics(
      message.counts(), message.has_statistics() ? &message.statistics() : nullptr);
  if (!counts) return counts.error().In("counts");
  return Event(CountsReceived{.evaluator = sender.learner,
                              .incarnation = sender.incarnation,
                              .update = Decode(message.update()),
                              .counts = *std::move(counts)});
}

Result<Event> DecodeTested(const v1::Tested& message, Sender sender) {
  Result<Statistics> counts = DecodeStatistics(
      message.counts(), message.has_statistics() ? &message.statistics() : nullptr);
  if (!counts) return counts.error().In("tested");
  return Event(CommunityTested{.observer = sender.learner,
                               .incarnation = sender.incarnation,
                               .version = Version(message.version()),
                               .counts = *std::move(counts),
                               .loss = message.loss()});
}

Result<CycleRecord> DecodeCycle(const v1::Cycle& message) {
  Result<CycleReason> reason = DecodeEnum<CycleReason>(message.reason(), "reason of a cycle's end");
  if (!reason) return reason.error();
  return CycleRecord{.cycle = message.cycle(),
                     .epochs = message.epochs(),
                     .losses = {message.losses().begin(), message.losses().end()},
                     .failures = message.failures(),
                     .reason = *reason,
                     .staleness = message.staleness()};
}

}  // namespace

Result<v1::FromParticipant> EncodeEvent(const Event& event) {
  v1::FromParticipant message;
  if (std::visit(EventEncoder{message}, event)) return message;
  return Invalid(Text("event \"", federation::kEventNames[event.index()],
                      "\" is no message of a participant"));
}

Result<Event> DecodeEvent(const v1::FromParticipant& message, LearnerId learner,
                          Incarnation incarnation, const std::string& name, federation::Role role) {
  const Sender sender{learner, incarnation};
  switch (message.content_case()) {
    case v1::FromParticipant::kJoin:
      return DecodeJoin(message.join(), sender, name, role);
    case v1::FromParticipant::kLeave:
      return Event(LearnerLeft{learner, incarnation});
    case v1::FromParticipant::kEpoch:
      return Event(
          EpochReported{learner, incarnation, message.epoch().cycle(), message.epoch().epoch()});
    case v1::FromParticipant::kRequest:
      return Event(
          CommunityRequested{learner, incarnation, Sequence(message.request().last_sent())});
    case v1::FromParticipant::kCounts:
      return DecodeCounts(message.counts(), sender);
    case v1::FromParticipant::kEvaluationFailed:
      if (!message.evaluation_failed().has_update()) {
        return Missing("evaluation failed", "update");
      }
      return Event(
          EvaluationFailed{learner, incarnation, Decode(message.evaluation_failed().update())});
    case v1::FromParticipant::kTested:
      return DecodeTested(message.tested(), sender);
    case v1::FromParticipant::kHello:
    case v1::FromParticipant::kHeartbeat:
      return Invalid("a greeting or a heartbeat is no event");
    case v1::FromParticipant::CONTENT_NOT_SET:
      break;
  }
  return Invalid("a message of a participant has no content that this program knows");
}

v1::Update EncodeUpdate(const UpdateReceived& update) {
  v1::Update message;
  message.set_sequence(update.id.sequence.value());
  message.set_base(update.base.value());
  message.set_steps(update.steps);
  EncodeStatistics(
      update.own_counts, [&] { return message.mutable_own_counts(); },
      [&] { return message.mutable_own_statistics(); });
  v1::Cycle* cycle = message.mutable_cycle();
  cycle->set_cycle(update.cycle.cycle);
  cycle->set_epochs(update.cycle.epochs);
  cycle->mutable_losses()->Add(update.cycle.losses.begin(), update.cycle.losses.end());
  cycle->set_failures(update.cycle.failures);
  cycle->set_reason(static_cast<uint32_t>(update.cycle.reason));
  cycle->set_staleness(update.cycle.staleness);
  return message;
}

Result<UpdateReceived> DecodeUpdate(const v1::Update& message, LearnerId learner,
                                    Incarnation incarnation) {
  if (!message.has_cycle()) return Missing("update", "cycle");
  Result<Statistics> counts = DecodeStatistics(
      message.own_counts(), message.has_own_statistics() ? &message.own_statistics() : nullptr);
  if (!counts) return counts.error().In("update");
  Result<CycleRecord> cycle = DecodeCycle(message.cycle());
  if (!cycle) return cycle.error().In("update");
  return UpdateReceived{.id = {learner, incarnation, Sequence(message.sequence())},
                        .base = Version(message.base()),
                        .steps = message.steps(),
                        .model = nullptr,
                        .own_counts = *std::move(counts),
                        .cycle = *std::move(cycle)};
}

}  // namespace metis::wire
