// What the federation's tests share: small models, unequal learners, and a Harness that plays the
// driver of one Controller. For tests only; one thread owns each of these.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/text.h"
#include "metis/federation/controller.h"
#include "metis/policy/policy.h"

namespace metis::federation {

inline constexpr Incarnation kFirstLife{1};
inline constexpr Incarnation kSecondLife{2};

// A schema of two tensors and the pool of its models.
class Models {
 public:
  explicit Models(size_t parameters = 5)
      : schema_(*ModelSchema::Create({{"bias", {2}}, {"weight", {parameters - 2}}})),
        pool_(schema_) {}

  const SchemaPtr& schema() const { return schema_; }
  ModelPool& pool() { return pool_; }
  ModelPtr Of(const std::vector<float>& values) { return pool_.Copy(values); }
  // value, value + 0.25, value + 0.5, ...
  ModelPtr From(float value) {
    ModelDraft draft = pool_.Draft();
    for (float& parameter : draft.parameters()) parameter = std::exchange(value, value + 0.25f);
    return std::move(draft).Seal();
  }
  ModelPtr Filled(float value) { return Of(std::vector<float>(schema_->parameters(), value)); }

 private:
  SchemaPtr schema_;
  ModelPool pool_;
};

inline std::vector<float> Values(const ModelPtr& model) {
  return {model->parameters().begin(), model->parameters().end()};
}

// A store that can be told to fail.
class FlakyStore final : public ModelStore {
 public:
  Result<void> Put(LearnerId learner, ModelPtr model) override {
    if (puts_until_failure_ == 0) return Unavailable("the disk is full");
    if (puts_until_failure_ > 0) --puts_until_failure_;
    return store_.Put(learner, std::move(model));
  }
  Result<ModelPtr> Get(LearnerId learner) const override {
    if (get_fails) return Unavailable("the disk is gone");
    return store_.Get(learner);
  }
  Result<StoredModel> Refer(LearnerId learner) const override { return store_.Refer(learner); }
  void Erase(LearnerId learner) override { store_.Erase(learner); }

  // From the put after `n` more on they fail, until it is healed.
  void FailAfter(int n) { puts_until_failure_ = n; }
  void Heal() { puts_until_failure_ = -1; }
  bool get_fails = false;

 private:
  MemoryModelStore store_;
  int puts_until_failure_ = -1;
};

// Unequal on purpose: equal sizes hide bugs.
inline uint64_t TrainingExamples(uint32_t learner) { return 30 + 17 * uint64_t{learner}; }
inline std::vector<uint64_t> ValidationCounts(uint32_t learner) {
  return {3 + uint64_t{learner}, 2 + 2 * uint64_t{learner}};
}
inline uint64_t ValidationExamples(uint32_t learner) {
  return ValidationCounts(learner)[0] + ValidationCounts(learner)[1];
}

// Counts over two classes with the declared row sums, of which `right` are on the diagonal.
inline ConfusionCounts CountsOf(const std::vector<uint64_t>& declared, uint64_t right) {
  ConfusionCounts counts(static_cast<uint32_t>(declared.size()));
  for (uint32_t actual = 0; actual < counts.classes(); ++actual) {
    uint64_t hits = std::min(right, declared[actual]);
    right -= hits;
    counts.Count(actual, actual, hits);
    counts.Count(actual, (actual + 1) % counts.classes(), declared[actual] - hits);
  }
  return counts;
}

// Throws, which fails the test, if there are none or several.
template <typename T>
T OnlyOne(const std::vector<T>& found) {
  if (found.size() == 1) return found.front();
  throw std::runtime_error(Text(found.size(), " actions where one was expected"));
}

inline Settings SettingsFor(std::string_view policy, uint32_t learners) {
  Settings settings;
  settings.policy = *policy::PolicyNamed(policy);
  settings.membership.learners = learners;
  settings.membership.max_learners = 20;
  return settings;
}

// Everything about an action that a receiver could see, as a line of text.
std::string Describe(const Action& action);

// Drives one Controller: keeps the time, remembers what was sent to whom and every event, and sorts
// the actions of the latest one by type.
class Harness {
 public:
  explicit Harness(Settings settings, ModelStore* store = nullptr)
      : settings_(std::move(settings)), store_(store != nullptr ? store : &memory_store_) {
    initial_ = models_.From(-1);
    controller_ = std::make_unique<Controller>(settings_, initial_, models_.pool(), *store_);
  }

  Controller& controller() { return *controller_; }
  Models& models() { return models_; }
  const ModelPtr& initial() const { return initial_; }
  const Settings& settings() const { return settings_; }
  Instant now() const { return now_; }
  void After(Duration duration) { now_ = now_ + duration; }

  // --- Events
  // -------------------------------------------------------------------------------------------
  void Send(const Event& event) {
    out_.clear();
    controller_->Handle(now_, event, out_);
    history_.emplace_back(now_, event);
    for (const Action& action : out_) {
      if (const auto* sent = std::get_if<SendCommunity>(&action)) latest_[sent->learner] = *sent;
      if (const auto* timer = std::get_if<StartTimer>(&action)) timers_[timer->timer] = timer->due;
    }
  }

  LearnerJoined Joining(uint32_t learner, Incarnation life = kFirstLife) const {
    LearnerJoined event;
    event.learner = LearnerId(learner);
    event.incarnation = life;
    event.name = Text("learner-", learner);
    event.training_examples = TrainingExamples(learner);
    event.validation_counts = ValidationCounts(learner);
    event.schema_hash = models_.schema()->hash();
    return event;
  }
  void Join(uint32_t learner, Incarnation life = kFirstLife) { Send(Joining(learner, life)); }
  void JoinAll() {
    for (uint32_t k = 0; k < settings_.membership.learners; ++k) Join(k);
  }
  void JoinObserver(uint32_t observer, Incarnation life = kFirstLife) {
    LearnerJoined event = Joining(observer, life);
    event.role = Role::kObserver;
    event.training_examples = 0;
    event.validation_counts = {60, 40};
    Send(event);
  }
  void Lose(uint32_t learner) { Send(LearnerLost{LearnerId(learner), Life(learner)}); }
  void Return(uint32_t learner) { Send(LearnerReturned{LearnerId(learner), Life(learner)}); }
  void Leave(uint32_t learner) { Send(LearnerLeft{LearnerId(learner), Life(learner)}); }
  void Ask(uint32_t learner, uint64_t last_sent) {
    Send(CommunityRequested{LearnerId(learner), Life(learner), Sequence(last_sent)});
  }
  void Command(OperatorCommand::Kind kind, uint32_t learner = 0) {
    Send(OperatorCommand{kind, LearnerId(learner)});
  }

  UpdateId IdOf(uint32_t learner, uint64_t sequence) {
    return {LearnerId(learner), Life(learner), Sequence(sequence)};
  }
  // Trained from what the learner was last sent.
  UpdateReceived Updating(uint32_t learner, uint64_t sequence, float value, uint64_t steps = 10) {
    UpdateReceived event;
    event.id = IdOf(learner, sequence);
    event.base = Base(learner);
    event.steps = steps;
    event.model = models_.From(value);
    event.own_counts = CountsOf(ValidationCounts(learner), 1);
    event.cycle.cycle = sequence;
    return event;
  }
  void Update(uint32_t learner, uint64_t sequence, float value, uint64_t steps = 10) {
    Send(Updating(learner, sequence, value, steps));
  }
  void Answer(uint32_t evaluator, const UpdateId& update, uint64_t right) {
    Send(CountsReceived{LearnerId(evaluator), Life(evaluator), update,
                        CountsOf(ValidationCounts(evaluator), right)});
  }
  void Test(uint32_t observer, uint64_t version, uint64_t right) {
    Send(CommunityTested{.observer = LearnerId(observer),
                         .incarnation = Life(observer),
                         .version = Version(version),
                         .counts = CountsOf({60, 40}, right)});
  }
  // At the time it is due, which must have been started.
  void Fire(TimerId::Kind kind, uint64_t subject = 0) {
    TimerId timer{kind, subject};
    ASSERT_TRUE(timers_.contains(timer));
    now_ = std::max(now_, timers_[timer]);
    Send(TimerFired{timer});
  }

  // --- What the latest event caused
  // ---------------------------------------------------------------------
  const std::vector<Action>& actions() const { return out_; }
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const Action& action : out_) {
      if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
    }
    return found;
  }
  template <typename T>
  size_t Count() const {
    return All<T>().size();
  }
  // The only one of its type; throws, which fails the test, if there are none or several.
  template <typename T>
  T One() const {
    return OnlyOne(All<T>());
  }
  std::vector<uint32_t> Receivers() const {
    std::vector<uint32_t> learners;
    for (const SendCommunity& sent : All<SendCommunity>()) learners.push_back(sent.learner.value());
    return learners;
  }

  Version Base(uint32_t learner) const {
    auto found = latest_.find(LearnerId(learner));
    return found == latest_.end() ? Version(0) : found->second.version;
  }
  const std::vector<std::pair<Instant, Event>>& history() const { return history_; }

 private:
  Incarnation Life(uint32_t learner) const {
    const Member* member = std::as_const(*controller_).membership().Find(LearnerId(learner));
    return member != nullptr ? member->incarnation() : kFirstLife;
  }

  Settings settings_;
  Models models_;
  MemoryModelStore memory_store_;
  ModelStore* store_;
  ModelPtr initial_;
  std::unique_ptr<Controller> controller_;
  Instant now_ = Instant::FromNanoseconds(1'000'000'000);
  std::vector<Action> out_;
  std::map<LearnerId, SendCommunity> latest_;
  std::map<TimerId, Instant> timers_;
  std::vector<std::pair<Instant, Event>> history_;
};

// Every alternative of Action has its Line().
namespace describe {
inline std::string Line(const UpdateId& id) {
  return Text(id.learner, "/", id.incarnation, "/", id.sequence);
}
inline std::string Line(const CycleRecord& cycle) {
  std::string line =
      Text(" cycle ", cycle.cycle, " epochs ", cycle.epochs, " failures ", cycle.failures,
           " reason ", static_cast<int>(cycle.reason), " S", cycle.staleness);
  for (const double loss : cycle.losses) line += Text(" ", loss);
  return line;
}
inline std::string Line(const ModelPtr& model) { return Text(model->Fingerprint()); }
inline std::string Line(const AcceptJoin& a) { return Text(a.learner, " ", a.incarnation); }
inline std::string Line(const RefuseJoin& a) {
  return Text(a.learner, " ", a.incarnation, " ", a.message);
}
inline std::string Line(const SendCommunity& a) {
  return Text(a.learner, " ", a.incarnation, " v", a.version, " ", Line(a.model), " S",
              a.committed_steps, " answers ", a.answers, " restart ", a.restart);
}
inline std::string Line(const AcknowledgeUpdate& a) { return Line(a.id); }
inline std::string Line(const RejectUpdate& a) {
  return Text(Line(a.id), " ", static_cast<int>(a.reason), " ", a.message);
}
inline std::string Line(const RequestEvaluation& a) {
  return Text(a.evaluator, " ", a.incarnation, " ", Line(a.update), " ", Line(a.model));
}
inline std::string Line(const CancelEvaluation& a) {
  return Text(a.evaluator, " ", a.incarnation, " ", Line(a.update));
}
inline std::string Line(const RequestTest& a) {
  return Text(a.observer, " ", a.incarnation, " v", a.version, " ", Line(a.model));
}
inline std::string Line(const ReportSteps& a) {
  return Text(a.learner, " ", a.incarnation, " S", a.committed_steps);
}
inline std::string Line(const Dismiss& a) {
  return Text(a.learner, " ", a.incarnation, " ", a.reason);
}
inline std::string Line(const StartTimer& a) {
  return Text(static_cast<int>(a.timer.kind), " ", a.timer.subject, " due ", a.due.nanoseconds());
}
inline std::string Line(const CommunityCommitted& a) {
  std::string line =
      Text("v", a.version, " P", a.total_contribution, " S", a.committed_steps, " ", Line(a.model));
  if (a.withdrawn) line += Text(" withdrawn ", *a.withdrawn);
  for (const CommittedUpdate& update : a.updates) {
    line += Text(" [", Line(update.id), " p", update.contribution, " cover ", update.coverage, " ",
                 update.kept_previous, " S", update.staleness, " V", update.version_staleness,
                 " steps ", update.steps, Line(update.cycle), "]");
  }
  return line;
}
inline std::string Line(const RefuseCounts& a) {
  return Text(a.evaluator, " ", Line(a.update), " ", a.message);
}
inline std::string Line(const StateChanged& a) {
  return Text(static_cast<int>(a.phase), " ", a.reason);
}
inline std::string Line(const Finished& a) {
  return Text(static_cast<int>(a.reason), " v", a.version);
}
}  // namespace describe

inline std::string Describe(const Action& action) {
  return Text(action.index(), ": ",
              std::visit([](const auto& each) { return describe::Line(each); }, action));
}

inline std::vector<std::string> DescribeAll(const std::vector<Action>& actions) {
  std::vector<std::string> lines;
  for (const Action& action : actions) lines.push_back(Describe(action));
  return lines;
}

// The whole state of a community as bytes: equal states have equal bytes.
inline std::string StateBytes(const Community& community) {
  BinaryWriter writer(BinaryWriter::Mode::kHash);
  community.Save(writer);
  return writer.archived().bytes;
}

}  // namespace metis::federation
