// What an operator asks of a host, and what a host shows without being asked.
#include "metis/drivers/operator_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "metis/drivers/processes.h"
#include "metis/drivers/testing.h"

namespace metis::drivers {
namespace {

using federation::Harness;
using federation::kFirstLife;
using federation::SettingsFor;
using testing::HasSubstr;
using Kind = federation::OperatorCommand::Kind;

constexpr auto kBound = std::chrono::seconds(60);

// --- The words

CommandPlan Plan(Harness& harness, Kind kind, const std::string& name = "") {
  return PlanCommand(harness.controller(), kind, name).value();
}

TEST(OperatorCommand, WhatIsSoAlreadyIsNoCommand) {
  Harness harness(SettingsFor("async-fedavg", 2));
  EXPECT_FALSE(Plan(harness, Kind::kResume).command);
  ASSERT_TRUE(Plan(harness, Kind::kPause).command);
  harness.Send(*Plan(harness, Kind::kPause).command);
  EXPECT_FALSE(Plan(harness, Kind::kPause).command);
  harness.JoinAll();
  EXPECT_EQ(harness.controller().phase(), federation::Phase::kWaiting) << "paused before its start";
  ASSERT_TRUE(Plan(harness, Kind::kResume).command);
  harness.Send(*Plan(harness, Kind::kResume).command);
  EXPECT_EQ(harness.controller().phase(), federation::Phase::kRunning);
}

TEST(OperatorCommand, AfterTheEndNothingIsDone) {
  Harness harness(SettingsFor("async-fedavg", 1));
  harness.Join(0);
  harness.Update(0, 1, 1.5f);
  harness.Send(*Plan(harness, Kind::kStop).command);
  for (Kind kind : {Kind::kPause, Kind::kResume, Kind::kStop, Kind::kWithdraw}) {
    const CommandPlan plan = Plan(harness, kind, "learner-0");
    EXPECT_FALSE(plan.command);
    EXPECT_THAT(plan.message, HasSubstr("has finished (operator)"));
    EXPECT_THAT(plan.message, HasSubstr("version 1"));
  }
}

TEST(OperatorCommand, AWithdrawalIsOfALearnerWithAModel) {
  Harness harness(SettingsFor("async-fedavg", 2));
  harness.JoinAll();
  harness.JoinObserver(7);
  harness.Update(1, 1, 1.5f);
  EXPECT_THAT(Plan(harness, Kind::kWithdraw, "learner-0").message, HasSubstr("has no model"));
  const Result<CommandPlan> observer =
      PlanCommand(harness.controller(), Kind::kWithdraw, "learner-7");
  ASSERT_FALSE(observer);
  EXPECT_EQ(observer.error().code, ErrorCode::kNotFound);
  const CommandPlan plan = Plan(harness, Kind::kWithdraw, "learner-1");
  ASSERT_TRUE(plan.command);
  EXPECT_EQ(plan.command->learner, LearnerId(1));
  harness.Leave(1);
  harness.Send(*plan.command);
  const Commanded outcome = OutcomeOf(harness.controller(), *plan.command).value();
  EXPECT_EQ(outcome.message, "learner-1's model is out of the community: version 2");
}

TEST(OperatorCommand, RoundsThatKeepNoModelsSayWhyNobodyIsWithdrawn) {
  federation::Settings settings = SettingsFor("sync-fedavg", 1);
  settings.keep_models = false;
  Harness harness(settings);
  harness.JoinAll();
  harness.Update(0, 1, 1.5f);
  const Result<CommandPlan> plan = PlanCommand(harness.controller(), Kind::kWithdraw, "learner-0");
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("storage.durability"));
}

TEST(OperatorCommand, AModelThatCannotBeReadStaysAndThatIsSaid) {
  federation::FlakyStore store;
  Harness harness(SettingsFor("async-fedavg", 2), &store);
  harness.JoinAll();
  harness.Update(0, 1, 1.5f);
  const CommandPlan plan = Plan(harness, Kind::kWithdraw, "learner-0");
  store.get_fails = true;
  harness.Send(*plan.command);
  const Result<Commanded> outcome = OutcomeOf(harness.controller(), *plan.command);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("learner-0 could not be taken out"));
}

TEST(OperatorCommand, ALongListOfLearnersIsCut) {
  federation::Settings settings = SettingsFor("async-fedavg", 20);
  settings.membership.max_learners = 40;
  Harness harness(settings);
  for (uint32_t k = 0; k < 33; ++k) harness.Join(k);
  const std::string message =
      PlanCommand(harness.controller(), Kind::kWithdraw, "nobody").error().message;
  EXPECT_THAT(message, HasSubstr("learner-19, and 13 more"));
}

// --- The host

class Nowhere final : public ControllerTransport {
 public:
  void Send(LearnerId, const federation::Action&) override {}
};

class OperatedHost : public testing::Test {
 protected:
  OperatedHost() {
    ControllerHostOptions options;
    options.settings = SettingsFor("async-fedavg", 1);
    options.initial = models_.From(-1);
    options.watch = [this](const federation::Controller& controller, const HostView& view) {
      shown_version_ = controller.version().value();
      shown_paused_ = controller.operator_paused();
      heard_ = view.heard.size();
      dropped_ = view.dropped_events;
      ++shown_;
    };
    host_ =
        ControllerProcess::Open(std::move(options), models_.pool(), log_, nullptr, nullptr).value();
  }
  Result<Commanded> Command(Kind kind, const std::string& name = "") {
    std::promise<Result<Commanded>> outcome;
    host_->Command(kind, name, [&](Result<Commanded> said) { outcome.set_value(std::move(said)); });
    return outcome.get_future().get();
  }
  static bool WaitFor(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + kBound;
    while (!condition() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return condition();
  }

  federation::Models models_;
  RefusingLog log_;
  Nowhere nowhere_;
  std::atomic<uint64_t> shown_ = 0, shown_version_ = 0, heard_ = 0, dropped_ = 0;
  std::atomic<bool> shown_paused_ = false;
  std::unique_ptr<ControllerProcess> host_;
};

TEST_F(OperatedHost, IsShownAtItsStartAndAgainThoughNothingHappens) {
  EXPECT_EQ(shown_, 0u);
  host_->Start(nowhere_);
  EXPECT_GE(shown_, 1u);
  EXPECT_TRUE(WaitFor([&] { return shown_ >= 3; }));
}

TEST_F(OperatedHost, WhatACommandDidIsShownBeforeItIsAnswered) {
  host_->Start(nowhere_);
  ASSERT_TRUE(Command(Kind::kPause));
  EXPECT_TRUE(shown_paused_);
  ASSERT_TRUE(Command(Kind::kResume));
  EXPECT_FALSE(shown_paused_);
}

TEST_F(OperatedHost, WhoWasHeardIsShown) {
  host_->Start(nowhere_);
  host_->Receive({LearnerId(3), kFirstLife, std::nullopt});
  host_->Receive({LearnerId(5), kFirstLife, std::nullopt});
  EXPECT_TRUE(WaitFor([&] { return heard_ == 2; }));
}

TEST_F(OperatedHost, ACommandThatTheLogRefusesHasNotHappened) {
  host_->Start(nowhere_);
  log_.refuse = true;
  Result<Commanded> paused = Command(Kind::kPause);
  ASSERT_FALSE(paused);
  EXPECT_THAT(paused.error().message, HasSubstr("nothing has changed"));
  EXPECT_THAT(paused.error().message, HasSubstr("the disk is full"));
  EXPECT_TRUE(WaitFor([&] { return dropped_ == 1; }));
  EXPECT_FALSE(shown_paused_);
}

TEST_F(OperatedHost, OnceStoppedACommandIsLetGoUnanswered) {
  host_->Start(nowhere_);
  host_->Stop();
  auto held = std::make_shared<int>(0);
  host_->Command(Kind::kStop, "", [held](const Result<Commanded>&) { FAIL(); });
  host_->Look([held](const federation::Controller&, Instant) { FAIL(); });
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace metis::drivers
