#include "metis/drivers/controller_host.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>

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

constexpr auto kBound = std::chrono::seconds(60);

// What was sent and said; waits until something is true of it.
class Ears final : public ControllerTransport {
 public:
  void Send(LearnerId to, const Action& message) override {
    {
      std::scoped_lock lock(mutex_);
      sent_.emplace_back(to, message);
    }
    if (answer) answer(to, message);
    changed_.notify_all();
  }
  void Say(const std::string& text) {
    {
      std::scoped_lock lock(mutex_);
      said_.push_back(text);
    }
    changed_.notify_all();
  }
  size_t Said(const std::string& part) {
    std::scoped_lock lock(mutex_);
    return Count(part);
  }
  bool WaitSaid(const std::string& part, size_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBound, [&] { return Count(part) >= times; });
  }
  template <typename T>
  std::vector<T> Sent(LearnerId to) {
    std::scoped_lock lock(mutex_);
    std::vector<T> found;
    for (const auto& [receiver, action] : sent_) {
      const T* one = std::get_if<T>(&action);
      if (receiver == to && one != nullptr) found.push_back(*one);
    }
    return found;
  }
  template <typename T>
  bool WaitSent(LearnerId to) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBound, [&] {
      return std::any_of(sent_.begin(), sent_.end(), [&](const auto& each) {
        return each.first == to && std::holds_alternative<T>(each.second);
      });
    });
  }
  std::string all_said() {
    std::scoped_lock lock(mutex_);
    return Join(said_, "\n");
  }

  std::function<void(LearnerId, const Action&)> answer;  // set before the start

 private:
  size_t Count(const std::string& part) const {
    return static_cast<size_t>(
        std::count_if(said_.begin(), said_.end(),
                      [&](const std::string& text) { return text.find(part) != text.npos; }));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<LearnerId, Action>> sent_;
  std::vector<std::string> said_;
};

// A federation whose learners answer at once, each by what it is sent.
class Federation {
 public:
  explicit Federation(Settings settings) : settings_(std::move(settings)) {
    initial_ = models_.From(-1);
    Open();
  }

  void Open(Recorder* recorder = nullptr) {
    ears = std::make_unique<Ears>();
    Result<std::unique_ptr<ControllerHost>> opened = ControllerHost::Open(
        {.settings = settings_, .initial = initial_, .snapshot_every = 7}, models_.pool(), log,
        recorder, [ears = ears.get()](const std::string& text) { ears->Say(text); });
    ASSERT_TRUE(opened.ok());
    host = std::move(*opened);
  }
  void Start() { host->Start(*ears); }
  void Restart() {
    host->Stop();
    host = nullptr;
    Open();
  }
  // From now on learners send an update for every model that they get.
  void Answering() {
    ears->answer = [this](LearnerId to, const Action& action) {
      if (const auto* sent = std::get_if<federation::SendCommunity>(&action)) Update(to, *sent);
    };
  }

  LearnerId IdOf(const std::string& name) {
    std::promise<LearnerId> id;
    host->Identify(name, [&](LearnerId found) { id.set_value(found); });
    return id.get_future().get();
  }
  void Join(const std::string& name, LearnerId id, federation::Role role = {}) {
    federation::LearnerJoined event;
    event.learner = id;
    event.incarnation = kFirstLife;
    event.role = role;
    event.name = name;
    event.training_examples = federation::TrainingExamples(id.value());
    event.validation_counts = ValidationCounts(id.value());
    event.schema_hash = models_.schema()->hash();
    Send(id, event);
  }
  void Send(LearnerId from, std::optional<Event> event) {
    host->Receive({from, kFirstLife, std::move(event)});
  }
  void Update(LearnerId from, const federation::SendCommunity& sent) {
    federation::UpdateReceived update;
    update.id = {from, kFirstLife, sent.answers.Next()};
    update.base = sent.version;
    update.steps = 10 + from.value();
    update.model = models_.From(static_cast<float>(from.value()) + 0.5f);
    update.own_counts = CountsOf(ValidationCounts(from.value()), 1);
    update.cycle.cycle = update.id.sequence.value();
    Send(from, update);
  }
  template <typename Look>
  auto Ask(Look look) {
    decltype(look(std::declval<const federation::Controller&>())) answer{};
    host->Inspect(
        [&](const federation::Controller& controller, Instant) { answer = look(controller); });
    return answer;
  }
  bool WaitFor(const std::function<bool(const federation::Controller&)>& condition) {
    const auto until = std::chrono::steady_clock::now() + kBound;
    while (!Ask(condition)) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  uint64_t StateHash() {
    return Ask([](const federation::Controller& controller) { return controller.StateHash(); });
  }
  bool WaitFinished() {
    auto over = std::make_shared<std::promise<void>>();
    std::future<void> done = over->get_future();
    host->OnFinished([over] { over->set_value(); });
    return done.wait_for(kBound) == std::future_status::ready;
  }

  RefusingLog log;
  std::unique_ptr<Ears> ears;  // outlives the host
  std::unique_ptr<ControllerHost> host;

 private:
  Settings settings_;
  federation::Models models_;
  ModelPtr initial_;
};

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
  EXPECT_EQ(done.wait_for(kBound), std::future_status::ready);
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
  federation.Start();
  federation.Join("north", federation.IdOf("north"));
  ASSERT_TRUE(federation.ears->WaitSaid("has joined"));
  federation.log.refuse = true;
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
  ASSERT_TRUE(federation.ears->WaitSent<federation::AcceptJoin>(north));
  federation.log.refuse = true;  // the timer of the duration is refused, and tried again
  ASSERT_TRUE(federation.ears->WaitSaid("dropped (timer)"));
  federation.log.refuse = false;
  EXPECT_TRUE(federation.WaitFinished());
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
  EXPECT_EQ(done.wait_for(kBound), std::future_status::ready);
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
