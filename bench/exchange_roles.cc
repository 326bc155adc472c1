#include "bench/exchange_roles.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "metis/core/median.h"
#include "metis/core/text.h"
#include "metis/drivers/processes.h"
#include "metis/policy/policy.h"
#include "metis/rpc/controller_server.h"
#include "metis/rpc/participant_client.h"
#include "metis/store/blob_store.h"
#include "metis/store/settings.h"
#include "metis/store/spilling_model_store.h"
#include "metis/store/sqlite_event_log.h"

namespace metis::bench {
namespace {

SchemaPtr MakeSchema(const ExchangeOptions& options) {
  return ModelSchema::Create({{"values", {options.parameters}}}).value();
}

federation::Settings MakeSettings(const ExchangeOptions& options) {
  federation::Settings settings;
  settings.policy = *policy::PolicyNamed("sync-fedavg");
  settings.membership.learners = options.learners;
  policy::Set(settings, "trigger.local_epochs", 1);
  settings.stop.rounds = options.rounds;
  store::StorageSettings storage;
  storage.durability = options.durable ? store::Durability::kFull : store::Durability::kNone;
  settings.keep_models = store::KeepsModels(storage);
  return settings;
}

// --- The controller

// Notes when rounds end.
class RoundClock final : public drivers::Recorder {
 public:
  void Event(Instant, const federation::Event&) override {}
  void Action(Instant now, const federation::Action& action) override {
    if (std::holds_alternative<federation::CommunityCommitted>(action)) ends.push_back(now);
  }
  std::vector<Instant> ends;
};

// Of this process since it began; not ru_maxrss, which also counts what it was forked from.
double PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  }
  return 0;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::function<Result<void>(const ModelPtr&)> KeepIn(store::BlobStore& blobs) {
  return [&blobs](const ModelPtr& model) -> Result<void> {
    Result<std::string> kept = blobs.Keep(model);
    if (!kept) return kept.error();
    return {};
  };
}

void Report(const RoundClock& clock) {
  std::vector<double> rounds;
  for (size_t i = 1; i < clock.ends.size(); ++i) {
    rounds.push_back((clock.ends[i] - clock.ends[i - 1]).seconds());
  }
  std::cout << nlohmann::json{{"median_seconds", Median(rounds)},
                              {"fastest_seconds", *std::min_element(rounds.begin(), rounds.end())},
                              {"peak_bytes", PeakBytes()},
                              {"cpu_seconds", CpuSeconds()}}
                   .dump()
            << std::endl;
}

}  // namespace

std::optional<rpc::Credentials> LoadTls(const ExchangeOptions& options, const std::string& name,
                                        bool server) {
  if (!options.tls) return std::nullopt;
  std::string warning;
  const std::string stem = Text(options.directory, "/", name);
  return rpc::LoadCredentials(
             {Text(options.directory, "/ca.pem"), Text(stem, ".pem"), Text(stem, ".key")}, server,
             warning)
      .value();
}

int RunController(const ExchangeOptions& options) {
  ModelPool pool(MakeSchema(options));
  drivers::NoEventLog none;
  std::unique_ptr<store::BlobStore> blobs;
  std::unique_ptr<store::SqliteEventLog> durable;
  if (options.durable) {
    blobs = store::BlobStore::Open(Text(options.directory, "/blobs"), pool).value();
    durable = store::SqliteEventLog::Open(Text(options.directory, "/state.db"), *blobs, "exchange")
                  .value();
  }
  drivers::EventLog& log = options.durable ? static_cast<drivers::EventLog&>(*durable) : none;
  RoundClock clock;
  drivers::ControllerHostOptions host_options;
  host_options.settings = MakeSettings(options);
  host_options.initial = pool.Zero();
  if (options.durable) {
    host_options.snapshot_bytes = store::LogBudget(options.learners, pool.schema()->bytes());
    const uint64_t budget = options.spill ? 0 : std::numeric_limits<uint64_t>::max();
    host_options.store = std::make_unique<store::SpillingModelStore>(*blobs, budget);
  }
  auto host = drivers::ControllerProcess::Open(std::move(host_options), pool, log, &clock,
                                               [](const std::string&) {})
                  .value();
  rpc::ControllerServerOptions server_options;
  server_options.settings.listen = "127.0.0.1:0";
  server_options.credentials = LoadTls(options, "controller", true);
  server_options.federation = "exchange";
  server_options.heartbeat = Duration::Seconds(10);
  if (options.durable) server_options.keep = KeepIn(*blobs);
  server_options.audit = [](const rpc::Refusal& refusal) {
    std::cerr << "refused: " << refusal.reason << ": " << refusal.message << "\n";
  };
  auto server = rpc::ControllerServer::Start(std::move(server_options), *host, pool).value();
  host->Start(*server);
  std::cout << server->port() << std::endl;
  std::promise<void> finished;
  host->OnFinished([&] { finished.set_value(); });
  finished.get_future().wait();
  server->Shutdown(Duration::Seconds(2));
  host->Stop();
  Report(clock);
  return 0;
}

// --- The learners

namespace {

// Trains nothing: an update is an earlier one's buffer with one value changed, so that no two are
// equal. Its own buffers: what a trainer's copy of its model costs is no part of an exchange.
class Idle final : public learner::Trainer {
 public:
  Idle(const SchemaPtr& schema, uint32_t who) : pool_(schema), who_(who) {}
  Result<void> Load(const ModelPtr&) override { return {}; }
  Result<learner::EpochReport> TrainEpoch(learner::EpochKey, std::stop_token) override {
    return learner::EpochReport{.steps = 1, .examples = 100};
  }
  Result<ModelPtr> Snapshot() override {
    const size_t before = pool_.allocated();
    ModelDraft draft = pool_.Draft();
    const std::span<float> values = draft.parameters();
    if (pool_.allocated() > before) std::ranges::fill(values, 0.5f);
    values[who_] = static_cast<float>(++taken_);
    return std::move(draft).Seal();
  }
  Result<learner::TrainingStatePtr> Save() override {
    return std::make_shared<const learner::TrainingState>();
  }
  Result<void> Restore(const learner::TrainingState&) override { return {}; }
  bool keeps_state() const override { return false; }
  uint64_t training_examples() const override { return 100; }
  uint64_t steps_per_epoch() const override { return 1; }

 private:
  ModelPool pool_;
  const uint32_t who_;
  uint32_t taken_ = 0;
};

}  // namespace

int RunLearners(const ExchangeOptions& options, uint16_t port) {
  struct Site {
    std::unique_ptr<rpc::ParticipantClient> client;
    std::unique_ptr<ModelPool> pool;
    std::unique_ptr<drivers::LearnerProcess> host;
  };
  std::vector<Site> sites(options.learners);
  for (uint32_t k = 0; k < options.learners; ++k) {
    Site& site = sites[k];
    rpc::ParticipantClientOptions client;
    client.controller = {"127.0.0.1", port};
    client.name = Text("site-", k);
    client.credentials = LoadTls(options, client.name, false);
    client.incarnation = Incarnation(1);
    client.say = [](const std::string&) {};
    site.client = rpc::ParticipantClient::Connect(std::move(client), {}).value();
    site.pool = std::make_unique<ModelPool>(site.client->welcome().schema);
    drivers::LearnerHostOptions host;
    host.settings = MakeSettings(options);
    host.declared = {.learner = site.client->welcome().learner,
                     .incarnation = Incarnation(1),
                     .name = Text("site-", k),
                     .group = "fast",
                     .training_examples = 100,
                     .validation_counts = {},
                     .schema_hash = site.pool->schema()->hash()};
    drivers::LearnerTools tools;
    tools.trainer = std::make_unique<Idle>(site.pool->schema(), k);
    site.host = std::make_unique<drivers::LearnerProcess>(std::move(host), std::move(tools),
                                                          *site.client, [](const std::string&) {});
    site.client->Attach(*site.host, *site.pool, [](const Error& error) {
      std::cerr << error.message << "\n";
      std::_Exit(1);
    });
    site.host->Start();
  }
  int code = 0;
  for (Site& site : sites) {
    Result<std::string> ended = site.host->Wait();
    if (!ended) {
      std::cerr << ended.error().message << "\n";
      code = 1;
    }
    site.client->Close(Duration::Seconds(1));
  }
  std::cout << nlohmann::json{{"cpu_seconds", CpuSeconds()}}.dump() << std::endl;
  return code;
}

}  // namespace metis::bench
