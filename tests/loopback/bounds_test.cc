// What a peer can do to the server by being slow, silent, or many.
#include <latch>
#include <set>

#include "tests/loopback/raw_client.h"

namespace metis::rpc {
namespace {

TEST(Bounds, ASilentConversationIsDropped) {
  Served::Options options;
  options.heartbeat = Duration::Milliseconds(400);
  Served served(options);
  Talk mute(Dial(served.address()), "mute");  // not even a Hello
  Talk talk(Dial(served.address()), "north");
  ASSERT_TRUE(talk.Greet().has_welcome());
  v1::ToParticipant nothing;
  EXPECT_FALSE(talk.Read(nothing));
  EXPECT_EQ(talk.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_FALSE(mute.Read(nothing));
  EXPECT_TRUE(WaitFor([&] { return served.Audited("silent") == 2; }));
  EXPECT_TRUE(WaitFor([&] { return served.server->traffic().connected == 0; }));
}

TEST(Bounds, APeerThatDoesNotReadIsDropped) {
  Served served;
  constexpr int kWindow = 64 << 10;
  Talk talk(Dial(served.address(), grpc::InsecureChannelCredentials(), "", kWindow), "north");
  ASSERT_TRUE(talk.Greet().has_welcome());
  // Every heartbeat is answered, and no answer read: the window fills, then the queue.
  for (int i = 0; i < 3'000'000 && talk.Beat(); ++i) continue;
  EXPECT_TRUE(served.WaitAudited("slow"));
  EXPECT_EQ(served.LastRefusal().name, "north");
}

TEST(Bounds, AFloodOfMessagesDoesNotHoldUpOthers) {
  Served served;
  Talk flooding(Dial(served.address()), "flood");
  ASSERT_TRUE(flooding.Join(*served.models.schema()));
  constexpr uint64_t kMessages = 20'000;
  std::thread reader([&] {
    v1::ToParticipant message;
    for (uint64_t steps = 0; steps < kMessages && flooding.Read(message);) {
      if (message.has_steps()) ++steps;
    }
  });
  std::atomic<bool> over = false;
  std::thread writer([&] {
    v1::FromParticipant message;
    for (uint64_t i = 0; i < kMessages; ++i) {
      message.mutable_epoch()->set_epoch(i);
      if (!flooding.Write(message)) break;
    }
    over = true;
  });
  Talk other(Dial(served.address()), "north");
  ASSERT_TRUE(other.Greet().has_welcome());
  int answered = 0;
  while (!over && answered < 1000) {
    ASSERT_TRUE(other.Beat());
    ASSERT_TRUE(other.Next(v1::ToParticipant::kHeartbeat).has_heartbeat());
    ++answered;
  }
  EXPECT_GT(answered, 0);
  writer.join();
  reader.join();  // every one of them was answered
}

TEST(Bounds, ADownloadThatIsNotReadIsDroppedAndCanGoOn) {
  Served::Options options;
  options.parameters = 12'000'000;  // more than all windows and buffers on the way hold
  options.network.stalled = Duration::Seconds(1);
  Served served(options);
  auto channel = Dial(served.address());
  Talk talk(channel, "north");
  ASSERT_TRUE(talk.Join(*served.models.schema()));
  v1::OpenDownload open;
  open.set_token(talk.welcome.token());
  open.set_fingerprint(talk.Next(v1::ToParticipant::kCommunity).community().model().fingerprint());
  Transfer transfer(channel, "Download");
  ASSERT_TRUE(transfer.Open(open));
  ASSERT_TRUE(served.WaitAudited("stalled"));
  size_t chunks = 0;
  while (transfer.Read()) ++chunks;
  EXPECT_EQ(transfer.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_LT(chunks, 46u);

  Transfer again(channel, "Download");
  open.set_offset(chunks * wire::kChunkBytes);
  ASSERT_TRUE(again.Open(open));
  const std::optional<ReceivedFrame> frame = again.Read();
  EXPECT_EQ(frame ? std::optional(frame->header.offset) : std::nullopt, open.offset());
}

TEST(Bounds, AnUploadWithoutProgressIsDroppedAndCanGoOn) {
  Served::Options options;
  options.network.stalled = Duration::Seconds(1);
  Served served(options);
  auto channel = Dial(served.address());
  Talk talk(channel, "north");
  ASSERT_TRUE(talk.Join(*served.models.schema()));
  const ModelPtr model = served.Make(1);
  Transfer transfer(channel, "Upload");
  Transfer unopened(channel, "Upload");
  ASSERT_TRUE(transfer.Open(OpeningOf(talk, model)));
  ASSERT_TRUE(transfer.Read().has_value());
  wire::ModelSender sender(model, wire::Encoding::kRaw);
  SendChunks(transfer, sender, 1);
  EXPECT_FALSE(transfer.Read().has_value());
  EXPECT_EQ(transfer.Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_FALSE(unopened.Read().has_value());
  EXPECT_TRUE(WaitFor([&] { return served.Audited("stalled") == 2; }));
  const Uploaded uploaded = UploadWhole(channel, OpeningOf(talk, model), model);
  EXPECT_EQ(uploaded.offset, wire::kChunkBytes);
  EXPECT_TRUE(uploaded.end.ok());
}

TEST(Bounds, WhoComesWhenTheBudgetIsUsedUpWaitsItsTurn) {
  Served::Options options;
  options.network.receive_budget_mb = 1;  // less than one model: one at a time
  options.network.stalled = Duration::Seconds(1);
  Served served(options);
  auto channel = Dial(served.address());
  Talk north(channel, "north");
  Talk east(channel, "east");
  ASSERT_TRUE(north.Join(*served.models.schema()));
  ASSERT_TRUE(east.Join(*served.models.schema()));
  const ModelPtr first = served.Make(1);
  const ModelPtr second = served.Make(2);
  Transfer holding(channel, "Upload");
  ASSERT_TRUE(holding.Open(OpeningOf(north, first)));
  ASSERT_TRUE(holding.Read().has_value());
  // The first stalls, is dropped and parked; because somebody waits, what it left is let go.
  const Uploaded uploaded = UploadWhole(channel, OpeningOf(east, second), second);
  EXPECT_TRUE(uploaded.end.ok());
  EXPECT_TRUE(served.WaitAudited("stalled"));
  const Uploaded again = UploadWhole(channel, OpeningOf(north, first), first);
  EXPECT_TRUE(again.end.ok());
}

TEST(Bounds, ManyUploadsAtOnceShareASmallBudget) {
  Served::Options options;
  options.network.receive_budget_mb = 3;  // two models of 1.2 MB
  Served served(options);
  std::vector<std::thread> learners;
  std::atomic<int> done = 0;
  std::latch all_have_joined(8);  // and were sent version 0, which their updates are based on
  for (int k = 0; k < 8; ++k) {
    learners.emplace_back([&, k] {
      auto channel = Dial(served.address());
      Talk talk(channel, Text("learner-", k));
      const bool joined = talk.Join(*served.models.schema(), 10 + static_cast<uint64_t>(k));
      all_have_joined.arrive_and_wait();
      if (!joined) return;
      const ModelPtr model = served.Make(static_cast<float>(k));
      if (UploadWhole(channel, OpeningOf(talk, model), model).end.ok()) ++done;
    });
  }
  for (std::thread& learner : learners) learner.join();
  EXPECT_EQ(done, 8);
  EXPECT_TRUE(WaitFor(
      [&] { return served.Ask([](const auto& c) { return c.statistics().requests; }) == 8; }));
}

TEST(Bounds, OneUpdateOfAParticipantAtATimeIsTakenIn) {
  std::mutex mutex;
  std::condition_variable changed;
  bool disk_is_slow = true;
  Served::Options options;
  options.keep = [&](const ModelPtr&) -> Result<void> {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kBound, [&] { return !disk_is_slow; }));
    return {};
  };
  Served served(options);
  auto channel = Dial(served.address());
  Talk talk(channel, "north");
  ASSERT_TRUE(talk.Join(*served.models.schema()));
  const ModelPtr first = served.Make(1);
  Transfer storing(channel, "Upload");
  ASSERT_TRUE(storing.Open(OpeningOf(talk, first)));
  ASSERT_TRUE(storing.Read().has_value());
  wire::ModelSender sender(first, wire::Encoding::kRaw);
  const uint64_t before = served.server->traffic().bytes_received;
  SendChunks(storing, sender);
  ASSERT_TRUE(WaitFor(
      [&] { return served.server->traffic().bytes_received >= before + first->bytes().size(); }));

  const ModelPtr second = served.Make(2);
  const Uploaded meanwhile = UploadWhole(channel, OpeningOf(talk, second, 2), second);
  EXPECT_FALSE(meanwhile.end.ok());
  EXPECT_FALSE(meanwhile.end.final());
  EXPECT_NE(meanwhile.end.message().find("still being taken in"), std::string::npos);
  {
    std::scoped_lock lock(mutex);
    disk_is_slow = false;
  }
  changed.notify_all();
  EXPECT_EQ(talk.Next(v1::ToParticipant::kAcknowledged).acknowledged().update().sequence(), 1u);
  // By hand, as a learner would: until it is taken.
  EXPECT_TRUE(
      WaitFor([&] { return UploadWhole(channel, OpeningOf(talk, second, 2), second).end.ok(); }));
  EXPECT_EQ(talk.Next(v1::ToParticipant::kAcknowledged).acknowledged().update().sequence(), 2u);
}

TEST(Bounds, TooManyDownloadsAtATimeAreRefused) {
  Served::Options options;
  options.parameters = 4'000'000;
  Served served(options);
  auto channel = Dial(served.address());
  Talk talk(channel, "north");
  ASSERT_TRUE(talk.Join(*served.models.schema()));
  v1::OpenDownload open;
  open.set_token(talk.welcome.token());
  open.set_fingerprint(talk.Next(v1::ToParticipant::kCommunity).community().model().fingerprint());
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (int i = 0; i < 8; ++i) {
    transfers.push_back(std::make_unique<Transfer>(channel, "Download"));
    ASSERT_TRUE(transfers.back()->Open(open));
  }
  EXPECT_TRUE(served.WaitAudited("flood"));
}

}  // namespace
}  // namespace metis::rpc
