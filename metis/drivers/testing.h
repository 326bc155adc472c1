// What tests of drivers share: histories of whole federations, a log that refuses, a host with
// learners that answer at once; for participants a transport that keeps what is sent, a trainer and
// an evaluator whose every step can be held back. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "metis/core/text.h"
#include "metis/drivers/event_log.h"
#include "metis/drivers/processes.h"
#include "metis/drivers/transport.h"
#include "metis/federation/testing.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/trainer.h"

namespace metis::drivers {

// A bound for things that must happen; machines are slow at times.
inline constexpr std::chrono::seconds kPatience{60};

inline SchemaPtr SmallSchema() { return ModelSchema::Create({{"w", {3}}}).value(); }

// Keeps the participant's messages.
class FakeTransport final : public ParticipantTransport {
 public:
  void Send(federation::Event event) override {
    std::scoped_lock lock(mutex_);
    sent_.push_back(std::move(event));
    changed_.notify_all();
  }
  // The n-th message of that kind, from 1; waits for it.
  template <typename T>
  T Next(size_t n = 1) {
    std::unique_lock lock(mutex_);
    std::optional<T> found;
    const auto look = [&] {
      size_t seen = 0;
      for (const federation::Event& event : sent_) {
        const T* message = std::get_if<T>(&event);
        if (message == nullptr || ++seen < n) continue;
        found = *message;
        return true;
      }
      return false;
    };
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, look)) << "message " << n << " did not come";
    return found.value_or(T{});
  }
  template <typename T>
  size_t Count() {
    std::scoped_lock lock(mutex_);
    size_t seen = 0;
    for (const federation::Event& event : sent_) seen += std::holds_alternative<T>(event) ? 1 : 0;
    return seen;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<federation::Event> sent_;
};

// Open to all until it is closed; then lets through as many as it is told to. Counts who came.
class Gate {
 public:
  void Close() {
    std::scoped_lock lock(mutex_);
    open_ = 0;
  }
  void Open(size_t more) {
    std::scoped_lock lock(mutex_);
    open_ += more;
    changed_.notify_all();
  }
  // False if it was stopped before it got through.
  bool Pass(std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    if (!changed_.wait(lock, stop, [this] { return open_ > 0; })) return false;
    --open_;
    return true;
  }
  void AwaitArrivals(size_t n) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return came_ >= n; })) << n;
  }
  size_t came() {
    std::scoped_lock lock(mutex_);
    return came_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  size_t open_ = 1'000'000;
  size_t came_ = 0;
};

// An epoch adds 1 to every parameter.
class FakeTrainer final : public learner::Trainer {
 public:
  FakeTrainer(ModelPool& pool, Gate& epochs) : pool_(pool), epochs_(epochs) {}

  Result<void> Load(const ModelPtr& community) override {
    if (community->parameters()[0] < 0) return Invalid("a model that can't be loaded");
    parameters_.assign(community->parameters().begin(), community->parameters().end());
    return {};
  }
  Result<learner::EpochReport> TrainEpoch(learner::EpochKey, std::stop_token stop) override {
    if (!epochs_.Pass(stop)) return Unavailable("stopped");
    for (float& each : parameters_) each += 1;
    if (parameters_[0] > 1000) return Invalid("diverged");
    return learner::EpochReport{.steps = 7, .examples = 70, .training_loss = 0.5};
  }
  Result<ModelPtr> Snapshot() override { return pool_.Copy(parameters_); }
  Result<learner::TrainingStatePtr> Save() override {
    auto state = std::make_shared<learner::TrainingState>();
    state->bytes.assign(reinterpret_cast<const char*>(parameters_.data()),
                        parameters_.size() * sizeof(float));
    return learner::TrainingStatePtr(std::move(state));
  }
  Result<void> Restore(const learner::TrainingState& state) override {
    parameters_.resize(state.bytes.size() / sizeof(float));
    std::memcpy(parameters_.data(), state.bytes.data(), state.bytes.size());
    return {};
  }
  bool keeps_state() const override { return false; }
  uint64_t training_examples() const override { return 70; }
  uint64_t steps_per_epoch() const override { return 7; }

 private:
  ModelPool& pool_;
  Gate& epochs_;
  std::vector<float> parameters_;
};

// Counts as many examples as the first parameter says; its loss is 1 over that.
class FakeEvaluator final : public learner::Evaluator {
 public:
  explicit FakeEvaluator(Gate& gate) : gate_(gate) {}

  Result<learner::Evaluation> Evaluate(const Model& model) override {
    gate_.Pass();
    const float value = model.parameters()[0];
    if (value == 666) return Invalid("can't evaluate that");
    learner::Evaluation evaluation;
    ConfusionCounts counts(2);
    counts.Count(0, 1, static_cast<uint64_t>(value));
    evaluation.counts = std::move(counts);
    evaluation.loss = 1.0 / static_cast<double>(value);
    return evaluation;
  }
  Declared declared() const override { return {5, 6}; }
  uint64_t batches() const override { return 1; }

 private:
  Gate& gate_;
};

// --- Histories

using federation::Harness;
using federation::OperatorCommand;
using federation::TimerId;

// A federation of three unequal learners in which most things happen.
inline void Play(Harness& harness) {
  harness.JoinAll();
  harness.Update(0, 1, 0.5f, 7);
  harness.Answer(1, harness.IdOf(0, 1), 3);
  harness.After(Duration::Seconds(2));
  harness.Update(2, 1, -1.25f, 11);
  harness.Answer(2, harness.IdOf(0, 1), 4);
  harness.Lose(1);
  harness.Answer(0, harness.IdOf(2, 1), 2);
  harness.After(Duration::Seconds(3));
  harness.Update(0, 2, 2.0f, 13);
  harness.Command(OperatorCommand::Kind::kPause);
  harness.Fire(TimerId::Kind::kEvaluation, 3);
  harness.Return(1);
  harness.Command(OperatorCommand::Kind::kResume);
  harness.Join(2, federation::kSecondLife);
  harness.Update(1, 1, 0.75f, 5);
  harness.Command(OperatorCommand::Kind::kWithdraw, 0);
  harness.Leave(2);
}

// The same, then many updates with tests between them, of which some are refused, until an operator
// ends it.
inline void PlayToTheEnd(Harness& harness) {
  constexpr uint32_t kObserver = 9;
  Play(harness);
  harness.JoinObserver(kObserver);
  for (uint64_t sequence = 3; sequence < 15; ++sequence) {
    harness.After(Duration::Seconds(1));
    const float value = static_cast<float>(sequence) / 3 - 2;
    harness.Update(0, sequence, sequence % 5 == 0 ? 1e9f : value, 3 + sequence);
    harness.Answer(1, harness.IdOf(0, sequence), sequence % 7);
    harness.After(Duration::Seconds(1));
    harness.Update(1, sequence, -value, 4 * sequence);
    harness.Answer(0, harness.IdOf(1, sequence), sequence % 4);
    harness.Test(kObserver, harness.controller().version().value(), 50 + 3 * sequence);
  }
  harness.Command(OperatorCommand::Kind::kStop);
  harness.Test(kObserver, harness.controller().version().value(), 97);
}

// A log that can be told to refuse, from any thread.
class RefusingLog final : public EventLog {
 public:
  Result<void> Append(Instant time, const federation::Event& event) override {
    if (refuse) return Unavailable("the disk is full");
    return log_.Append(time, event);
  }
  Result<void> SaveSnapshot(Archived snapshot) override {
    return log_.SaveSnapshot(std::move(snapshot));
  }
  Result<Recovered> Load() const override { return log_.Load(); }
  uint64_t events_before_snapshot() const override { return log_.events_before_snapshot(); }

  std::atomic<bool> refuse = false;

 private:
  MemoryEventLog log_;
};

// What was sent and said; waits until something is true of it.
class Ears final : public ControllerTransport {
 public:
  void Send(LearnerId to, const federation::Action& message) override {
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
    return changed_.wait_for(lock, kPatience, [&] { return Count(part) >= times; });
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
    return changed_.wait_for(lock, kPatience, [&] {
      return std::any_of(sent_.begin(), sent_.end(), [&](const auto& each) {
        return each.first == to && std::holds_alternative<T>(each.second);
      });
    });
  }
  std::string all_said() {
    std::scoped_lock lock(mutex_);
    return Join(said_, "\n");
  }

  std::function<void(LearnerId, const federation::Action&)> answer;  // set before the start

 private:
  size_t Count(const std::string& part) const {
    return static_cast<size_t>(
        std::count_if(said_.begin(), said_.end(),
                      [&](const std::string& text) { return text.find(part) != text.npos; }));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<LearnerId, federation::Action>> sent_;
  std::vector<std::string> said_;
};

// A federation whose learners answer at once, each by what it is sent.
class Federation {
 public:
  explicit Federation(federation::Settings settings) : settings_(std::move(settings)) {
    initial_ = models_.From(-1);
    Open();
  }

  void Open(Recorder* recorder = nullptr, std::unique_ptr<federation::ModelStore> store = nullptr) {
    ears = std::make_unique<Ears>();
    const auto say = [ears = ears.get()](const std::string& text) { ears->Say(text); };
    Result<std::unique_ptr<ControllerProcess>> opened = ControllerProcess::Open(
        {.settings = settings_,
         .initial = initial_,
         .snapshot_every = 7,
         .store = std::move(store),
         .on_failure = [say](const std::string& why) { say("failed: " + why); }},
        models_.pool(), log, recorder, say);
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
    ears->answer = [this](LearnerId to, const federation::Action& action) {
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
    event.incarnation = federation::kFirstLife;
    event.role = role;
    event.name = name;
    event.training_examples = federation::TrainingExamples(id.value());
    event.validation_counts = federation::ValidationCounts(id.value());
    event.schema_hash = models_.schema()->hash();
    Send(id, event);
  }
  void Send(LearnerId from, std::optional<federation::Event> event) {
    host->Receive({from, federation::kFirstLife, std::move(event)});
  }
  void Update(LearnerId from, const federation::SendCommunity& sent) {
    federation::UpdateReceived update;
    update.id = {from, federation::kFirstLife, sent.answers.Next()};
    update.base = sent.version;
    update.steps = 10 + from.value();
    update.model = models_.From(static_cast<float>(from.value()) + 0.5f);
    update.own_counts = federation::CountsOf(federation::ValidationCounts(from.value()), 1);
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
    const auto until = std::chrono::steady_clock::now() + kPatience;
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
    return done.wait_for(kPatience) == std::future_status::ready;
  }

  RefusingLog log;
  std::unique_ptr<Ears> ears;  // outlives the host
  std::unique_ptr<ControllerProcess> host;

 private:
  federation::Settings settings_;
  federation::Models models_;
  ModelPtr initial_;
};

}  // namespace metis::drivers
