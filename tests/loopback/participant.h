// A participant's client with a fake controller, and what either of them heard. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "metis/rpc/participant_client.h"
#include "tests/loopback/fake_controller.h"

namespace metis::rpc {

inline constexpr LearnerId kSelf(3);
inline constexpr Incarnation kLife(5);
// Three chunks and a part of a fourth.
inline constexpr size_t kParameters = 3 * wire::kChunkBytes / sizeof(float) + 1237;

inline SchemaPtr TestSchema() { return ModelSchema::Create({{"w", {kParameters}}}).value(); }

// Keeps the controller's messages.
class Inbox final : public drivers::ParticipantInbox {
 public:
  void Receive(federation::Action message) override {
    std::scoped_lock lock(mutex_);
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  // All messages so far, once there are n of them.
  std::vector<federation::Action> Await(size_t n) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return messages_.size() >= n; }))
        << messages_.size() << " of " << n;
    return messages_;
  }
  template <typename T>
  T Nth(size_t n) {
    const std::vector<federation::Action> all = Await(n);
    const T* found = n <= all.size() ? std::get_if<T>(&all[n - 1]) : nullptr;
    EXPECT_NE(found, nullptr) << "message " << n << " is another one";
    return found != nullptr ? *found : T{};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<federation::Action> messages_;
};

// A client, a controller that does as it is told, and what either of them heard.
class ParticipantClientTest : public testing::Test {
 protected:
  ParticipantClientOptions Options() {
    ParticipantClientOptions options;
    options.controller = {"127.0.0.1", controller_.port()};
    options.name = "site-3";
    options.incarnation = kLife;
    options.program = "metis test";
    options.heartbeat = Duration::Milliseconds(500);
    options.first_pause = Duration::Milliseconds(20);
    options.longest_pause = Duration::Milliseconds(200);
    options.say = [this](const std::string& text) {
      std::scoped_lock lock(mutex_);
      said_ += text + "\n";
    };
    return options;
  }
  void Connect() {
    controller_.Start();
    Dial(Options());
  }
  void Dial(ParticipantClientOptions options) {
    Result<std::unique_ptr<ParticipantClient>> client =
        ParticipantClient::Connect(std::move(options), {});
    ASSERT_TRUE(client) << client.error().message;
    client_ = *std::move(client);
    client_->Attach(inbox_, pool_, [this](const Error& error) {
      gone_.push_back(error.message);
      inbox_.Receive(federation::Dismiss{kSelf, kLife, "gone"});
    });
  }
  std::string ConnectError(ParticipantClientOptions options) {
    Result<std::unique_ptr<ParticipantClient>> client =
        ParticipantClient::Connect(std::move(options), {});
    return client ? "none" : client.error().message;
  }

  ModelPtr Of(float value) {
    ModelDraft draft = pool_.Draft();
    for (size_t i = 0; i < kParameters; ++i) {
      draft.parameters()[i] = value + static_cast<float>(i % 1009);
    }
    return std::move(draft).Seal();
  }
  federation::UpdateReceived Update(uint64_t sequence, float value) {
    federation::UpdateReceived update;
    update.id = {kSelf, kLife, Sequence(sequence)};
    update.base = Version(sequence + 1);
    update.steps = 70 + sequence;
    update.model = Of(value);
    return update;
  }
  federation::SendCommunity Community(uint64_t version, float value) {
    return {kSelf, kLife, Version(version), Of(value), version * 10, Sequence(1), false};
  }
  federation::RequestEvaluation Evaluation(uint32_t from, float value) {
    return {kSelf, kLife, {LearnerId(from), Incarnation(2), Sequence(9)}, Of(value)};
  }
  size_t Heard(v1::FromParticipant::ContentCase kind) const {
    return static_cast<size_t>(
        std::count_if(controller_.heard.begin(), controller_.heard.end(),
                      [kind](const auto& message) { return message.content_case() == kind; }));
  }
  std::string said() {
    std::scoped_lock lock(mutex_);
    return said_;
  }

  std::mutex mutex_;
  std::string said_;
  std::vector<std::string> gone_;
  ModelPool pool_{TestSchema()};
  Inbox inbox_;
  FakeController controller_{pool_};
  std::unique_ptr<ParticipantClient> client_;
};

}  // namespace metis::rpc
