// Models to and from the controller: whole, cut off and gone on, damaged, and not theirs.
#include <cmath>

#include "tests/loopback/raw_client.h"

namespace metis::rpc {
namespace {

constexpr uint64_t kFrame = wire::kFrameHeaderBytes;

// A learner that has joined.
class Upload : public testing::Test {
 protected:
  explicit Upload(Served::Options options = {}) : served_(std::move(options)) {}
  void SetUp() override { ASSERT_TRUE(talk_.Join(*served_.models.schema())); }

  uint64_t Requests() {
    return served_.Ask([](const auto& c) { return c.statistics().requests; });
  }

  Served served_;
  std::shared_ptr<grpc::Channel> channel_ = Dial(served_.address());
  Talk talk_{channel_, "north"};
};

TEST_F(Upload, InOneGoIsAcknowledgedOverTheConversation) {
  const ModelPtr model = served_.Make(1);
  const Uploaded uploaded = UploadWhole(channel_, OpeningOf(talk_, model), model);
  EXPECT_TRUE(uploaded.end.ok()) << uploaded.end.message();
  EXPECT_EQ(uploaded.offset, 0u);
  const v1::ToParticipant answer = talk_.Next(v1::ToParticipant::kAcknowledged);
  EXPECT_EQ(answer.acknowledged().update().sequence(), 1u);
  EXPECT_EQ(served_.Ask([](const auto& c) { return c.community()->Fingerprint(); }),
            model->Fingerprint())
      << "the first commit is the learner's own model";
  EXPECT_GE(served_.server->traffic().bytes_received, model->bytes().size() + kFrame);
}

TEST_F(Upload, CutOffAnywhereGoesOnWhereItStopped) {
  const ModelPtr model = served_.Make(1);
  const v1::OpenUpload open = OpeningOf(talk_, model);
  uint64_t offset = 0;
  for (const bool hard : {false, true, false}) {
    Transfer transfer(hard ? Dial(served_.address()) : channel_, "Upload");
    ASSERT_TRUE(transfer.Open(open));
    std::optional<ReceivedFrame> resume = transfer.Read();
    ASSERT_TRUE(resume.has_value());
    ASSERT_EQ(resume->header.offset, offset);
    wire::ModelSender sender(model, wire::Encoding::kRaw, offset);
    if (hard) {  // in the midst of nothing sent
      transfer.Cancel();
      continue;
    }
    // A chunk of another size than usual.
    const size_t part = 100'000 + offset / 8 * 4;
    const auto payload = model->bytes().subspan(offset, part);
    const auto header =
        wire::HeaderFor(wire::FrameKind::kChunk, payload, offset, static_cast<uint32_t>(part));
    const auto bytes = wire::EncodeHeader(header);
    const grpc::Slice slices[] = {grpc::Slice(bytes.data(), bytes.size()),
                                  grpc::Slice(payload.data(), payload.size())};
    ASSERT_TRUE(transfer.Write(grpc::ByteBuffer(slices, 2)));
    transfer.WritesDone();
    EXPECT_FALSE(transfer.Finish().ok());
    offset += part;
  }
  const Uploaded uploaded = UploadWhole(channel_, open, model);
  EXPECT_EQ(uploaded.offset, offset);
  EXPECT_TRUE(uploaded.end.ok()) << uploaded.end.message();
  EXPECT_TRUE(WaitFor([&] { return Requests() == 1; }));
}

TEST_F(Upload, OfWhatTheControllerHasAlreadyNeedsNoByteAndIsAnsweredAgain) {
  const ModelPtr model = served_.Make(1);
  const v1::OpenUpload open = OpeningOf(talk_, model);
  ASSERT_TRUE(UploadWhole(channel_, open, model).end.ok());
  talk_.Next(v1::ToParticipant::kAcknowledged);
  const Uploaded again = UploadWhole(channel_, open, model);
  EXPECT_TRUE(again.end.ok()) << again.end.message();
  EXPECT_EQ(again.offset, model->bytes().size());
  EXPECT_TRUE(talk_.Next(v1::ToParticipant::kAcknowledged).has_acknowledged());
  EXPECT_EQ(Requests(), 1u) << "it is one update";
}

TEST_F(Upload, ASecondOneTakesOverFromTheFirstThatHangs) {
  const ModelPtr model = served_.Make(1);
  const v1::OpenUpload open = OpeningOf(talk_, model);
  Transfer hanging(Dial(served_.address()), "Upload");
  ASSERT_TRUE(hanging.Open(open));
  ASSERT_TRUE(hanging.Read().has_value());
  wire::ModelSender sender(model, wire::Encoding::kRaw);
  const uint64_t before = served_.server->traffic().bytes_received;
  SendChunks(hanging, sender, 1);
  ASSERT_TRUE(WaitFor(
      [&] { return served_.server->traffic().bytes_received >= before + wire::kChunkBytes; }));
  const Uploaded uploaded = UploadWhole(channel_, open, model);
  EXPECT_TRUE(uploaded.end.ok());
  EXPECT_TRUE(uploaded.offset == 0 || uploaded.offset == wire::kChunkBytes) << uploaded.offset;
  EXPECT_EQ(hanging.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(WaitFor([&] { return Requests() == 1; }));
}

TEST_F(Upload, ADifferentModelBeginsFromItsStart) {
  const ModelPtr first = served_.Make(1);
  {
    Transfer transfer(channel_, "Upload");
    ASSERT_TRUE(transfer.Open(OpeningOf(talk_, first)));
    ASSERT_TRUE(transfer.Read().has_value());
    wire::ModelSender sender(first, wire::Encoding::kRaw);
    SendChunks(transfer, sender, 1);
    transfer.WritesDone();
    transfer.Finish();
  }
  const ModelPtr second = served_.Make(2);
  const Uploaded uploaded = UploadWhole(channel_, OpeningOf(talk_, second), second);
  EXPECT_EQ(uploaded.offset, 0u);
  EXPECT_TRUE(uploaded.end.ok());
}

TEST_F(Upload, ADamagedChunkIsRefusedAndWhatCameBeforeStaysGood) {
  const ModelPtr model = served_.Make(1);
  const ModelPtr other = served_.Make(7);
  const v1::OpenUpload open = OpeningOf(talk_, model);
  {
    Transfer transfer(channel_, "Upload");
    ASSERT_TRUE(transfer.Open(open));
    ASSERT_TRUE(transfer.Read().has_value());
    wire::ModelSender sender(model, wire::Encoding::kRaw);
    SendChunks(transfer, sender, 1);
    std::vector<std::byte> scratch;
    const wire::Chunk chunk = sender.Next(scratch);
    const auto header = wire::EncodeHeader(chunk.header);
    const auto wrong = other->bytes().subspan(chunk.header.offset, chunk.payload.size());
    const grpc::Slice slices[] = {grpc::Slice(header.data(), header.size()),
                                  grpc::Slice(wrong.data(), wrong.size())};
    ASSERT_TRUE(transfer.Write(grpc::ByteBuffer(slices, 2)));
    const v1::TransferEnd end = transfer.ReadEnd();
    EXPECT_FALSE(end.ok());
    EXPECT_FALSE(end.final());
    EXPECT_EQ(served_.LastRefusal().reason, "checksum");
    EXPECT_EQ(served_.LastRefusal().name, "north");
  }
  const Uploaded uploaded = UploadWhole(channel_, open, model);
  EXPECT_EQ(uploaded.offset, wire::kChunkBytes);
  EXPECT_TRUE(uploaded.end.ok());
  EXPECT_EQ(served_.Ask([](const auto& c) { return c.community()->Fingerprint(); }),
            model->Fingerprint());
}

TEST_F(Upload, AModelThatIsNotTheAnnouncedOneIsRefusedForGood) {
  const ModelPtr model = served_.Make(1);
  v1::OpenUpload open = OpeningOf(talk_, model);
  open.set_fingerprint(model->Fingerprint() + 1);
  const Uploaded uploaded = UploadWhole(channel_, open, model);
  EXPECT_FALSE(uploaded.end.ok());
  EXPECT_TRUE(uploaded.end.final());
  EXPECT_EQ(served_.LastRefusal().reason, "fingerprint");
  EXPECT_EQ(Requests(), 0u);
}

TEST_F(Upload, AModelWithNaNArrivesAndIsRejectedByTheFederation) {
  std::vector<float> values = federation::Values(served_.Make(1));
  values[values.size() / 2] = std::nanf("");
  const ModelPtr model = served_.models.Of(values);
  EXPECT_TRUE(UploadWhole(channel_, OpeningOf(talk_, model), model).end.ok());
  const v1::ToParticipant answer = talk_.Next(v1::ToParticipant::kRejected);
  EXPECT_EQ(answer.rejected().reason(), static_cast<uint32_t>(federation::RejectReason::kGate));
  EXPECT_EQ(served_.Audited("gate"), 1u);
}

TEST_F(Upload, AWrongTokenOpensNothing) {
  const ModelPtr model = served_.Make(1);
  v1::OpenUpload open = OpeningOf(talk_, model);
  for (const std::string& token : {std::string(), std::string(16, 'x'), open.token() + "x"}) {
    open.set_token(token);
    Transfer transfer(channel_, "Upload");
    ASSERT_TRUE(transfer.Open(open));
    EXPECT_FALSE(transfer.Read().has_value());
    EXPECT_EQ(transfer.Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  v1::OpenDownload download;
  download.set_token("nothing");
  Transfer transfer(channel_, "Download");
  ASSERT_TRUE(transfer.Open(download));
  EXPECT_EQ(transfer.Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(served_.Audited("token"), 4u);
}

TEST_F(Upload, WhatIsNoFrameOrTooLargeIsMalformed) {
  const ModelPtr model = served_.Make(1);
  const auto bytes = [](size_t size) {
    const grpc::Slice slice(std::string(size, 'x'));
    return grpc::ByteBuffer(&slice, 1);
  };
  for (const char* method : {"Upload", "Download"}) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{31}, size_t{32}, size_t{1000}}) {
      Transfer transfer(channel_, method);
      ASSERT_TRUE(transfer.Write(bytes(size)));
      EXPECT_EQ(transfer.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT)
          << method << " " << size;
    }
  }
  EXPECT_EQ(served_.Audited("malformed"), 10u);

  Transfer large(channel_, "Upload");
  ASSERT_TRUE(large.Open(OpeningOf(talk_, model)));
  ASSERT_TRUE(large.Read().has_value());
  ASSERT_TRUE(large.Write(bytes(wire::kMaxChunkBytes + kFrame + 1)));
  EXPECT_EQ(large.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(served_.LastRefusal().reason, "oversize");

  Transfer huge(channel_, "Upload");
  huge.Write(bytes(size_t{30} << 20));
  EXPECT_FALSE(huge.Finish().ok());

  EXPECT_TRUE(UploadWhole(channel_, OpeningOf(talk_, model), model).end.ok())
      << "nothing of that hurts those who behave";
}

TEST_F(Upload, AFrameOfAnotherKindIsNoChunk) {
  const ModelPtr model = served_.Make(1);
  Transfer transfer(channel_, "Upload");
  ASSERT_TRUE(transfer.Open(OpeningOf(talk_, model)));
  ASSERT_TRUE(transfer.Read().has_value());
  ASSERT_TRUE(transfer.Open(OpeningOf(talk_, model)));
  EXPECT_FALSE(transfer.ReadEnd().ok());
}

class FullDisk : public Upload {
 protected:
  FullDisk()
      : Upload([this] {
          Served::Options options;
          options.keep = [this](const ModelPtr&) -> Result<void> {
            if (full_.exchange(false)) return Unavailable("the disk is full");
            return {};
          };
          return options;
        }()) {}
  std::atomic<bool> full_ = true;
};

TEST_F(FullDisk, AModelThatCannotBeKeptIsAskedForAgain) {
  full_ = true;
  const ModelPtr model = served_.Make(1);
  const Uploaded first = UploadWhole(channel_, OpeningOf(talk_, model), model);
  EXPECT_FALSE(first.end.ok());
  EXPECT_FALSE(first.end.final());
  EXPECT_NE(first.end.message().find("the disk is full"), std::string::npos);
  EXPECT_EQ(Requests(), 0u);
  EXPECT_TRUE(UploadWhole(channel_, OpeningOf(talk_, model), model).end.ok());
  EXPECT_TRUE(WaitFor([&] { return Requests() == 1; }));
}

// --- To a participant

// Everything that a download from the offset brings; empty if it was refused.
std::optional<std::string> DownloadFrom(const std::shared_ptr<grpc::Channel>& channel,
                                        const Talk& talk, uint64_t fingerprint, uint64_t offset,
                                        v1::TransferEnd* end) {
  v1::OpenDownload open;
  open.set_token(talk.welcome.token());
  open.set_fingerprint(fingerprint);
  open.set_offset(offset);
  Transfer transfer(channel, "Download");
  transfer.Open(open);
  std::string bytes;
  while (std::optional<ReceivedFrame> frame = transfer.Read()) {
    if (frame->header.kind == wire::FrameKind::kEnd) {
      EXPECT_TRUE(end->ParseFromString(frame->Payload()));
      EXPECT_TRUE(transfer.Finish().ok());
      return bytes;
    }
    EXPECT_EQ(frame->header.offset, offset + bytes.size());
    bytes += frame->Payload();
  }
  EXPECT_EQ(transfer.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  return std::nullopt;
}

class Download : public Upload {
 protected:
  void SetUp() override {
    Upload::SetUp();
    const v1::ToParticipant message = talk_.Next(v1::ToParticipant::kCommunity);
    fingerprint_ = message.community().model().fingerprint();
    model_ = served_.Ask([](const auto& c) { return c.community(); });
  }
  std::string Expected(uint64_t offset) const {
    const auto rest = model_->bytes().subspan(offset);
    return std::string(reinterpret_cast<const char*>(rest.data()), rest.size());
  }

  uint64_t fingerprint_ = 0;
  ModelPtr model_;
  v1::TransferEnd end_;
};

TEST_F(Download, FromAnyOffsetBringsTheRest) {
  const uint64_t size = model_->bytes().size();
  for (const uint64_t offset : {uint64_t{0}, uint64_t{4}, uint64_t{1} << 20, size - 4, size}) {
    EXPECT_EQ(DownloadFrom(channel_, talk_, fingerprint_, offset, &end_), Expected(offset));
    EXPECT_TRUE(end_.ok());
  }
  for (const uint64_t offset : {uint64_t{3}, size + 4, ~uint64_t{0} - 3}) {
    EXPECT_EQ(DownloadFrom(channel_, talk_, fingerprint_, offset, &end_), std::nullopt) << offset;
  }
}

TEST_F(Download, OfAModelThatIsNotOfferedEndsForGood) {
  EXPECT_EQ(DownloadFrom(channel_, talk_, fingerprint_ + 1, 0, &end_), "");
  EXPECT_FALSE(end_.ok());
  EXPECT_TRUE(end_.final());
  Talk east(channel_, "east");
  ASSERT_TRUE(east.Greet().has_welcome());
  EXPECT_EQ(DownloadFrom(channel_, east, fingerprint_, 0, &end_), "") << "offered to another";
  EXPECT_TRUE(end_.final());
}

TEST_F(Download, OffersOutliveABrokenConversationOfTheSameLifeOnly) {
  Talk again(Dial(served_.address()), "north");
  ASSERT_TRUE(again.Greet().has_welcome());
  EXPECT_EQ(DownloadFrom(channel_, again, fingerprint_, 8, &end_), Expected(8));
  Talk later(Dial(served_.address()), "north", 2);
  ASSERT_TRUE(later.Greet().has_welcome());
  EXPECT_EQ(DownloadFrom(channel_, later, fingerprint_, 8, &end_), "");
  EXPECT_TRUE(end_.final());
}

TEST_F(Download, ANewerCommunityModelReplacesTheOlderOffer) {
  const ModelPtr model = served_.Make(3);
  ASSERT_TRUE(UploadWhole(channel_, OpeningOf(talk_, model), model).end.ok());
  const v1::ToParticipant message = talk_.Next(v1::ToParticipant::kCommunity);
  ASSERT_EQ(message.community().version(), 1u);
  EXPECT_EQ(DownloadFrom(channel_, talk_, fingerprint_, 0, &end_), "");
  model_ = model;
  EXPECT_EQ(DownloadFrom(channel_, talk_, model->Fingerprint(), 0, &end_), Expected(0));
}

// --- Encodings

class Encoded : public testing::TestWithParam<wire::Encoding> {};
INSTANTIATE_TEST_SUITE_P(All, Encoded,
                         testing::Values(wire::Encoding::kZstd, wire::Encoding::kHalf));

TEST_P(Encoded, ModelsTravelEitherWay) {
  Served::Options options;
  options.network.transfer = GetParam();
  Served served(options);
  auto channel = Dial(served.address());
  Talk talk(channel, "north");
  ASSERT_TRUE(talk.Join(*served.models.schema()));
  EXPECT_EQ(talk.welcome.encoding(), wire::EncodeEncoding(GetParam()));
  const ModelPtr model = wire::AsTransferred(served.Make(1), GetParam(), served.models.pool());
  ASSERT_TRUE(UploadWhole(channel, OpeningOf(talk, model), model, GetParam()).end.ok());
  v1::ToParticipant message = talk.Next(v1::ToParticipant::kCommunity);
  if (message.community().version() == 0) message = talk.Next(v1::ToParticipant::kCommunity);
  ASSERT_EQ(message.community().version(), 1u);

  v1::OpenDownload open;
  open.set_token(talk.welcome.token());
  open.set_fingerprint(message.community().model().fingerprint());
  Transfer transfer(channel, "Download");
  ASSERT_TRUE(transfer.Open(open));
  wire::ModelReceiver receiver(served.models.pool(), GetParam(), open.fingerprint());
  while (!receiver.complete()) {
    std::optional<ReceivedFrame> frame = transfer.Read();
    ASSERT_TRUE(frame.has_value());
    ASSERT_TRUE(receiver.AddPieces(frame->header, frame->pieces).ok());
  }
  EXPECT_TRUE(transfer.ReadEnd().ok());
  const ModelPtr received = std::move(receiver).Take().value();
  EXPECT_EQ(received->Fingerprint(), model->Fingerprint());
}

}  // namespace
}  // namespace metis::rpc
