// Many learners in one process: each with its client, session and trainer, as a program of its own
// would have them, and epochs slow enough for two cores to hold them all. For tests only.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "metis/core/text.h"
#include "metis/drivers/processes.h"
#include "metis/rpc/participant_client.h"
#include "tests/soak/options.h"

namespace metis::soak {

// Trains, then waits: an epoch takes that long.
class SlowTrainer final : public learner::Trainer {
 public:
  SlowTrainer(std::unique_ptr<learner::Trainer> trainer, double seconds)
      : trainer_(std::move(trainer)), seconds_(seconds) {}

  Result<void> Load(const ModelPtr& community) override { return trainer_->Load(community); }
  Result<learner::EpochReport> TrainEpoch(learner::EpochKey key, std::stop_token stop) override {
    Result<learner::EpochReport> report = trainer_->TrainEpoch(key, stop);
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, std::chrono::duration<double>(seconds_), [] { return false; });
    return report;
  }
  Result<ModelPtr> Snapshot() override { return trainer_->Snapshot(); }
  Result<learner::TrainingStatePtr> Save() override { return trainer_->Save(); }
  Result<void> Restore(const learner::TrainingState& state) override {
    return trainer_->Restore(state);
  }
  bool keeps_state() const override { return trainer_->keeps_state(); }
  uint64_t training_examples() const override { return trainer_->training_examples(); }
  uint64_t steps_per_epoch() const override { return trainer_->steps_per_epoch(); }

 private:
  const std::unique_ptr<learner::Trainer> trainer_;
  const double seconds_;
};

class Learners {
 public:
  // All of them are welcomed when it returns, and begin. Their epochs differ by up to a fifth.
  Learners(const Options& options, uint16_t port) : workload_(MakeWorkload(options)) {
    for (uint32_t k = 0; k < options.learners; ++k) Add(options, port, k);
  }
  ~Learners() {
    for (Site& site : sites_) site.host->Leave();
    for (Site& site : sites_) {
      (void)site.host->Wait();
      site.client->Close(Duration::Seconds(1));
    }
  }

  uint64_t acknowledged() const {
    uint64_t sum = 0;
    for (const Site& site : sites_) sum += site.host->progress().updates_acknowledged;
    return sum;
  }
  uint64_t refused() const {
    uint64_t sum = 0;
    for (const Site& site : sites_) sum += site.host->progress().updates_refused;
    return sum;
  }
  // Learners that have had an update acknowledged.
  uint32_t begun() const {
    uint32_t count = 0;
    for (const Site& site : sites_) {
      count += site.host->progress().updates_acknowledged > 0 ? 1u : 0u;
    }
    return count;
  }
  uint32_t connected() const {
    uint32_t count = 0;
    for (const Site& site : sites_) count += site.client->connected() ? 1u : 0u;
    return count;
  }
  uint64_t redialled() const { return redialled_; }
  uint64_t gone() const { return gone_; }

 private:
  struct Site {
    std::unique_ptr<rpc::ParticipantClient> client;
    std::unique_ptr<drivers::LearnerProcess> host;
  };

  void Add(const Options& options, uint16_t port, uint32_t k) {
    Site site;
    rpc::ParticipantClientOptions client;
    client.controller = {"127.0.0.1", port};
    client.name = Text("site-", k);
    client.incarnation = Incarnation(1);
    client.heartbeat = SettingsOf(options).membership.heartbeat;
    client.say = [this](const std::string& text) {
      if (text.find("dialling again") != text.npos) ++redialled_;
    };
    site.client = rpc::ParticipantClient::Connect(std::move(client), {}).value();
    const LearnerId id = site.client->welcome().learner;
    drivers::LearnerTools tools;
    tools.trainer =
        std::make_unique<SlowTrainer>(workload_->MakeTrainer(LearnerId(k)),
                                      options.epoch_seconds() * (0.9 + 0.2 * k / options.learners));
    drivers::LearnerHostOptions host;
    host.settings = SettingsOf(options);
    host.declared = {.learner = id,
                     .incarnation = Incarnation(1),
                     .name = Text("site-", k),
                     .group = "fast",
                     .training_examples = tools.trainer->training_examples(),
                     .validation_counts = {},
                     .schema_hash = workload_->pool().schema()->hash()};
    site.host = std::make_unique<drivers::LearnerProcess>(std::move(host), std::move(tools),
                                                          *site.client, [](const std::string&) {});
    site.client->Attach(*site.host, workload_->pool(), [this](const Error&) { ++gone_; });
    site.host->Start();
    sites_.push_back(std::move(site));
  }

  const std::unique_ptr<builtin::BuiltinWorkload> workload_;
  std::atomic<uint64_t> redialled_ = 0;
  std::atomic<uint64_t> gone_ = 0;
  std::vector<Site> sites_;
};

}  // namespace metis::soak
