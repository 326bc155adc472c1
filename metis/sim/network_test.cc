#include <gtest/gtest.h>

#include <vector>

#include "metis/sim/faulty_ports.h"
#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

constexpr uint32_t kNear = 0;
constexpr uint32_t kFar = 1;

// A network of two unequal links that notes what arrives when.
class NetworkTest : public testing::Test {
 protected:
  struct Arrival {
    int message;
    double seconds;
  };

  void Build(const FaultRates& rates) {
    world_ = std::make_unique<World>(rates, 11);
    world_->network.SetLink(kNear, {Duration::Milliseconds(10), 1000});
    world_->network.SetLink(kFar, {Duration::Milliseconds(200), 8});
    lines_.clear();
    for (uint32_t participant : {kNear, kFar}) lines_.emplace_back(*world_, participant);
  }
  void Send(uint32_t participant, uint64_t bytes, int message = 0) {
    lines_[participant].Carry([=, this] {
      world_->network.Send(participant, bytes, participant, [this, message] {
        arrivals_.push_back({message, world_->queue.now().seconds()});
      });
    });
  }
  uint64_t Struck(Fault fault) const { return world_->faults.struck()[static_cast<size_t>(fault)]; }
  void RunAll() { RunUntil(world_->queue, At(1e6)); }

  std::unique_ptr<World> world_;
  std::vector<FaultyLine> lines_;
  std::vector<Arrival> arrivals_;
};

TEST_F(NetworkTest, AMessageTakesLatencyAndBytesOverBandwidth) {
  Build({});
  Send(kNear, 1'000'000, 1);  // 10 ms + 8 Mbit at 1000 Mbit/s
  Send(kFar, 3'000'000, 2);   // 200 ms + 24 Mbit at 8 Mbit/s
  RunAll();
  ASSERT_EQ(arrivals_.size(), 2u);
  EXPECT_DOUBLE_EQ(arrivals_[0].seconds, 0.018);
  EXPECT_DOUBLE_EQ(arrivals_[1].seconds, 3.2);
  EXPECT_EQ(world_->network.bytes_sent(), 4'000'000u);
}

TEST_F(NetworkTest, LosesAboutTheShareThatItIsTold) {
  Build({.loss = 0.25});
  for (int i = 0; i < 2000; ++i) Send(kNear, 100, i);
  RunAll();
  EXPECT_NEAR(static_cast<double>(arrivals_.size()), 1500, 80);
  EXPECT_EQ(Struck(Fault::kLoss), 2000 - arrivals_.size());
}

TEST_F(NetworkTest, ADuplicateArrivesTwice) {
  Build({.duplication = 0.3});
  for (int i = 0; i < 2000; ++i) Send(kNear, 100, i);
  RunAll();
  EXPECT_NEAR(static_cast<double>(arrivals_.size()), 2600, 80);
  EXPECT_EQ(Struck(Fault::kDuplication), arrivals_.size() - 2000);
}

TEST_F(NetworkTest, ADelayedMessageIsOvertakenByALaterOne) {
  Build({.delay = 0.5, .max_delay = Duration::Seconds(30)});
  for (int i = 0; i < 200; ++i) {
    world_->queue.At(At(i), 0, [this, i] { Send(kNear, 100, i); });
  }
  RunAll();
  ASSERT_EQ(arrivals_.size(), 200u);
  int overtaken = 0;
  for (size_t i = 0; i < arrivals_.size(); ++i) {
    double held = arrivals_[i].seconds - arrivals_[i].message;
    EXPECT_LT(held, 30.02);
    if (i > 0 && arrivals_[i].message < arrivals_[i - 1].message) ++overtaken;
  }
  EXPECT_GT(overtaken, 20);
}

TEST_F(NetworkTest, APartitionSwallowsMessagesUntilItEnds) {
  Build({});
  world_->network.Cut(kFar, At(60));
  world_->network.Cut(kFar, At(20));  // a shorter one does not end it
  Send(kFar, 100, 1);
  Send(kNear, 100, 2);
  world_->queue.At(At(59), 0, [this] { Send(kFar, 100, 3); });
  world_->queue.At(At(60), 0, [this] { Send(kFar, 100, 4); });
  RunAll();
  ASSERT_EQ(arrivals_.size(), 2u);
  EXPECT_EQ(arrivals_[0].message, 2);
  EXPECT_EQ(arrivals_[1].message, 4);
  EXPECT_EQ(Struck(Fault::kPartition), 2u);
}

TEST_F(NetworkTest, ASparedParticipantLosesNothing) {
  Build({.loss = 1, .duplication = 1, .delay = 1});
  lines_[kFar].Spare();
  world_->network.Cut(kFar, At(1000));
  Send(kFar, 100, 1);
  Send(kNear, 100, 2);
  RunAll();
  ASSERT_EQ(arrivals_.size(), 1u);
  EXPECT_EQ(arrivals_[0].message, 1);
}

TEST_F(NetworkTest, AfterHealingEverythingArrivesOnceAndInTime) {
  Build({.loss = 1, .duplication = 1, .delay = 1, .heal_after = Duration::Seconds(5)});
  Send(kNear, 0, 1);
  world_->queue.At(At(5), 0, [this] { Send(kNear, 0, 2); });
  RunAll();
  ASSERT_EQ(arrivals_.size(), 1u);
  EXPECT_DOUBLE_EQ(arrivals_[0].seconds, 5.01);
}

}  // namespace
}  // namespace metis::sim
