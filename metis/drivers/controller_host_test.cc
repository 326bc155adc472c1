#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <set>

#include "metis/drivers/processes.h"
#include "metis/drivers/testing.h"

namespace metis::drivers {
namespace {

using federation::Action;
using federation::CountsOf;
using federation::Event;
using federation::kFirstLife;
using federation::Settings;
using federation::SettingsFor;
using federation::ValidationCounts;

Settings ThreeLearners() {
  Settings settings = SettingsFor("async-fedavg", 3);
  settings.stop.requests = 12;
  return settings;
}

Settings Hurried() {
  Settings settings = SettingsFor("async-fedavg", 3);
  settings.membership.heartbeat = Duration::Milliseconds(20);
  settings.membership.silence = Duration::Milliseconds(100);
  settings.retry = Duration::Milliseconds(20);
  return settings;
}

// Before any timer that the join has set can fire.
void RefuseOnceJoined(Federation& federation) {
  federation.ears->answer = [&log = federation.log](LearnerId, const Action& action) {
    if (std::holds_alternative<federation::AcceptJoin>(action)) log.refuse = true;
  };
}

TEST(ControllerHost, AFederationOfThreeRunsToItsEnd) {
  Federation federation(ThreeLearners());
  federation.Answering();
  federation.Start();
  for (const char* name : {"north", "east", "west"}) {
    federation.Join(name, federation.IdOf(name));
  }
  ASSERT_TRUE(federation.WaitFinished());
  EXPECT_EQ(federation.Ask([](const auto& c) { return c.statistics().requests; }), 12u);
  for (uint32_t k = 0; k < 3; ++k) {
    EXPECT_EQ(federation.ears->Sent<federation::AcceptJoin>(LearnerId(k)).size(), 1u);
    EXPECT_FALSE(federation.ears->Sent<federation::AcknowledgeUpdate>(LearnerId(k)).empty());
    EXPECT_FALSE(federation.ears->Sent<federation::Dismiss>(LearnerId(k)).empty());
  }
  EXPECT_EQ(federation.ears->Said("learner east has joined (participant 1"), 1u);
  EXPECT_EQ(federation.ears->Said("the federation is running"), 1u);
  EXPECT_EQ(federation.ears->Said("finished with version 12 (requests)"), 1u)
      << federation.ears->all_said();
  ASSERT_TRUE(federation.WaitFinished()) << "at once, where it is over already";
}

TEST(ControllerHost, TheDurationEndsTheFederationByItsTimer) {
  Settings settings = ThreeLearners();
  settings.stop = {.duration = Duration::Milliseconds(30)};
  settings.membership.start_with = 1;
  Federation federation(settings);
  federation.Start();
  federation.Join("north", federation.IdOf("north"));
  ASSERT_TRUE(federation.WaitFinished());
  EXPECT_GE(federation.Ask([](const auto& c) { return c.now().nanoseconds(); }), 30'000'000);
  EXPECT_EQ(federation.ears->Said("(duration)"), 1u);
}

TEST(ControllerHost, TheEndWaitsForTheLastTestOfAnObserver) {
  Settings settings = ThreeLearners();
  settings.membership.start_with = 1;
  Federation federation(settings);
  federation.Start();
  const LearnerId eye = federation.IdOf("eye");
  federation.Join("eye", eye, federation::Role::kObserver);
  federation.Join("north", federation.IdOf("north"));
  std::promise<void> over;
  std::future<void> done = over.get_future();
  federation.host->OnFinished([&] { over.set_value(); });
  federation.host->Command({federation::OperatorCommand::Kind::kStop, {}});
  ASSERT_TRUE(federation.ears->WaitSent<federation::RequestTest>(eye));
  EXPECT_TRUE(federation.Ask([](const auto& c) { return c.testing(); }));
  EXPECT_EQ(done.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  federation::CommunityTested tested;
  tested.observer = eye;
  tested.incarnation = kFirstLife;
  tested.counts = CountsOf(ValidationCounts(eye.value()), 2);
  federation.Send(eye, tested);
  EXPECT_EQ(done.wait_for(kPatience), std::future_status::ready);
}

TEST(ControllerHost, AnObserverThatNeverAnswersHoldsTheEndNoLongerThanSilence) {
  Settings settings = Hurried();
  settings.membership.start_with = 1;
  Federation federation(settings);
  federation.Start();
  federation.Join("eye", federation.IdOf("eye"), federation::Role::kObserver);
  federation.Join("north", federation.IdOf("north"));
  federation.host->Command({federation::OperatorCommand::Kind::kStop, {}});
  EXPECT_TRUE(federation.WaitFinished());
}

TEST(ControllerHost, WhoWasAwayAtTheEndIsDismissedAtItsFirstSignOfLife) {
  Federation federation(ThreeLearners());
  federation.Start();
  const LearnerId north = federation.IdOf("north");
  federation.Join("north", north);
  federation.host->Command({federation::OperatorCommand::Kind::kStop, {}});
  ASSERT_TRUE(federation.WaitFinished());
  federation.Restart();
  federation.Start();
  EXPECT_EQ(federation.IdOf("north"), north);  // it dials again, in the middle of an epoch
  federation.Send(north, std::nullopt);
  EXPECT_TRUE(federation.ears->WaitSent<federation::Dismiss>(north));
}

TEST(ControllerHost, WhoIsSilentIsLostAndReturnsWithAHeartbeat) {
  Federation federation(Hurried());
  federation.Start();
  const LearnerId north = federation.IdOf("north");
  federation.Join("north", north);
  ASSERT_TRUE(federation.ears->WaitSaid("learner north is lost: unheard of for 100ms"));
  EXPECT_FALSE(federation.Ask([&](const auto& c) { return c.membership().Find(north)->live(); }));
  federation.host->Receive({north, Incarnation(7), std::nullopt});  // of another life
  federation.Send(north, std::nullopt);
  ASSERT_TRUE(federation.ears->WaitSaid("learner north has returned"));
  federation.Send(north, federation::LearnerLeft{north, kFirstLife});
  ASSERT_TRUE(federation.ears->WaitSaid("learner north has left"));
}

// A process that is started anew, again and again, and dies each time before it has joined.
TEST(ControllerHost, ALaterLifeThatSpeaksAndNeverJoinsDoesNotKeepItsPredecessorLive) {
  Federation federation(Hurried());
  federation.Start();
  const LearnerId north = federation.IdOf("north");
  federation.Join("north", north);
  ASSERT_TRUE(federation.ears->WaitSaid("has joined"));
  federation.host->Receive({north, Incarnation(6), std::nullopt});
  federation::LearnerJoined refused;
  refused.learner = north;
  refused.incarnation = Incarnation(7);
  refused.schema_hash = 4711;
  federation.host->Receive({north, Incarnation(7), refused});
  EXPECT_TRUE(federation.ears->WaitSaid("learner north is lost: unheard of for 100ms"));
}

TEST(ControllerHost, ALostLearnerIsReportedAlsoWhenTheLogRefusedAtFirst) {
  Federation federation(Hurried());
  RefuseOnceJoined(federation);
  federation.Start();
  federation.Join("north", federation.IdOf("north"));
  ASSERT_TRUE(federation.ears->WaitSaid("dropped (lost): the disk is full"));
  federation.log.refuse = false;
  EXPECT_TRUE(federation.ears->WaitSaid("is lost"));
}

TEST(ControllerHost, AControllerThatWasNotListeningDeclaresNobodyLost) {
  Settings settings = Hurried();
  settings.membership.heartbeat = Duration::Milliseconds(50);
  settings.membership.silence = Duration::Seconds(1);
  Federation federation(settings);
  federation.Start();
  federation.Join("north", federation.IdOf("north"));
  federation.host->Inspect([](const federation::Controller&, Instant) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  });
  federation.Send(LearnerId(0), std::nullopt);  // waits behind the check, which is overdue
  federation.Ask([](const auto&) { return 0; });
  EXPECT_EQ(federation.ears->Said("is lost"), 0u);
}

TEST(ControllerHost, ARestartGivesTheSameStateTheSameIdsAndTheSameClock) {
  Federation federation(ThreeLearners());
  federation.Start();
  const LearnerId passer_by = federation.IdOf("passer-by");
  for (const char* name : {"north", "east", "west"}) {
    federation.Join(name, federation.IdOf(name));
  }
  ASSERT_TRUE(federation.ears->WaitSent<federation::SendCommunity>(LearnerId(3)));
  federation.Update(LearnerId(3),
                    federation.ears->Sent<federation::SendCommunity>(LearnerId(3))[0]);
  ASSERT_TRUE(federation.WaitFor([](const auto& c) { return c.version() == Version(1); }));
  const uint64_t hash = federation.StateHash();
  const Instant last = federation.Ask([](const auto& c) { return c.now(); });

  federation.Restart();
  EXPECT_EQ(federation.StateHash(), hash) << "before the start as well";
  federation.host->Inspect([&](const federation::Controller&, Instant now) {
    EXPECT_GE(now, last);
    EXPECT_LT(now - last, Duration::Minutes(1)) << "federation time stands still meanwhile";
  });
  federation.Start();
  EXPECT_EQ(federation.StateHash(), hash);
  EXPECT_EQ(federation.IdOf("east"), LearnerId(2));
  EXPECT_EQ(federation.IdOf("west"), LearnerId(3));
  EXPECT_EQ(federation.IdOf("newcomer"), LearnerId(4));
  EXPECT_EQ(federation.IdOf("newcomer"), LearnerId(4));
  EXPECT_EQ(passer_by, LearnerId(0));
  EXPECT_EQ(federation.IdOf("passer-by"), LearnerId(5)) << "it never joined";
}

TEST(ControllerHost, ATimerOfBeforeARestartStillFires) {
  Settings settings = ThreeLearners();
  settings.stop = {.duration = Duration::Milliseconds(200)};
  settings.membership.start_with = 1;
  Federation federation(settings);
  federation.Start();
  federation.Join("north", federation.IdOf("north"));
  ASSERT_TRUE(federation.ears->WaitSaid("running"));
  federation.Restart();
  federation.Start();
  EXPECT_TRUE(federation.WaitFinished());
}

TEST(ControllerHost, WhatTheLogRefusesHasNotHappenedAndIsSaidOnce) {
  Settings settings = ThreeLearners();
  settings.stop = {.duration = Duration::Milliseconds(50)};
  settings.retry = Duration::Milliseconds(10);
  settings.membership.start_with = 1;
  Federation federation(settings);
  RefuseOnceJoined(federation);
  federation.Start();
  const LearnerId north = federation.IdOf("north");
  federation.log.refuse = true;
  for (int i = 0; i < 3; ++i) federation.Join("north", north);
  EXPECT_EQ(federation.Ask([](const auto& c) { return c.membership().learners(); }), 0u);
  EXPECT_EQ(federation.host->dropped_events(), 3u);
  EXPECT_EQ(federation.ears->Said("dropped (joined): the disk is full"), 1u);
  EXPECT_TRUE(federation.ears->Sent<federation::AcceptJoin>(north).empty());

  federation.log.refuse = false;
  federation.Join("north", north);
  // The timer of the duration is refused, and tried again.
  ASSERT_TRUE(federation.ears->WaitSaid("dropped (timer)"));
  federation.log.refuse = false;
  EXPECT_TRUE(federation.WaitFinished());
}

TEST(ControllerHost, AModelThatCannotBeReadEndsItOnceAndTheNextOneGoesOn) {
  Federation federation(ThreeLearners());
  auto disk = std::make_unique<federation::FlakyStore>();
  disk->get_fails = true;  // nobody's first update replaces anything
  federation.host = nullptr;
  federation.Open(nullptr, std::move(disk));
  federation.Answering();
  federation.Start();
  for (const char* name : {"north", "south", "west"}) federation.Join(name, federation.IdOf(name));
  ASSERT_TRUE(federation.ears->WaitSaid("failed: a learner's latest model: the disk is gone"));
  federation.Ask(
      [](const auto& c) { return c.version(); });  // the others' second updates are heard
  EXPECT_EQ(federation.ears->Said("failed"), 1u);
  EXPECT_EQ(federation.ears->Said("the log refuses"), 0u);
  for (const char* name : {"north", "south", "west"}) {
    const LearnerId id = federation.IdOf(name);
    EXPECT_TRUE(federation.ears->Sent<federation::RejectUpdate>(id).empty()) << name;
    EXPECT_EQ(federation.ears->Sent<federation::AcknowledgeUpdate>(id).size(), 1u) << name;
  }
  std::promise<std::string> answered;
  federation.host->Command(
      federation::OperatorCommand::Kind::kWithdraw, "north", [&](Result<Commanded> outcome) {
        answered.set_value(outcome ? outcome->message : outcome.error().message);
      });
  EXPECT_EQ(answered.get_future().get(),
            "the controller ends, because it cannot read a model (a learner's latest model: the "
            "disk is gone): look again once it was started anew");
  EXPECT_EQ(federation.host->dropped_events(), 0u) << "that one is in the log";
  federation.Restart();
  EXPECT_EQ(federation.Ask([](const auto& c) { return c.version(); }), Version(4))
      << "the update that could not be handled is in the log";
}

TEST(ControllerHost, AnEvaluatorWhoseAnswerTheLogRefusedIsAskedAgain) {
  Federation federation(SettingsFor("async-dvw", 2));
  federation.Start();
  const LearnerId north = federation.IdOf("north"), south = federation.IdOf("south");
  federation.Join("north", north);
  federation.Join("south", south);
  ASSERT_TRUE(federation.ears->WaitSent<federation::SendCommunity>(north));
  federation.Update(north, federation.ears->Sent<federation::SendCommunity>(north).front());
  ASSERT_TRUE(federation.ears->WaitSent<federation::RequestEvaluation>(south));
  const auto asked = federation.ears->Sent<federation::RequestEvaluation>(south).front();
  const federation::CountsReceived counts{south, kFirstLife, asked.update,
                                          CountsOf(ValidationCounts(south.value()), 1)};
  federation.log.refuse = true;
  federation.Send(south, counts);
  ASSERT_TRUE(federation.ears->WaitSaid("the log refuses events"));
  federation.log.refuse = false;
  federation.Send(north, federation::EpochReported{north, kFirstLife, 2, 1});
  EXPECT_TRUE(federation.WaitFor([&](const auto&) {
    return federation.ears->Sent<federation::RequestEvaluation>(south).size() == 2;
  })) << "else the update would wait for its deadline, and all others behind it";
  federation.Send(south, counts);
  EXPECT_TRUE(federation.WaitFor([](const auto& c) { return c.version() == Version(1); }));
}

TEST(ControllerHost, ATicketIsLetGoOnceItsMessageWasHandled) {
  Federation federation(ThreeLearners());
  std::promise<void> handled;
  std::shared_ptr<void> ticket(nullptr, [&](void*) { handled.set_value(); });
  federation.host->Receive({LearnerId(0), kFirstLife, std::nullopt}, std::move(ticket));
  std::future<void> done = handled.get_future();
  EXPECT_EQ(done.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  federation.Start();
  EXPECT_EQ(done.wait_for(kPatience), std::future_status::ready);
}

TEST(ControllerHost, LookingAtAStoppedControllerStillWorks) {
  Federation federation(ThreeLearners());
  federation.Start();
  federation.Join("north", federation.IdOf("north"));
  federation.IdOf("north");  // after the join
  federation.host->Stop();
  EXPECT_EQ(federation.Ask([](const auto& c) { return c.membership().learners(); }), 1u);
}

}  // namespace
}  // namespace metis::drivers
