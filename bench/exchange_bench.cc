// A federation that exchanges models and does nothing else: N learners without training,
// synchronous rounds over loopback, against the floor measured in the same run: raw TCP for the
// same bytes, one read of all models, and (durable) writing and syncing the same bytes. Learners
// and controller are processes of their own. Prints results in the form of Google Benchmark, times
// in milliseconds a round.
//
//   exchange_bench [--learners 10] [--parameters 10000000] [--rounds 6]
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/exchange_floor.h"
#include "metis/core/text.h"
#include "metis/drivers/controller_host.h"
#include "metis/drivers/learner_host.h"
#include "metis/rpc/controller_server.h"
#include "metis/rpc/participant_client.h"
#include "metis/store/blob_store.h"
#include "metis/store/sqlite_event_log.h"

namespace metis::bench {
namespace {

struct Options {
  uint32_t learners = 10;
  uint64_t parameters = 10'000'000;
  uint64_t rounds = 6;
  bool durable = false;
  std::string role;
  std::string directory;  // of certificates and state
  bool tls = false;
};

SchemaPtr MakeSchema(const Options& options) {
  return ModelSchema::Create({{"values", {options.parameters}}}).value();
}

federation::Settings MakeSettings(const Options& options) {
  federation::Settings settings;
  settings.policy = *federation::PolicyNamed("sync-fedavg");
  settings.membership.learners = options.learners;
  settings.trigger.local_epochs = 1;
  settings.stop.rounds = options.rounds;
  return settings;
}

std::optional<rpc::Credentials> LoadTls(const Options& options, const std::string& name,
                                        bool server) {
  if (!options.tls) return std::nullopt;
  std::string warning;
  const std::string stem = Text(options.directory, "/", name);
  return rpc::LoadCredentials(
             {Text(options.directory, "/ca.pem"), Text(stem, ".pem"), Text(stem, ".key")}, server,
             warning)
      .value();
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

int RunController(const Options& options) {
  ModelPool pool(MakeSchema(options));
  drivers::MemoryEventLog memory;
  std::unique_ptr<store::BlobStore> blobs;
  std::unique_ptr<store::SqliteEventLog> durable;
  if (options.durable) {
    blobs = store::BlobStore::Open(Text(options.directory, "/blobs"), pool).value();
    durable = store::SqliteEventLog::Open(Text(options.directory, "/state.db"), *blobs, "exchange")
                  .value();
  }
  drivers::EventLog& log = options.durable ? static_cast<drivers::EventLog&>(*durable) : memory;
  RoundClock clock;
  drivers::ControllerHostOptions host_options;
  host_options.settings = MakeSettings(options);
  host_options.initial = pool.Zero();
  auto host = drivers::ControllerHost::Open(std::move(host_options), pool, log, &clock,
                                            [](const std::string&) {})
                  .value();
  rpc::ControllerServerOptions server_options;
  server_options.settings.listen = "127.0.0.1:0";
  server_options.credentials = LoadTls(options, "controller", true);
  server_options.federation = "exchange";
  server_options.heartbeat = Duration::Seconds(10);
  if (options.durable) {
    server_options.keep = [&](const ModelPtr& model) -> Result<void> {
      Result<std::string> kept = blobs->Keep(model);
      if (!kept) return kept.error();
      return {};
    };
  }
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
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::vector<double> rounds;
  for (size_t i = 1; i < clock.ends.size(); ++i) {
    rounds.push_back((clock.ends[i] - clock.ends[i - 1]).seconds());
  }
  std::sort(rounds.begin(), rounds.end());
  std::cout << nlohmann::json{{"round_seconds", rounds[rounds.size() / 2]},
                              {"fastest_seconds", rounds.front()},
                              {"peak_bytes", usage.ru_maxrss * 1024}}
                   .dump()
            << std::endl;
  return 0;
}

// --- The learners

// Trains nothing: what it received, with one value changed, so that no two models are equal.
class Idle final : public learner::Trainer {
 public:
  Idle(ModelPool& pool, uint32_t who) : pool_(pool), who_(who) {}
  Result<void> Load(const ModelPtr& community) override {
    community_ = community;
    return {};
  }
  Result<learner::EpochReport> TrainEpoch(learner::EpochKey, std::stop_token) override {
    return learner::EpochReport{.steps = 1, .examples = 100};
  }
  Result<ModelPtr> Snapshot() override {
    ModelDraft draft = pool_.Draft();
    std::copy(community_->parameters().begin(), community_->parameters().end(),
              draft.parameters().begin());
    draft.parameters()[who_] += 1;
    return std::move(draft).Seal();
  }
  uint64_t training_examples() const override { return 100; }
  uint64_t steps_per_epoch() const override { return 1; }

 private:
  ModelPool& pool_;
  const uint32_t who_;
  ModelPtr community_;
};

int RunLearners(const Options& options, uint16_t port) {
  struct Site {
    std::unique_ptr<rpc::ParticipantClient> client;
    std::unique_ptr<ModelPool> pool;
    std::unique_ptr<drivers::LearnerHost> host;
  };
  std::vector<Site> sites(options.learners);
  for (uint32_t k = 0; k < options.learners; ++k) {
    Site& site = sites[k];
    rpc::ParticipantClientOptions client;
    client.controller = {"127.0.0.1", port};
    client.name = Text("site-", k);
    client.credentials = LoadTls(options, client.name, false);
    client.incarnation = Incarnation(1);
    client.say = [k](const std::string& text) {
      if (std::getenv("SAY")) std::cerr << k << ": " << text << "\n";
    };
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
    tools.trainer = std::make_unique<Idle>(*site.pool, k);
    site.host = std::make_unique<drivers::LearnerHost>(std::move(host), std::move(tools),
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
  return code;
}

// --- Both, as processes

std::vector<std::string> Arguments(const Options& options, const std::string& role) {
  std::vector<std::string> arguments = {"exchange_bench",
                                        "--role",
                                        role,
                                        "--learners",
                                        Text(options.learners),
                                        "--parameters",
                                        Text(options.parameters),
                                        "--rounds",
                                        Text(options.rounds),
                                        "--directory",
                                        options.directory};
  if (options.durable) arguments.emplace_back("--durable");
  if (options.tls) arguments.emplace_back("--tls");
  return arguments;
}

struct Child {
  pid_t pid = 0;
  FILE* output = nullptr;
};

Child Spawn(std::vector<std::string> arguments) {
  int ends[2];
  METIS_CHECK(pipe(ends) == 0);
  pid_t pid = fork();
  METIS_CHECK(pid >= 0);
  if (pid == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    execv("/proc/self/exe", raw.data());
    _exit(127);
  }
  close(ends[1]);
  return {pid, fdopen(ends[0], "r")};
}

std::string Line(const Child& child) {
  char buffer[512] = {};
  return fgets(buffer, sizeof buffer, child.output) != nullptr ? buffer : "";
}

bool Ended(const Child& child) {
  int status = 0;
  waitpid(child.pid, &status, 0);
  fclose(child.output);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

nlohmann::json RunFederation(Options options) {
  const Child controller = Spawn(Arguments(options, "controller"));
  const std::string port = Line(controller);
  METIS_CHECK_MSG(!port.empty(), "the controller did not start");
  std::vector<std::string> arguments = Arguments(options, "learners");
  arguments.insert(arguments.end(), {"--port", Text(std::stoi(port))});
  const Child learners = Spawn(arguments);
  const std::string outcome = Line(controller);
  METIS_CHECK_MSG(Ended(learners), "the learners failed");
  METIS_CHECK_MSG(Ended(controller), "the controller failed");
  return nlohmann::json::parse(outcome);
}

void Add(nlohmann::json& results, const std::string& name, double value) {
  results.push_back({{"name", name},
                     {"family_index", results.size()},
                     {"run_type", "iteration"},
                     {"cpu_time", value}});
}

int Measure(const Options& options) {
  char pattern[] = "/tmp/exchange-XXXXXX";
  METIS_CHECK(mkdtemp(pattern) != nullptr);
  Options run = options;
  run.directory = pattern;
  const double model_bytes = static_cast<double>(options.parameters) * sizeof(float);
  const Floor floor = MeasureFloor(options.learners, options.parameters * sizeof(float), pattern);
  nlohmann::json results = nlohmann::json::array();
  auto report = [&](const std::string& group, const std::string& name, double limit,
                    const nlohmann::json& seen) {
    std::cerr << group << ": floor " << 1000 * limit << " ms, a round "
              << 1000 * seen["round_seconds"].get<double>() << " ms, peak memory "
              << seen["peak_bytes"].get<double>() / model_bytes << " models\n";
    Add(results, group + "/limit", 1000 * limit);
    Add(results, group + "/" + name, 1000 * seen["round_seconds"].get<double>());
  };
  const std::string size = Text(options.learners, " learners");
  const nlohmann::json plain = RunFederation(run);
  report("exchange", size, floor.tcp + floor.read, plain);
  // Memory in place of time: the limit is N + 2 models.
  Add(results, "exchange memory/limit", (options.learners + 2) * model_bytes / 1e6);
  Add(results, "exchange memory/" + size, plain["peak_bytes"].get<double>() / 1e6);
  run.durable = true;
  report("exchange durable", size, plain["round_seconds"].get<double>() + floor.write,
         RunFederation(run));
  std::filesystem::remove_all(pattern);
  std::cout << nlohmann::json{{"benchmarks", results}}.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace metis::bench

int main(int argc, char** argv) {
  using namespace metis::bench;
  Options options;
  uint16_t port = 0;
  CLI::App app("Measures the exchange of models over loopback.", "exchange_bench");
  app.add_option("--learners", options.learners, "how many")->capture_default_str();
  app.add_option("--parameters", options.parameters, "of the model")->capture_default_str();
  app.add_option("--rounds", options.rounds, "at least 3")->capture_default_str();
  app.add_flag("--durable", options.durable)->group("");
  app.add_flag("--tls", options.tls)->group("");
  app.add_option("--role", options.role)->group("");
  app.add_option("--directory", options.directory)->group("");
  app.add_option("--port", port)->group("");
  CLI11_PARSE(app, argc, argv);
  if (options.role == "controller") return RunController(options);
  if (options.role == "learners") return RunLearners(options, port);
  return Measure(options);
}
