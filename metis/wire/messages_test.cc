#include "metis/wire/messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "metis/core/archive.h"
#include "metis/wire/testing.h"

namespace metis::wire {
namespace {

using federation::Action;
using federation::Event;
using testing::HasSubstr;

// All fields, NaN as its bits.
template <typename T>
std::string HashedBytes(const T& value) {
  BinaryWriter writer(BinaryWriter::Mode::kHash);
  writer("value", value);
  return writer.archived().bytes;
}

Result<Event> Decoded(const v1::FromParticipant& message, const std::string& name = "anna",
                      federation::Role role = federation::Role::kLearner) {
  return DecodeEvent(message, kAnna, kLife, name, role);
}

// As it arrives: written to bytes and read from them.
template <typename Message>
Message Carried(const Message& message) {
  Message carried;
  EXPECT_TRUE(carried.ParseFromString(message.SerializeAsString()));
  return carried;
}

TEST(EventMessages, ComeBackAsTheyWere) {
  for (const Event& event : SampleEvents()) {
    SCOPED_TRACE(federation::kEventNames[event.index()]);
    const Result<v1::FromParticipant> message = EncodeEvent(event);
    ASSERT_TRUE(message);
    const auto* joined = std::get_if<federation::LearnerJoined>(&event);
    const Result<Event> decoded = Decoded(Carried(*message), joined ? joined->name : "anna",
                                          joined ? joined->role : federation::Role::kLearner);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(HashedBytes(*decoded), HashedBytes(event));
  }
}

TEST(EventMessages, AreAllThatAParticipantCauses) {
  std::set<size_t> sent;
  for (const Event& event : SampleEvents()) sent.insert(event.index());
  const Event others[] = {federation::LearnerLost{kAnna, kLife},
                          federation::LearnerReturned{kAnna, kLife}, SampleUpdate(),
                          federation::OperatorCommand{}, federation::TimerFired{}};
  for (const Event& event : others) {
    const Result<v1::FromParticipant> message = EncodeEvent(event);
    ASSERT_FALSE(message);
    EXPECT_THAT(message.error().message,
                HasSubstr(std::string(federation::kEventNames[event.index()])));
    EXPECT_TRUE(sent.insert(event.index()).second);
  }
  EXPECT_EQ(sent.size(), std::variant_size_v<Event>);
}

TEST(EventMessages, UpdatesComeBackAsTheyWereWithoutTheirModel) {
  const federation::UpdateReceived update = SampleUpdate();
  const Result<federation::UpdateReceived> decoded =
      DecodeUpdate(Carried(EncodeUpdate(update)), kAnna, kLife);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(HashedBytes(Event(*decoded)), HashedBytes(Event(update)));
}

TEST(EventMessages, UpdatesPassWithoutAValidationSet) {
  federation::UpdateReceived update = SampleUpdate();
  update.own_counts = {};
  update.cycle.losses = {};
  v1::Update message = EncodeUpdate(update);
  message.clear_own_counts();  // which says the same
  for (const v1::Update& sent : {EncodeUpdate(update), message}) {
    const Result<federation::UpdateReceived> decoded = DecodeUpdate(Carried(sent), kAnna, kLife);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(HashedBytes(Event(*decoded)), HashedBytes(Event(update)));
  }
}

TEST(EventMessages, SayNothingOfTheirSender) {
  const v1::FromParticipant message = *EncodeEvent(SampleEvents()[3]);
  const Result<Event> decoded =
      DecodeEvent(message, LearnerId(40), Incarnation(41), "bert", federation::Role::kObserver);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<federation::EpochReported>(*decoded).learner, LearnerId(40));
  EXPECT_EQ(std::get<federation::EpochReported>(*decoded).incarnation, Incarnation(41));
}

// What is refused of a confusion matrix, wherever one stands.
TEST(EventMessages, RefuseMatricesThatAreNotSquareOrTooLarge) {
  struct Case {
    uint32_t classes;
    std::vector<uint64_t> counts;
    std::string said;
  };
  const Case cases[] = {
      {2, {1, 2, 3}, "2 classes need 4 numbers, not 3"},
      {2, {1, 2, 3, 4, 5}, "2 classes need 4 numbers, not 5"},
      {0, {1}, "0 classes need 0 numbers, not 1"},
      {3, {}, "3 classes need 9 numbers, not 0"},
      {kMaxClasses + 1, {}, "100001 classes are refused, at most 100000"},
      {std::numeric_limits<uint32_t>::max(), {}, "4294967295 classes are refused"},
      {65'536, {}, "65536 classes need 4294967296 numbers"},
      {2, {UINT64_MAX, 2, 0, 0}, "add up to more than"},
  };
  for (const Case& refused : cases) {
    v1::Confusion matrix;
    matrix.set_classes(refused.classes);
    matrix.mutable_counts()->Add(refused.counts.begin(), refused.counts.end());
    v1::FromParticipant counts = *EncodeEvent(SampleEvents()[5]);
    *counts.mutable_counts()->mutable_counts() = matrix;
    v1::FromParticipant tested;
    *tested.mutable_tested()->mutable_counts() = matrix;
    v1::Update update = EncodeUpdate(SampleUpdate());
    *update.mutable_own_counts() = matrix;
    EXPECT_THAT(Decoded(counts).error().message, HasSubstr("counts: ")) << refused.said;
    EXPECT_THAT(Decoded(counts).error().message, HasSubstr(refused.said));
    EXPECT_THAT(Decoded(tested).error().message, HasSubstr("tested: ")) << refused.said;
    EXPECT_THAT(Decoded(tested).error().message, HasSubstr(refused.said));
    EXPECT_THAT(DecodeUpdate(update, kAnna, kLife).error().message, HasSubstr(refused.said));
  }
}

TEST(EventMessages, RefuseAnUnknownReason) {
  v1::Update update = EncodeUpdate(SampleUpdate());
  update.mutable_cycle()->set_reason(4);
  EXPECT_TRUE(DecodeUpdate(update, kAnna, kLife));
  for (uint32_t reason : {uint32_t{5}, std::numeric_limits<uint32_t>::max()}) {
    update.mutable_cycle()->set_reason(reason);
    const auto decoded = DecodeUpdate(update, kAnna, kLife);
    ASSERT_FALSE(decoded);
    EXPECT_THAT(decoded.error().message, HasSubstr("is unknown, 0 to 4 are known"));
  }
}

TEST(EventMessages, RefuseWhatIsIncomplete) {
  v1::Update update = EncodeUpdate(SampleUpdate());
  update.clear_cycle();
  EXPECT_THAT(DecodeUpdate(update, kAnna, kLife).error().message, HasSubstr("lacks its cycle"));
  v1::FromParticipant message;
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("no content"));
  message.mutable_counts();
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("lacks its update"));
  message.mutable_evaluation_failed();
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("lacks its update"));
  message.mutable_hello();
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("no event"));
  message.mutable_heartbeat();
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("no event"));
}

TEST(EventMessages, RefuseToJoinWithAnImpossibleNameGroupOrNumberOfClasses) {
  v1::FromParticipant message;
  message.mutable_join();
  EXPECT_TRUE(Decoded(message));
  EXPECT_FALSE(Decoded(message, "anna\n"));
  message.mutable_join()->set_group(std::string(kMaxGroupBytes + 1, 'g'));
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("of 257 bytes, is no name of a group"));
  message.mutable_join()->set_group("slow\x1b[2J");
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("\"slow?[2J\", of 8 bytes"));
  message.mutable_join()->set_group("langsame Ger\xc3\xa4te");
  EXPECT_TRUE(Decoded(message));
  message.mutable_join()->clear_group();
  for (uint32_t i = 0; i < kMaxClasses; ++i) message.mutable_join()->add_validation_counts(i % 7);
  EXPECT_TRUE(Decoded(message));
  message.mutable_join()->add_validation_counts(1);
  EXPECT_THAT(Decoded(message).error().message, HasSubstr("100001 classes is refused"));
}

TEST(EventMessages, TolerateFieldsOfANewerPeer) {
  for (const Event& event : SampleEvents()) {
    v1::FromParticipant message = *EncodeEvent(event);
    const auto add = [](google::protobuf::Message* to) {
      to->GetReflection()->MutableUnknownFields(to)->AddVarint(9999, 7);
      to->GetReflection()->MutableUnknownFields(to)->AddLengthDelimited(9998, "more");
    };
    add(&message);
    const auto* descriptor = message.GetDescriptor();
    const auto* field = message.GetReflection()->GetOneofFieldDescriptor(
        message, descriptor->FindOneofByName("content"));
    add(message.GetReflection()->MutableMessage(&message, field));
    const auto* joined = std::get_if<federation::LearnerJoined>(&event);
    const Result<Event> decoded = Decoded(Carried(message), joined ? joined->name : "anna",
                                          joined ? joined->role : federation::Role::kLearner);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(HashedBytes(*decoded), HashedBytes(event));
  }
}

TEST(EventMessages, OfAKindThatIsUnknownAreRefused) {
  v1::FromParticipant message;
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(77, "new");
  EXPECT_THAT(Decoded(Carried(message)).error().message, HasSubstr("no content that this program"));
}

// The bytes of wire version 1: numbers of fields stay for ever.
TEST(EventMessages, AreReadAsVersionOneWroteThem) {
  using std::string_literals::operator""s;
  v1::FromParticipant join;
  ASSERT_TRUE(
      join.ParseFromString("\x1a\x17\x0a\x04slow\x10\xd2\x09\x1a\x03\x0a\x00\x1e"
                           "\x21\x98\xba\xdc\xfe\0\0\0\0"s));
  EXPECT_EQ(HashedBytes(*Decoded(join)), HashedBytes(SampleEvents()[0]));
  v1::FromParticipant request;
  ASSERT_TRUE(request.ParseFromString("\x32\x02\x08\x06"s));
  EXPECT_EQ(HashedBytes(*Decoded(request)), HashedBytes(SampleEvents()[4]));
}

TEST(Names, AreLettersDigitsAndThreeSigns) {
  for (std::string_view good : {"a", "Anna-2_b.example.org", "0"}) EXPECT_TRUE(CheckName(good));
  EXPECT_TRUE(CheckName(std::string(64, 'x')));
  EXPECT_THAT(CheckName(std::string(65, 'x')).error().message, HasSubstr("65 bytes"));
  using namespace std::string_view_literals;
  for (std::string_view bad : {""sv, "a b"sv, "a/b"sv, "\xc3\xa4"sv, "a\0b"sv, "a\n"sv, "a\""sv}) {
    EXPECT_FALSE(CheckName(bad)) << bad;
  }
}

TEST(Names, ThatAreRefusedAreSaidWithoutTheirControlCharacters) {
  EXPECT_THAT(CheckName("a\nb\x1b[31m").error().message, HasSubstr("\"a?b?[31m\""));
}

TEST(Printable, KeepsTextAndTakesControlCharactersAway) {
  EXPECT_EQ(Printable("Ger\xc3\xa4te: 3 \xe2\x82\xac"), "Ger\xc3\xa4te: 3 \xe2\x82\xac");
  EXPECT_EQ(Printable("a\tb\r\n\x7f\xc2\x9b\xc2\xa0"), "a?b????\xc2\xa0");
  EXPECT_EQ(Printable(std::string_view("\0x", 2)), "?x");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(Printable("abc", 3), "abc");
  EXPECT_EQ(Printable("abcd", 3), "abc...");
  EXPECT_EQ(Printable("ab\xe2\x82\xac", 4), "ab...");
  EXPECT_EQ(Printable("\x80\x80\x80", 2), "...");
  EXPECT_EQ(Printable(std::string(1000, 'x')).size(), 203u);
}

TEST(Versions, TheNewestOfBothIsTaken) {
  EXPECT_EQ(*NegotiateVersion(1, 1), 1u);
  EXPECT_EQ(*NegotiateVersion(0, 9), kNewestWire);
  EXPECT_THAT(NegotiateVersion(2, 5).error().message, HasSubstr("2 to 5, this program 1 to 1"));
  EXPECT_FALSE(NegotiateVersion(0, 0));
  EXPECT_FALSE(NegotiateVersion(1, 0));  // an empty range
  EXPECT_FALSE(NegotiateVersion(5, 1));
}

TEST(Roles, ComeBackAndUnknownOnesAreRefused) {
  for (federation::Role role : {federation::Role::kLearner, federation::Role::kObserver}) {
    EXPECT_EQ(*DecodeRole(EncodeRole(role)), role);
  }
  EXPECT_THAT(DecodeRole(static_cast<v1::Role>(2)).error().message, HasSubstr("role 2 is unknown"));
  EXPECT_FALSE(DecodeRole(static_cast<v1::Role>(-1)));
}

TEST(Encodings, ComeBackAndUnknownOnesAreRefused) {
  for (Encoding encoding : kEncodings) {
    EXPECT_EQ(*DecodeEncoding(EncodeEncoding(encoding)), encoding);
  }
  EXPECT_THAT(DecodeEncoding(static_cast<v1::Encoding>(3)).error().message,
              HasSubstr("encoding 3 is unknown"));
  EXPECT_FALSE(DecodeEncoding(static_cast<v1::Encoding>(-1)));
}

TEST(Schemas, ComeBackWithTheSameHash) {
  const SchemaPtr schema = *ModelSchema::Create({{"weight", {3, 5}}, {"bias", {5}}, {"scale", {}}});
  const Result<SchemaPtr> decoded = DecodeSchema(Carried(EncodeSchema(*schema)));
  ASSERT_TRUE(decoded);
  EXPECT_EQ((*decoded)->tensors(), schema->tensors());
  EXPECT_EQ((*decoded)->hash(), schema->hash());
  EXPECT_EQ(schema->hash(), 0xe58f36deddf64e16u);  // as docs/wire.md has it
}

TEST(Schemas, ThatCannotBeAreRefused) {
  v1::Schema message;
  EXPECT_THAT(DecodeSchema(message).error().message, HasSubstr("schema: "));
  v1::Tensor* tensor = message.add_tensors();
  tensor->set_name("w");
  tensor->add_shape(uint64_t{1} << 39);
  EXPECT_TRUE(DecodeSchema(message));
  for (uint64_t dimension : {uint64_t{0}, uint64_t{3}, UINT64_MAX}) {
    v1::Schema bad = message;
    bad.mutable_tensors(0)->add_shape(dimension);
    EXPECT_FALSE(DecodeSchema(bad)) << dimension;
  }
  message.add_tensors()->set_name("w");
  EXPECT_THAT(DecodeSchema(message).error().message, HasSubstr("stands twice"));
}

}  // namespace
}  // namespace metis::wire
