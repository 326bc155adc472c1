#include "metis/sim/simulated_controller.h"

#include <gtest/gtest.h>

#include "metis/sim/participant.h"
#include "metis/sim/testing.h"
#include "metis/sim/unreliable_store.h"
#include "metis/work/workload_tools.h"

namespace metis::sim {
namespace {

using CrashPoint = SimulatedController::CrashPoint;
using Kind = federation::OperatorCommand::Kind;
using federation::Phase;

// The controller's machine with three learners of unequal size, and a watch that compares states.
class SimulatedControllerTest : public testing::Test,
                                public ControllerWatch,
                                public drivers::Recorder {
 protected:
  void Build(std::string_view policy, const FaultRates& rates = {}) {
    settings_ = SmallFederation(policy, 3);
    workload_ = SmallWorkload(3, federation::NeedsValidationSet(settings_.policy));
    tools_ = std::make_unique<work::WorkloadTools>(*workload_);
    bench_ = std::make_unique<work::ToolBench>(*tools_);
    world_ = std::make_unique<World>(rates, 3);
    world_->bench = bench_.get();
    node_ = std::make_unique<SimulatedController>(*world_, *workload_, settings_, 13);
    node_->SetWatch(this);
    node_->SetRecorder(this);
    for (uint32_t k = 0; k < 3; ++k) {
      world_->network.SetLink(k, {Duration::Milliseconds(5), 100});
      learners_.push_back(std::make_unique<SimulatedLearner>(*world_, *node_, *workload_, settings_,
                                                             DeviceGroup{.name = "fast"}, k, 3));
    }
    node_->Start();
    for (auto& learner : learners_) learner->Start();
  }
  void Run(double seconds) { RunUntil(world_->queue, At(seconds)); }

  void Handled(Instant, const federation::Event&, const std::vector<federation::Action>&,
               const federation::Controller& controller) override {
    state_ = controller.StateHash();
  }
  void Restarted(const federation::Controller& controller) override {
    ++restarts_;
    EXPECT_EQ(controller.StateHash(), state_);
  }
  void Event(Instant now, const federation::Event& event) override {
    events_.emplace_back(now, event);
  }
  void Action(Instant, const federation::Action&) override {}
  template <typename T>
  std::vector<std::pair<double, T>> All() const {
    std::vector<std::pair<double, T>> found;
    for (const auto& [time, event] : events_) {
      if (const T* one = std::get_if<T>(&event)) found.emplace_back(time.seconds(), *one);
    }
    return found;
  }
  uint64_t Commits() const { return node_->controller().statistics().commits; }
  uint64_t Struck(Fault fault) const { return world_->faults.struck()[static_cast<size_t>(fault)]; }

  federation::Settings settings_;
  std::unique_ptr<builtin::BuiltinWorkload> workload_;
  std::unique_ptr<work::Tools> tools_;
  std::unique_ptr<work::ToolBench> bench_;
  std::unique_ptr<World> world_;
  std::unique_ptr<SimulatedController> node_;
  std::vector<std::unique_ptr<SimulatedLearner>> learners_;
  uint64_t state_ = 0;
  int restarts_ = 0;
  std::vector<std::pair<Instant, federation::Event>> events_;
};

class CrashAt : public SimulatedControllerTest, public testing::WithParamInterface<CrashPoint> {};

TEST_P(CrashAt, RestartsInTheStateItHadAndGoesOn) {
  Build("async-dvw");
  for (int crash = 1; crash <= 6; ++crash) {
    Run(50 * crash);
    node_->CrashSoon(GetParam(), 0.5, Duration::FromSeconds(3 + crash));
    Run(50 * crash + 2.5);
    EXPECT_FALSE(node_->up()) << "a heartbeat or an update must have come by now";
    Run(50 * crash + 30);
    EXPECT_TRUE(node_->up());
    EXPECT_EQ(restarts_, crash);
  }
  uint64_t before = Commits();
  Run(360);
  EXPECT_GT(Commits(), before + 3);
  EXPECT_EQ(Struck(Fault::kControllerCrash), 6u);
}

INSTANTIATE_TEST_SUITE_P(EachPoint, CrashAt,
                         testing::Values(CrashPoint::kBeforeLogging, CrashPoint::kBeforeActions,
                                         CrashPoint::kAmongActions, CrashPoint::kAfterActions));

class UnreadableModels : public SimulatedControllerTest,
                         public testing::WithParamInterface<std::string_view> {};

TEST_P(UnreadableModels, EndItAndItRestartsInTheStateThatItsLogSays) {
  Build(GetParam(), {.max_outage = Duration::Seconds(5), .unreadable_model = 0.3});
  for (double end = 100; restarts_ < 3 && end <= 3000; end += 100) Run(end);
  ASSERT_GE(restarts_, 3);
  EXPECT_GE(Struck(Fault::kUnreadableModel), 3u);
  EXPECT_EQ(Struck(Fault::kControllerCrash), 0u);
  const uint64_t before = Commits();
  Run(world_->queue.now().seconds() + 300);
  EXPECT_GT(Commits(), before);
  for (double more = 0; !node_->up() && more < 100; ++more) Run(world_->queue.now().seconds() + 1);
  ASSERT_TRUE(node_->up());

  // Nothing was decided for the disk's sake: the recorded events alone lead to this state.
  federation::MemoryModelStore store;
  federation::Controller again(settings_, workload_->initial(), workload_->pool(), store);
  std::vector<federation::Action> actions;
  for (const auto& [time, event] : events_) again.Handle(time, event, actions);
  EXPECT_EQ(again.StateHash(), node_->controller().StateHash());
}

INSTANTIATE_TEST_SUITE_P(EachProtocolThatReads, UnreadableModels,
                         testing::Values("async-fedavg", "async-dvw", "sync-fedavg"));

TEST(UnreliableStore, FailsOnlyWhileAnEventIsHandledAndOnlyForWhatIsThere) {
  World world({.unreadable_model = 1}, 3);
  bool handling = false;
  UnreliableStore store(world, handling);
  federation::Models models;
  const LearnerId learner(1), stranger(2);
  ASSERT_TRUE(store.Put(learner, models.From(2)).ok());
  EXPECT_TRUE(store.Get(learner).ok());
  handling = true;
  EXPECT_EQ(store.Get(learner).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(store.Get(stranger).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(store.Refer(learner).ok()) << "a snapshot refers to it";
  EXPECT_FALSE(store.PutAll({{learner, models.From(5)}, {stranger, models.From(7)}}).ok());
  handling = false;
  EXPECT_EQ(federation::Values(store.Get(learner).value()), federation::Values(models.From(2)));
  EXPECT_FALSE(store.Get(stranger).ok());
  EXPECT_EQ(world.faults.struck()[static_cast<size_t>(Fault::kUnreadableModel)], 2u);
}

TEST_F(SimulatedControllerTest, WhileItIsDownItHearsNothing) {
  Build("async-fedavg");
  Run(20);
  node_->CrashSoon(CrashPoint::kAfterActions, 0, Duration::Seconds(30));
  Run(25);
  ASSERT_FALSE(node_->up());
  size_t heard = events_.size();
  node_->Command(Kind::kStop);
  node_->FreezeUntil(At(1000));  // what is down cannot freeze
  Run(49);
  EXPECT_EQ(events_.size(), heard);
  Run(80);
  EXPECT_TRUE(node_->up());
  EXPECT_GT(events_.size(), heard);
  EXPECT_EQ(node_->controller().phase(), Phase::kRunning);
}

TEST_F(SimulatedControllerTest, AFrozenControllerTakesUpMessagesAndCommandsAfterwards) {
  Build("async-fedavg");
  Run(20);
  node_->FreezeUntil(At(140));
  node_->Command(Kind::kPause);
  size_t heard = events_.size();
  Run(139.9);
  EXPECT_EQ(events_.size(), heard);
  EXPECT_EQ(node_->controller().phase(), Phase::kRunning);
  Run(150);
  EXPECT_EQ(node_->controller().phase(), Phase::kPaused);
  EXPECT_TRUE(All<federation::LearnerLost>().empty())
      << "it was not listening: nobody is lost for that";
}

TEST_F(SimulatedControllerTest, ASilentLearnerIsLostAndAHeartbeatBringsItBack) {
  Build("async-fedavg");
  Run(30);
  double cut = world_->queue.now().seconds();
  world_->network.Cut(1, At(cut + 100));
  Run(cut + 95);
  auto lost = All<federation::LearnerLost>();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].second.learner, LearnerId(1));
  EXPECT_GE(lost[0].first, cut + 45);
  EXPECT_LE(lost[0].first, cut + 75);
  Run(cut + 125);
  const federation::Member* member = node_->controller().membership().Find(LearnerId(1));
  EXPECT_TRUE(member->live());
  EXPECT_EQ(member->incarnation(), Incarnation(1));
}

TEST_F(SimulatedControllerTest, ALearnerThatWasLostWhenTheControllerFellIsFoundLostAfterwards) {
  Build("async-fedavg");
  Run(30);
  node_->CrashSoon(CrashPoint::kBeforeLogging, 0, Duration::Seconds(20));
  Run(35);
  ASSERT_FALSE(node_->up());
  learners_[2]->Crash();
  Run(200);
  auto lost = All<federation::LearnerLost>();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].second.learner, LearnerId(2));
}

}  // namespace
}  // namespace metis::sim
