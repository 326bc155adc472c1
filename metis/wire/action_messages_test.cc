#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "metis/wire/messages.h"
#include "metis/wire/testing.h"

namespace metis::wire {
namespace {

using namespace federation;
using testing::HasSubstr;

// All members of an action, to compare them.
auto Members(const AcceptJoin& a) { return std::tuple(a.learner, a.incarnation); }
auto Members(const RefuseJoin& a) { return std::tuple(a.learner, a.incarnation, a.message); }
auto Members(const SendCommunity& a) {
  return std::tuple(a.learner, a.incarnation, a.version, a.model, a.committed_steps, a.answers,
                    a.restart);
}
auto Members(const AcknowledgeUpdate& a) { return std::tuple(a.id); }
auto Members(const RejectUpdate& a) { return std::tuple(a.id, a.reason, a.message); }
auto Members(const RequestEvaluation& a) {
  return std::tuple(a.evaluator, a.incarnation, a.update, a.model);
}
auto Members(const federation::CancelEvaluation& a) {
  return std::tuple(a.evaluator, a.incarnation, a.update);
}
auto Members(const RequestTest& a) {
  return std::tuple(a.observer, a.incarnation, a.version, a.model);
}
auto Members(const ReportSteps& a) {
  return std::tuple(a.learner, a.incarnation, a.committed_steps);
}
auto Members(const Dismiss& a) { return std::tuple(a.learner, a.incarnation, a.reason); }
template <typename Other>
int Members(const Other&) {
  return 0;  // no message: compared by their kind
}

bool IsSame(const Action& a, const Action& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& left) {
        return Members(left) == Members(std::get<std::decay_t<decltype(left)>>(b));
      },
      a);
}

struct ActionMessages : testing::Test {
  std::vector<Action> Samples() const {
    return {
        AcceptJoin{kAnna, kLife},
        RefuseJoin{kAnna, kLife, "another schema"},
        SendCommunity{kAnna, kLife, Version(12), model, 345, Sequence(6), true},
        SendCommunity{kAnna, kLife, Version(0), model, 0, Sequence(0), false},
        AcknowledgeUpdate{kOther},
        RejectUpdate{kOther, RejectReason::kFinished, "too late"},
        RequestEvaluation{kAnna, kLife, kOther, model},
        federation::CancelEvaluation{kAnna, kLife, kOther},
        RequestTest{kAnna, kLife, Version(13), model},
        ReportSteps{kAnna, kLife, 678},
        Dismiss{kAnna, kLife, "the federation is over"},
    };
  }
  Result<Action> Decoded(const v1::ToParticipant& message, ModelPtr with = nullptr) const {
    return DecodeAction(message, kAnna, kLife, std::move(with));
  }

  ModelPool pool = PoolOf(10);
  ModelPtr model = RandomModel(pool, 1);
};

TEST_F(ActionMessages, ComeBackAsTheyWere) {
  for (const Action& action : Samples()) {
    SCOPED_TRACE(action.index());
    const Result<v1::ToParticipant> message = EncodeAction(action, model->Fingerprint());
    ASSERT_TRUE(message);
    v1::ToParticipant carried;
    ASSERT_TRUE(carried.ParseFromString(message->SerializeAsString()));
    EXPECT_EQ(OfferOf(carried).has_value(), ModelOf(action) != nullptr);
    const Result<Action> decoded = Decoded(carried, ModelOf(action));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_TRUE(IsSame(*decoded, action));
  }
}

TEST_F(ActionMessages, AreAllThatGoesToAParticipant) {
  std::set<size_t> sent;
  for (const Action& action : Samples()) sent.insert(action.index());
  const Action others[] = {StartTimer{}, CommunityCommitted{}, RefuseCounts{}, StateChanged{},
                           Finished{}};
  for (const Action& action : others) {
    EXPECT_FALSE(EncodeAction(action, 1));
    EXPECT_EQ(ModelOf(action), nullptr);
    EXPECT_TRUE(sent.insert(action.index()).second);
  }
  EXPECT_EQ(sent.size(), std::variant_size_v<Action>);
}

TEST_F(ActionMessages, OfferTheModelAsItIsTransferred) {
  for (const Action& action : Samples()) {
    const Result<v1::ToParticipant> message = EncodeAction(action, 0xabcdef);
    const auto wanted = ModelOf(action) ? std::optional<uint64_t>(0xabcdef) : std::nullopt;
    EXPECT_EQ(OfferOf(*message), wanted);
  }
}

TEST_F(ActionMessages, NeedTheModelThatTheyOfferAndNoOther) {
  for (const Action& action : Samples()) {
    const v1::ToParticipant message = *EncodeAction(action, model->Fingerprint());
    EXPECT_FALSE(Decoded(message, RandomModel(pool, 2))) << action.index();
    if (ModelOf(action)) {
      EXPECT_THAT(Decoded(message).error().message, HasSubstr("must be downloaded first"));
    }
  }
}

TEST_F(ActionMessages, RefuseAnUnknownReason) {
  v1::ToParticipant message;
  message.mutable_rejected()->mutable_update();
  message.mutable_rejected()->set_reason(9);
  EXPECT_TRUE(Decoded(message));
  for (uint32_t reason : {uint32_t{10}, UINT32_MAX}) {
    message.mutable_rejected()->set_reason(reason);
    EXPECT_THAT(Decoded(message).error().message, HasSubstr("is unknown, 0 to 9 are known"));
  }
}

TEST_F(ActionMessages, RefuseWhatIsIncomplete) {
  v1::ToParticipant message;
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("no content"));
  const auto refused = [&](auto fill, const std::string& said) {
    fill(message);
    EXPECT_THAT(Decoded(message).error().message, HasSubstr(said));
    EXPECT_EQ(OfferOf(message), std::nullopt);
  };
  using Message = v1::ToParticipant;
  refused([](Message& m) { m.mutable_community(); }, "community lacks its model");
  refused([](Message& m) { m.mutable_acknowledged(); }, "acknowledged lacks its update");
  refused([](Message& m) { m.mutable_rejected(); }, "rejected lacks its update");
  refused([](Message& m) { m.mutable_evaluate(); }, "evaluate lacks its update");
  refused([](Message& m) { m.mutable_evaluate()->mutable_update(); }, "evaluate lacks its model");
  refused([](Message& m) { m.mutable_cancel_evaluation(); }, "lacks its update");
  refused([](Message& m) { m.mutable_test(); }, "test lacks its model");
  refused([](Message& m) { m.mutable_welcome(); }, "no action");
  refused([](Message& m) { m.mutable_refused(); }, "no action");
  refused([](Message& m) { m.mutable_heartbeat(); }, "no action");
}

TEST_F(ActionMessages, TolerateFieldsOfANewerPeer) {
  for (const Action& action : Samples()) {
    v1::ToParticipant message = *EncodeAction(action, model->Fingerprint());
    const auto* field = message.GetReflection()->GetOneofFieldDescriptor(
        message, message.GetDescriptor()->FindOneofByName("content"));
    google::protobuf::Message* content = message.GetReflection()->MutableMessage(&message, field);
    message.GetReflection()->MutableUnknownFields(&message)->AddFixed64(9999, 7);
    content->GetReflection()->MutableUnknownFields(content)->AddLengthDelimited(9998, "more");
    v1::ToParticipant carried;
    ASSERT_TRUE(carried.ParseFromString(message.SerializeAsString()));
    const Result<Action> decoded = Decoded(carried, ModelOf(action));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_TRUE(IsSame(*decoded, action));
  }
}

// The bytes of wire version 1: numbers of fields stay for ever.
TEST_F(ActionMessages, AreReadAsVersionOneWroteThem) {
  using std::string_literals::operator""s;
  v1::ToParticipant message;
  ASSERT_TRUE(
      message.ParseFromString("\x2a\x14\x08\x0c\x10\xd9\x02\x18\x06\x20\x01\x2a\x09\x09"
                              "\x88\x77\x66\x55\x44\x33\x22\x11"s));
  EXPECT_EQ(OfferOf(message), 0x1122334455667788u);
  message.mutable_community()->mutable_model()->set_fingerprint(model->Fingerprint());
  EXPECT_TRUE(IsSame(*Decoded(message, model), Samples()[2]));
}

}  // namespace
}  // namespace metis::wire
