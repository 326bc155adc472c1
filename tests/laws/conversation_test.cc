// The law of the conversation: whatever messages are lost, repeated or overtaken, whichever
// learners crash and whenever the controller restarts, no acknowledged update is lost or applied
// twice, versions and the ledger add up, and once the faults end every learner is served again.
// Controller and learner sessions are the real ones; the network between them, and time, are played
// here from a seed.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <vector>

#include "metis/core/random.h"
#include "metis/federation/learner_session.h"
#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::federation {
namespace {

constexpr uint32_t kLearners = 5;
constexpr Duration kFaulty = Duration::Seconds(300);
constexpr Duration kHealthy =
    Duration::Seconds(500);  // several times the longest pause between retries

// What must hold of every controller's actions, kept by hand.
class Bookkeeper {
 public:
  explicit Bookkeeper(bool in_arrival_order) : in_arrival_order_(in_arrival_order) {}

  void See(const Action& action) {
    if (const auto* acknowledged = std::get_if<AcknowledgeUpdate>(&action)) {
      arrival_.emplace(acknowledged->id, arrival_.size());
    } else if (const auto* rejected = std::get_if<RejectUpdate>(&action)) {
      // These two say nothing about the update itself.
      if (rejected->reason == RejectReason::kUnknownLearner) return;
      if (rejected->reason == RejectReason::kStaleIncarnation) return;
      EXPECT_FALSE(committed_.contains(rejected->id)) << "refused after its commit";
      rejected_.insert(rejected->id);
    } else if (const auto* note = std::get_if<CommunityCommitted>(&action)) {
      See(*note);
    }
  }

  void ExpectNothingLost(const std::vector<UpdateId>& pending) const {
    std::set<UpdateId> open(pending.begin(), pending.end());
    for (const auto& [id, place] : arrival_) {
      EXPECT_EQ(committed_.count(id) + rejected_.count(id) + open.count(id), 1u)
          << "update " << describe::Line(id) << " has no verdict, or more than one";
    }
  }
  uint64_t committed_steps() const { return steps_at_.back(); }
  size_t commits_of(uint32_t learner) const {
    auto found = commits_.find(LearnerId(learner));
    return found == commits_.end() ? 0 : found->second;
  }

 private:
  void See(const CommunityCommitted& note) {
    EXPECT_EQ(note.version.value(), steps_at_.size()) << "versions are not dense";
    uint64_t before = steps_at_.back(), steps = 0;
    for (const CommittedUpdate& update : note.updates) {
      EXPECT_TRUE(arrival_.contains(update.id)) << "committed without being acknowledged";
      EXPECT_TRUE(committed_.insert(update.id).second) << "committed twice";
      EXPECT_FALSE(rejected_.contains(update.id)) << "committed after its refusal";
      uint64_t base = steps_at_.size() - 1 - update.version_staleness;
      EXPECT_EQ(update.staleness, before - steps_at_.at(base) + update.steps);
      if (in_arrival_order_) {
        EXPECT_GE(arrival_[update.id], next_arrival_) << "committed out of order";
        next_arrival_ = arrival_[update.id] + 1;
      }
      steps += update.steps;
      ++commits_[update.id.learner];
    }
    EXPECT_EQ(note.committed_steps, before + steps);
    steps_at_.push_back(before + steps);
  }

  bool in_arrival_order_;
  std::map<UpdateId, size_t> arrival_;
  size_t next_arrival_ = 0;
  std::set<UpdateId> committed_;
  std::set<UpdateId> rejected_;
  std::map<LearnerId, size_t> commits_;
  std::vector<uint64_t> steps_at_ = {0};  // S_c of every version
};

class World {
 public:
  World(const Settings& settings, uint64_t seed)
      : settings_(settings), random_({.seed = seed}), books_(!settings.policy.protocol->rounds) {
    StartController();
    for (uint32_t k = 0; k < kLearners; ++k) Born(k);
    for (uint32_t k = 0; k < kLearners; ++k) Trouble(k);
    Restarts();
  }

  void RunUntil(Duration time) {
    Instant end = Instant() + time;
    while (!queue_.empty() && queue_.begin()->first.first <= end) {
      auto next = queue_.extract(queue_.begin());
      now_ = next.key().first;
      next.mapped()();
    }
    now_ = end;
  }
  void Heal() { faulty_ = false; }

  const Bookkeeper& books() const { return books_; }
  const Controller& controller() const { return *controller_; }

 private:
  using Job = std::function<void()>;
  struct Node {
    Incarnation life{0};
    std::unique_ptr<LearnerSession> session;
    uint64_t retry = 0;  // only the latest one counts
  };

  void In(Duration delay, Job job) { queue_[{now_ + delay, next_job_++}] = std::move(job); }
  Duration About(double seconds) { return Duration::FromSeconds(random_.Exponential(seconds)); }

  // A message: lost, repeated or overtaken while there are faults.
  void Travel(const Job& job) {
    if (faulty_ && random_.Chance(0.12)) return;
    if (faulty_ && random_.Chance(0.08)) In(About(3), job);
    In(About(faulty_ ? 0.3 : 0.01), job);
  }

  // --- The controller's side
  // ----------------------------------------------------------------------------
  void StartController() {
    auto store = std::make_unique<MemoryModelStore>();
    auto controller = std::make_unique<Controller>(settings_, initial_, models_.pool(), *store);
    if (controller_) {
      ASSERT_TRUE(controller->Restore(controller_->Snapshot()).ok());
      ASSERT_EQ(controller->StateHash(), controller_->StateHash());
    }
    controller_ = std::move(controller);
    store_ = std::move(store);
  }
  // A restart forgets what was on its way; what was promised is issued again.
  void Restarts() {
    In(About(40), [this] {
      if (!faulty_) return;
      StartController();
      std::vector<Action> out;
      controller_->Resume(out);
      for (const Action& action : out) Carry(action);
      Restarts();
    });
  }

  void Feed(const Event& event) {
    std::vector<Action> out;
    controller_->Handle(now_, event, out);
    for (const Action& action : out) {
      books_.See(action);
      Carry(action);
    }
    EXPECT_EQ(controller_->ledger().committed_steps(), books_.committed_steps());
    EXPECT_EQ(Values(controller_->community()), Values(*controller_->aggregator().Recompute()));
  }

  void Carry(const Action& action) {
    std::visit([this](const auto& each) { CarryOut(each); }, action);
  }
  template <typename T>
  void CarryOut(const T& message) {
    if constexpr (requires { message.id.learner; }) {
      Deliver(message.id.learner, message);
    } else if constexpr (requires(LearnerSession & s) { s.Handle(now_, message, out_); }) {
      Deliver(message.learner, message);
    }
  }
  void CarryOut(const StartTimer& start) {
    Duration wait = std::max(Duration(), start.due - now_);
    In(wait, [this, timer = start.timer] { Feed(TimerFired{timer}); });
  }
  void CarryOut(const RequestEvaluation& request) {
    Travel([this, request] {
      if (!nodes_[request.evaluator.value()].session) return;
      Event answer = EvaluationFailed{request.evaluator, request.incarnation, request.update};
      if (!random_.Chance(0.1)) {
        std::vector<uint64_t> declared = ValidationCounts(request.evaluator.value());
        answer = CountsReceived{request.evaluator, request.incarnation, request.update,
                                CountsOf(declared, random_.Below(declared[0] + 1))};
      }
      In(About(0.5), [this, answer] { Travel([this, answer] { Feed(answer); }); });
    });
  }
  // To whichever life is there when it arrives.
  template <typename T>
  void Deliver(LearnerId learner, const T& message) {
    Travel([this, learner, message] {
      Node& node = nodes_[learner.value()];
      if (!node.session) return;
      out_.clear();
      node.session->Handle(now_, message, out_);
      Perform(learner.value());
    });
  }

  // --- The learners' side
  // -------------------------------------------------------------------------------
  void Born(uint32_t k) {
    Node& node = nodes_[k];
    node.life = node.life.Next();
    LearnerJoined declared;
    declared.learner = LearnerId(k);
    declared.incarnation = node.life;
    // A new life may come back with another training set.
    declared.training_examples = TrainingExamples(k) * (1 + random_.Below(40));
    declared.validation_counts = ValidationCounts(k);
    declared.schema_hash = models_.schema()->hash();
    node.session = std::make_unique<LearnerSession>(settings_, declared, random_.Next());
    out_.clear();
    node.session->Start(now_, out_);
    Perform(k);
  }
  // Crashes and false suspicions.
  void Trouble(uint32_t k) {
    In(About(25), [this, k] {
      if (!faulty_) return;
      Incarnation life = nodes_[k].life;
      if (random_.Chance(0.5) && nodes_[k].session) {
        nodes_[k].session.reset();
        In(About(8), [this, k] { Born(k); });
      }
      In(About(4), [this, k, life] { Feed(LearnerLost{LearnerId(k), life}); });
      Trouble(k);
    });
  }

  // The job is dropped if the life that wanted it is over by then.
  void For(uint32_t k, Duration delay, std::function<void(LearnerSession&)> job) {
    In(delay, [this, k, life = nodes_[k].life, job = std::move(job)] {
      if (nodes_[k].life != life || !nodes_[k].session) return;
      out_.clear();
      job(*nodes_[k].session);
      Perform(k);
    });
  }

  void Perform(uint32_t k) {
    std::vector<SessionAction> actions = std::move(out_);
    for (const SessionAction& action : actions) {
      std::visit([this, k](const auto& each) { Do(k, each); }, action);
    }
  }
  void Do(uint32_t, const SendToController& send) {
    Event event = std::visit([](const auto& message) -> Event { return message; }, send.message);
    Travel([this, event] { Feed(event); });
  }
  void Do(uint32_t k, const LoadModel& load) {
    For(k, About(0.1), [this, cycle = load.cycle](LearnerSession& session) {
      session.ModelLoaded(now_, cycle, random_.Uniform(1, 2), out_);
    });
  }
  void Do(uint32_t k, const TrainEpoch& train) {
    For(k, About(k + 1), [this, train](LearnerSession& session) {
      session.EpochTrained(now_, train.cycle, train.epoch, 5 + random_.Below(10),
                           random_.Uniform(0.5, 2), out_);
    });
  }
  void Do(uint32_t k, const TakeModel& take) {
    For(k, Duration(), [this, k, take](LearnerSession& session) {
      float value = static_cast<float>(random_.Uniform(-5, 5));
      if (faulty_ && random_.Chance(0.05)) value = std::numeric_limits<float>::quiet_NaN();
      std::vector<uint64_t> declared = ValidationCounts(k);
      session.ModelTaken(now_, take.cycle, models_.From(value),
                         CountsOf(declared, random_.Below(declared[0] + 1)), out_);
    });
  }
  void Do(uint32_t k, const StartRetry& start) {
    uint64_t retry = ++nodes_[k].retry;
    For(k, start.due - now_, [this, k, retry](LearnerSession& session) {
      if (nodes_[k].retry == retry) session.RetryDue(now_, out_);
    });
  }
  void Do(uint32_t k, const Ended& ended) {
    ADD_FAILURE() << "learner " << k << " was sent away: " << ended.reason;
  }

  Settings settings_;
  Random random_;
  Models models_;
  ModelPtr initial_ = models_.From(0);
  std::unique_ptr<MemoryModelStore> store_;
  std::unique_ptr<Controller> controller_;
  Bookkeeper books_;
  std::map<uint32_t, Node> nodes_;
  std::map<std::pair<Instant, uint64_t>, Job> queue_;
  uint64_t next_job_ = 0;
  Instant now_;
  bool faulty_ = true;
  LearnerSession::Out out_;
};

struct Case {
  std::string_view policy;
  const char* late = "refuse";
  bool round_deadline = false;
  LeaseEnd lease_end = LeaseEnd::kKeep;
  std::string_view name;

  friend std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }
};

class ConversationTest : public testing::TestWithParam<Case> {};

TEST_P(ConversationTest, SurvivesFaultsAndServesEverybodyOnceTheyEnd) {
  Settings settings = SettingsFor(GetParam().policy, kLearners);
  settings.membership.quorum = 2;
  settings.membership.lease = Duration::Seconds(20);
  settings.membership.lease_end = GetParam().lease_end;
  policy::Set(settings, "validation.deadline", Duration::Seconds(15));
  policy::Set(settings, "sync.late_updates", GetParam().late);
  if (GetParam().round_deadline)
    policy::Set(settings, "sync.round_deadline", Duration::Seconds(12));
  policy::Set(settings, "trigger.local_epochs", 2);
  policy::Set(settings, "trigger.staleness_window", 5);
  settings.retry = Duration::Seconds(2);
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(Text("seed ", seed));
    World world(settings, seed);
    world.RunUntil(kFaulty);
    world.Heal();
    world.RunUntil(kFaulty + Duration::Seconds(200));
    std::vector<size_t> before;
    for (uint32_t k = 0; k < kLearners; ++k) before.push_back(world.books().commits_of(k));
    world.RunUntil(kFaulty + kHealthy);
    world.books().ExpectNothingLost(world.controller().Pending());
    EXPECT_EQ(world.controller().phase(), Phase::kRunning);
    for (uint32_t k = 0; k < kLearners; ++k) {
      EXPECT_GT(world.books().commits_of(k), before[k] + 1) << "learner " << k << " is not served";
    }
    if (testing::Test::HasFailure()) break;
  }
}

constexpr Case kCases[] = {
    {"sync-fedavg", "refuse", false, LeaseEnd::kKeep, "SyncFedAvg"},
    {"sync-fedavg", "refuse", true, LeaseEnd::kWithdraw, "SyncFedAvgDeadline"},
    {"sync-fedavg", "keep", true, LeaseEnd::kKeep, "SyncFedAvgLateKept"},
    {"sync-dvw", "keep", false, LeaseEnd::kWithdraw, "SyncDvw"},
    {"async-fedavg", "refuse", false, LeaseEnd::kWithdraw, "AsyncFedAvg"},
    {"fedasync", "refuse", false, LeaseEnd::kKeep, "FedAsync"},
    {"async-dvw", "refuse", false, LeaseEnd::kWithdraw, "AsyncDvw"},
    {"async-dvw-adaptive", "refuse", false, LeaseEnd::kKeep, "AsyncDvwAdaptive"},
};
INSTANTIATE_TEST_SUITE_P(Law, ConversationTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace metis::federation
