// Messages of random and of damaged bytes: they are refused or they mean something, and whatever
// was understood can be said again.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metis/core/archive.h"
#include "metis/wire/messages.h"
#include "metis/wire/testing.h"

namespace metis::wire {
namespace {

constexpr int kDraws = 20'000;

std::string RandomText(Random& random) {
  const std::vector<std::byte> bytes = RandomBytes(random, random.Below(60));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Bits flipped, cut off, or a part of it once more.
std::string Damaged(std::string text, Random& random) {
  for (uint64_t n = random.Below(4); n > 0 && !text.empty(); --n) {
    char& at = text[random.Below(text.size())];
    at = static_cast<char>(at ^ (1 << random.Below(8)));
  }
  if (random.Chance(0.2)) text.resize(random.Below(text.size() + 1));
  if (random.Chance(0.2)) text += text.substr(random.Below(text.size() + 1));
  return text;
}

// Gives random texts, and damaged ones made of `honest`, to `decode`, which says whether it took
// one. Some must be taken, or nothing was tried.
template <typename Decode>
void Try(const std::vector<std::string>& honest, uint64_t seed, Decode decode) {
  const google::protobuf::LogSilencer no_words_about_text_that_is_not_utf8;
  Random random({.seed = seed});
  int taken = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    taken += decode(random.Chance(0.3) ? RandomText(random)
                                       : Damaged(honest[random.Below(honest.size())], random));
  }
  EXPECT_GT(taken, kDraws / 50);
  EXPECT_LT(taken, kDraws);
}

template <typename T>
std::string BytesOf(const T& value) {
  BinaryWriter writer;
  writer("value", value);
  return writer.archived().bytes;
}

TEST(HostileMessages, OfParticipantsAreRefusedOrUnderstood) {
  std::vector<std::string> honest;
  for (const federation::Event& event : SampleEvents()) {
    honest.push_back(EncodeEvent(event)->SerializeAsString());
  }
  Try(honest, 1, [](const std::string& text) {
    v1::FromParticipant message;
    if (!message.ParseFromString(text)) return false;
    const auto decode = [](const v1::FromParticipant& from) {
      return DecodeEvent(from, kAnna, kLife, "anna", federation::Role::kLearner);
    };
    const Result<federation::Event> event = decode(message);
    if (!event) return false;
    EXPECT_EQ(BytesOf(*decode(*EncodeEvent(*event))), BytesOf(*event));
    return true;
  });
}

TEST(HostileMessages, OfTheControllerAreRefusedOrUnderstood) {
  ModelPool pool = PoolOf(10);
  const ModelPtr model = RandomModel(pool, 1);
  std::vector<std::string> honest;
  using namespace federation;
  for (const Action& action : std::vector<Action>{
           RefuseJoin{kAnna, kLife, "why"},
           SendCommunity{kAnna, kLife, Version(12), model, 345, Sequence(6), true},
           RejectUpdate{kOther, RejectReason::kGate, "too large"},
           RequestEvaluation{kAnna, kLife, kOther, model}, ReportSteps{kAnna, kLife, 678}}) {
    honest.push_back(EncodeAction(action, model->Fingerprint())->SerializeAsString());
  }
  Try(honest, 2, [&](const std::string& text) {
    v1::ToParticipant message;
    if (!message.ParseFromString(text)) return false;
    const Result<Action> action =
        DecodeAction(message, kAnna, kLife, OfferOf(message) ? model : nullptr);
    if (!action) return false;
    EXPECT_EQ(OfferOf(*EncodeAction(*action, model->Fingerprint())), OfferOf(message));
    return true;
  });
}

TEST(HostileMessages, ThatOpenAnUploadAreRefusedOrUnderstood) {
  v1::OpenUpload open;
  open.set_token(std::string(16, 't'));
  *open.mutable_update() = EncodeUpdate(SampleUpdate());
  open.set_encoding(v1::ENCODING_HALF);
  Try({open.SerializeAsString()}, 3, [](const std::string& text) {
    v1::OpenUpload message;
    if (!message.ParseFromString(text)) return false;
    const Result<federation::UpdateReceived> update = DecodeUpdate(message.update(), kAnna, kLife);
    if (!update || !DecodeEncoding(message.encoding())) return false;
    const auto again = DecodeUpdate(EncodeUpdate(*update), kAnna, kLife);
    EXPECT_EQ(BytesOf(federation::Event(*again)), BytesOf(federation::Event(*update)));
    return true;
  });
}

TEST(HostileMessages, WithSchemasAreRefusedOrUnderstood) {
  const SchemaPtr schema = *ModelSchema::Create({{"weight", {3, 5}}, {"bias", {5}}});
  Try({EncodeSchema(*schema).SerializeAsString()}, 4, [](const std::string& text) {
    v1::Schema message;
    if (!message.ParseFromString(text)) return false;
    const Result<SchemaPtr> decoded = DecodeSchema(message);
    if (!decoded) return false;
    EXPECT_EQ((*DecodeSchema(EncodeSchema(**decoded)))->hash(), (*decoded)->hash());
    return true;
  });
}

}  // namespace
}  // namespace metis::wire
