#include <utility>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/wire/messages.h"
#include "metis/wire/messages_internal.h"

namespace metis::wire {

namespace {

using federation::AcceptJoin;
using federation::AcknowledgeUpdate;
using federation::Action;
using federation::CancelEvaluation;
using federation::Dismiss;
using federation::RefuseJoin;
using federation::RejectReason;
using federation::RejectUpdate;
using federation::ReportSteps;
using federation::RequestEvaluation;
using federation::RequestTest;
using federation::SendCommunity;

// Puts an action into a message; false: it is for the driver or the record, not for a participant.
struct ActionEncoder {
  v1::ToParticipant& message;
  uint64_t fingerprint;

  bool operator()(const AcceptJoin&) const {
    message.mutable_accepted();
    return true;
  }
  bool operator()(const RefuseJoin& action) const {
    message.mutable_join_refused()->set_message(action.message);
    return true;
  }
  bool operator()(const SendCommunity& action) const {
    v1::Community* community = message.mutable_community();
    community->set_version(action.version.value());
    community->set_committed_steps(action.committed_steps);
    community->set_answers(action.answers.value());
    community->set_restart(action.restart);
    community->mutable_model()->set_fingerprint(fingerprint);
    return true;
  }
  bool operator()(const AcknowledgeUpdate& action) const {
    Encode(action.id, message.mutable_acknowledged()->mutable_update());
    return true;
  }
  bool operator()(const RejectUpdate& action) const {
    v1::Rejected* rejected = message.mutable_rejected();
    Encode(action.id, rejected->mutable_update());
    rejected->set_reason(static_cast<uint32_t>(action.reason));
    rejected->set_message(action.message);
    return true;
  }
  bool operator()(const RequestEvaluation& action) const {
    v1::Evaluate* evaluate = message.mutable_evaluate();
    Encode(action.update, evaluate->mutable_update());
    evaluate->mutable_model()->set_fingerprint(fingerprint);
    return true;
  }
  bool operator()(const CancelEvaluation& action) const {
    Encode(action.update, message.mutable_cancel_evaluation()->mutable_update());
    return true;
  }
  bool operator()(const RequestTest& action) const {
    v1::Test* test = message.mutable_test();
    test->set_version(action.version.value());
    test->mutable_model()->set_fingerprint(fingerprint);
    return true;
  }
  bool operator()(const ReportSteps& action) const {
    message.mutable_steps()->set_committed_steps(action.committed_steps);
    return true;
  }
  bool operator()(const Dismiss& action) const {
    message.mutable_dismissed()->set_reason(action.reason);
    return true;
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }
};

Result<Action> DecodeRejected(const v1::Rejected& message) {
  if (!message.has_update()) return Missing("rejected", "update");
  Result<RejectReason> reason = DecodeEnum<RejectReason>(message.reason(), "reason of a rejection");
  if (!reason) return reason.error();
  return Action(RejectUpdate{Decode(message.update()), *reason, message.message()});
}

// The model of a message is the one that it offers.
Result<void> CheckModel(const v1::ToParticipant& message, const ModelPtr& model) {
  const std::optional<uint64_t> offer = OfferOf(message);
  if (!offer && model) return Invalid("a message without an offer came with a model");
  if (!offer) return {};
  if (!model) return Invalid(Text("the model ", Hex(*offer), " must be downloaded first"));
  if (model->Fingerprint() != *offer) {
    return Invalid(Text("the model has fingerprint ", Hex(model->Fingerprint()),
                        ", the message offers ", Hex(*offer)));
  }
  return {};
}

}  // namespace

Result<v1::ToParticipant> EncodeAction(const Action& action, uint64_t fingerprint) {
  v1::ToParticipant message;
  if (std::visit(ActionEncoder{message, fingerprint}, action)) return message;
  return Invalid(Text("action ", action.index(), " is no message to a participant"));
}

ModelPtr ModelOf(const Action& action) {
  if (const auto* community = std::get_if<SendCommunity>(&action)) return community->model;
  if (const auto* evaluation = std::get_if<RequestEvaluation>(&action)) return evaluation->model;
  if (const auto* test = std::get_if<RequestTest>(&action)) return test->model;
  return nullptr;
}

std::optional<uint64_t> OfferOf(const v1::ToParticipant& message) {
  const auto of = [](const auto& content) -> std::optional<uint64_t> {
    if (!content.has_model()) return std::nullopt;
    return content.model().fingerprint();
  };
  if (message.has_community()) return of(message.community());
  if (message.has_evaluate()) return of(message.evaluate());
  if (message.has_test()) return of(message.test());
  return std::nullopt;
}

Result<Action> DecodeAction(const v1::ToParticipant& message, LearnerId learner,
                            Incarnation incarnation, ModelPtr model) {
  if (Result<void> checked = CheckModel(message, model); !checked) return checked.error();
  switch (message.content_case()) {
    case v1::ToParticipant::kAccepted:
      return Action(AcceptJoin{learner, incarnation});
    case v1::ToParticipant::kJoinRefused:
      return Action(RefuseJoin{learner, incarnation, message.join_refused().message()});
    case v1::ToParticipant::kCommunity: {
      const v1::Community& community = message.community();
      if (!community.has_model()) return Missing("community", "model");
      return Action(SendCommunity{learner, incarnation, Version(community.version()),
                                  std::move(model), community.committed_steps(),
                                  Sequence(community.answers()), community.restart()});
    }
    case v1::ToParticipant::kAcknowledged:
      if (!message.acknowledged().has_update()) return Missing("acknowledged", "update");
      return Action(AcknowledgeUpdate{Decode(message.acknowledged().update())});
    case v1::ToParticipant::kRejected:
      return DecodeRejected(message.rejected());
    case v1::ToParticipant::kEvaluate:
      if (!message.evaluate().has_update()) return Missing("evaluate", "update");
      if (!message.evaluate().has_model()) return Missing("evaluate", "model");
      return Action(RequestEvaluation{learner, incarnation, Decode(message.evaluate().update()),
                                      std::move(model)});
    case v1::ToParticipant::kCancelEvaluation:
      if (!message.cancel_evaluation().has_update()) return Missing("cancel evaluation", "update");
      return Action(
          CancelEvaluation{learner, incarnation, Decode(message.cancel_evaluation().update())});
    case v1::ToParticipant::kTest:
      if (!message.test().has_model()) return Missing("test", "model");
      return Action(
          RequestTest{learner, incarnation, Version(message.test().version()), std::move(model)});
    case v1::ToParticipant::kSteps:
      return Action(ReportSteps{learner, incarnation, message.steps().committed_steps()});
    case v1::ToParticipant::kDismissed:
      return Action(Dismiss{learner, incarnation, message.dismissed().reason()});
    case v1::ToParticipant::kWelcome:
    case v1::ToParticipant::kRefused:
    case v1::ToParticipant::kHeartbeat:
      return Invalid("a welcome, a refusal or a heartbeat is no action");
    case v1::ToParticipant::CONTENT_NOT_SET:
      break;
  }
  return Invalid("a message of the controller has no content that this program knows");
}

}  // namespace metis::wire
