// A federation that exchanges models and does nothing else (exchange_roles.h), against limits
// measured in the same run: raw TCP for the same bytes and one read of all models; with TLS, bare
// gRPC in place of raw TCP; durable and spilled, its own plain round, and writing and syncing the
// same bytes. Of limits and of rounds the fastest counts. Prints results in the form of Google
// Benchmark, times in milliseconds a round.
// Run from the root of the repository.
//
//   exchange_bench [--learners 10] [--parameters 10000000] [--rounds 6] [--filter plain]
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "bench/exchange_bare.h"
#include "bench/exchange_floor.h"
#include "bench/exchange_roles.h"
#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::bench {
namespace {

// --- Both, as processes

std::vector<std::string> Arguments(const ExchangeOptions& options, const std::string& role) {
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
  if (options.spill) arguments.emplace_back("--spill");
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

nlohmann::json RunFederation(const ExchangeOptions& options) {
  const Child controller = Spawn(Arguments(options, "controller"));
  const std::string port = Line(controller);
  METIS_CHECK_MSG(!port.empty(), "the controller did not start");
  std::vector<std::string> arguments = Arguments(options, "learners");
  arguments.insert(arguments.end(), {"--port", Text(std::stoi(port))});
  const Child learners = Spawn(arguments);
  nlohmann::json seen = nlohmann::json::parse(Line(controller));
  seen["learners"] = nlohmann::json::parse(Line(learners));
  METIS_CHECK_MSG(Ended(learners), "the learners failed");
  METIS_CHECK_MSG(Ended(controller), "the controller failed");
  return seen;
}

class Measurement {
 public:
  Measurement(ExchangeOptions options, const std::string& filter)
      : options_(std::move(options)), filter_(filter) {}

  void Run();
  const nlohmann::json& results() const { return results_; }

 private:
  bool Wanted(const std::string& group) const { return std::regex_search(group, filter_); }
  void Add(const std::string& group, const std::string& name, double value);
  // A federation against its limit, in seconds. Returns what was seen of it.
  nlohmann::json Compare(const std::string& group, double limit, const ExchangeOptions& options);
  void CompareMemory(const std::string& group, const nlohmann::json& seen);
  void RunTls(const Floor& floor);

  const ExchangeOptions options_;
  const std::regex filter_;
  nlohmann::json results_ = nlohmann::json::array();
};

void Measurement::Add(const std::string& group, const std::string& name, double value) {
  results_.push_back({{"name", group + "/" + name},
                      {"family_index", results_.size()},
                      {"run_type", "iteration"},
                      {"cpu_time", value}});
}

nlohmann::json Measurement::Compare(const std::string& group, double limit,
                                    const ExchangeOptions& options) {
  const nlohmann::json seen = RunFederation(options);
  const double round = seen["fastest_seconds"].get<double>();
  const auto rounds = static_cast<double>(options.rounds);
  std::cerr << Text(group, ": limit ", Fixed(1000 * limit, 0), " ms, a round ",
                    Fixed(1000 * round, 0), " ms (", Fixed(round / limit, 2), "), in the middle ",
                    Fixed(1000 * seen["median_seconds"].get<double>(), 0), " ms; CPU a round ",
                    Fixed(1000 * seen["cpu_seconds"].get<double>() / rounds, 0), " + ",
                    Fixed(1000 * seen["learners"]["cpu_seconds"].get<double>() / rounds, 0),
                    " ms\n");
  Add(group, "limit", 1000 * limit);
  Add(group, Text(options.learners, " learners"), 1000 * round);
  return seen;
}

// Megabytes in place of time: the limit is N + 2 models.
void Measurement::CompareMemory(const std::string& group, const nlohmann::json& seen) {
  const double model = static_cast<double>(options_.parameters) * sizeof(float);
  const double peak = seen["peak_bytes"].get<double>();
  std::cerr << Text(group, ": ", Fixed(peak / model, 1), " models, ",
                    Fixed(peak / model / (options_.learners + 2), 2), " of N + 2\n");
  Add(group, "limit", (options_.learners + 2) * model / 1e6);
  Add(group, Text(options_.learners, " learners"), peak / 1e6);
}

void Measurement::RunTls(const Floor& floor) {
  ExchangeOptions run = options_;
  run.tls = true;
  const double bare =
      MeasureBareGrpc(run.learners, run.parameters * sizeof(float),
                      LoadTls(run, "controller", true), LoadTls(run, "site-0", false));
  Compare("exchange tls", bare + floor.read, run);
}

void Measurement::Run() {
  const Floor floor =
      MeasureFloor(options_.learners, options_.parameters * sizeof(float), options_.directory);
  std::optional<double> kept;  // the limit of rounds whose models go to the disk
  if (Wanted("exchange plain") || Wanted("exchange durable") || Wanted("exchange spilled")) {
    const nlohmann::json seen = Compare("exchange plain", floor.tcp + floor.read, options_);
    kept = seen["fastest_seconds"].get<double>() + floor.write;
    CompareMemory("exchange memory", seen);
  }
  ExchangeOptions durable = options_;
  durable.durable = true;
  if (Wanted("exchange durable")) {
    CompareMemory("exchange durable memory", Compare("exchange durable", *kept, durable));
  }
  if (Wanted("exchange spilled")) {
    durable.spill = true;
    durable.directory += "/spilled";
    std::filesystem::create_directory(durable.directory);
    CompareMemory("exchange spilled memory", Compare("exchange spilled", *kept, durable));
  }
  if (Wanted("exchange tls")) RunTls(floor);
}

bool MakeCertificates(const ExchangeOptions& options) {
  std::string command = Text("scripts/make_certificates.sh ", options.directory, " controller");
  for (uint32_t k = 0; k < options.learners; ++k) command += Text(" site-", k);
  return std::system(command.c_str()) == 0;
}

int Measure(ExchangeOptions options, const std::string& filter) {
  char pattern[] = "/tmp/exchange-XXXXXX";
  METIS_CHECK(mkdtemp(pattern) != nullptr);
  options.directory = pattern;
  if (!MakeCertificates(options)) {
    std::cerr << "exchange_bench: no certificates; run it from the root of the repository, with "
                 "openssl installed\n";
    return 1;
  }
  Measurement measurement(options, filter);
  measurement.Run();
  std::filesystem::remove_all(pattern);
  std::cout << nlohmann::json{{"benchmarks", measurement.results()}}.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace metis::bench

int main(int argc, char** argv) {
  using namespace metis::bench;
  ExchangeOptions options;
  std::string role;
  std::string filter = ".";
  uint16_t port = 0;
  CLI::App app("Measures the exchange of models over loopback.", "exchange_bench");
  app.footer("  exchange_bench --filter plain --rounds 10");
  app.add_option("--learners", options.learners, "how many")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--parameters", options.parameters, "of the model; more than learners")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "how many")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  app.add_option("--filter", filter,
                 "a regular expression: exchange plain, exchange durable, exchange spilled, "
                 "exchange tls")
      ->capture_default_str();
  app.add_flag("--durable", options.durable)->group("");
  app.add_flag("--spill", options.spill)->group("");
  app.add_flag("--tls", options.tls)->group("");
  app.add_option("--role", role)->group("");
  app.add_option("--directory", options.directory)->group("");
  app.add_option("--port", port)->group("");
  CLI11_PARSE(app, argc, argv);
  if (role == "controller") return RunController(options);
  if (role == "learners") return RunLearners(options, port);
  return Measure(options, filter);
}
