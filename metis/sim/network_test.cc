#include "metis/sim/network.h"

#include <gtest/gtest.h>

#include <vector>

#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

constexpr LearnerId kNear(0);
constexpr LearnerId kFar(1);

// A network of two unequal links that notes what arrives when.
class NetworkTest : public testing::Test {
 protected:
  struct Arrival {
    int message;
    double seconds;
  };

  void Build(const FaultRates& rates) {
    faults_ = std::make_unique<FaultInjector>(rates, 11);
    network_ = std::make_unique<Network>(queue_, *faults_);
    network_->SetLink(kNear, {Duration::Milliseconds(10), 1000});
    network_->SetLink(kFar, {Duration::Milliseconds(200), 8});
  }
  void Send(LearnerId learner, uint64_t bytes, int message = 0) {
    network_->Send(learner, bytes, learner.value(), [this, message] {
      arrivals_.push_back({message, queue_.now().seconds()});
    });
  }
  uint64_t Struck(Fault fault) const { return faults_->struck()[static_cast<size_t>(fault)]; }
  void RunAll() { RunUntil(queue_, At(1e6)); }

  EventQueue queue_;
  std::unique_ptr<FaultInjector> faults_;
  std::unique_ptr<Network> network_;
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
  EXPECT_EQ(network_->bytes_sent(), 4'000'000u);
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
    queue_.At(At(i), 0, [this, i] { Send(kNear, 100, i); });
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
  network_->Partition(kFar, At(60));
  network_->Partition(kFar, At(20));  // a shorter one does not end it
  Send(kFar, 100, 1);
  Send(kNear, 100, 2);
  queue_.At(At(59), 0, [this] { Send(kFar, 100, 3); });
  queue_.At(At(60), 0, [this] { Send(kFar, 100, 4); });
  RunAll();
  ASSERT_EQ(arrivals_.size(), 2u);
  EXPECT_EQ(arrivals_[0].message, 2);
  EXPECT_EQ(arrivals_[1].message, 4);
  EXPECT_EQ(Struck(Fault::kPartition), 2u);
}

TEST_F(NetworkTest, ASparedParticipantLosesNothing) {
  Build({.loss = 1, .duplication = 1, .delay = 1});
  network_->Spare(kFar);
  network_->Partition(kFar, At(1000));
  Send(kFar, 100, 1);
  Send(kNear, 100, 2);
  RunAll();
  ASSERT_EQ(arrivals_.size(), 1u);
  EXPECT_EQ(arrivals_[0].message, 1);
}

TEST_F(NetworkTest, AfterHealingEverythingArrivesOnceAndInTime) {
  Build({.loss = 1, .duplication = 1, .delay = 1, .heal_after = Duration::Seconds(5)});
  Send(kNear, 0, 1);
  queue_.At(At(5), 0, [this] { Send(kNear, 0, 2); });
  RunAll();
  ASSERT_EQ(arrivals_.size(), 1u);
  EXPECT_DOUBLE_EQ(arrivals_[0].seconds, 5.01);
}

}  // namespace
}  // namespace metis::sim
