// metis-controller: one federation over the network.
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/interrupts.h"
#include "apps/tls_options.h"
#include "metis/core/text.h"
#include "metis/service/controller_run.h"
#include "metis/store/kept_models.h"

namespace metis::apps {
namespace {

using service::ControllerOptions;
using service::ControllerSetup;

// For a supervisor: started again the federation goes on.
constexpr int kStartAgain = 75;

void PrintClosing(const std::string& run, bool state_is_kept, const report::Json& summary) {
  const bool complete = summary.value("complete", false);
  const bool tested = !summary["tests"].empty();
  std::cout << (complete ? "finished" : "ended") << " at version "
            << summary["version"].get<uint64_t>() << " after "
            << summary["update_requests"].get<uint64_t>() << " update requests"
            << (tested
                    ? Text(", best accuracy ", Fixed(summary["accuracy"]["best"].get<double>(), 4))
                    : ", never tested")
            << "\n";
  if (!complete && state_is_kept) {
    std::cout << "The state is kept in " << run
              << ". To go on, with the same certificates: metis controller --run " << run << "\n";
  }
  std::cout << "Recorded in " << run << "; `metis compare` and `metis report` read it.\n";
}

int Run(const ControllerOptions& options) {
  const Interrupts interrupts;
  Result<ControllerSetup> setup = service::ReadSetup(options);
  if (!setup) return Complain(setup.error().message);
  if (setup->goes_on && service::IsFinished(options.run)) {
    std::cout << "the federation in " << options.run << " is finished; its models are "
              << options.run << "/" << store::kFinalModelFile << " and " << store::kBestModelFile
              << ". Choose another --run to begin a new one.\n";
    return Finish();
  }
  Console console;
  Result<service::ControllerOutcome> outcome =
      service::RunController(options, *setup, console, interrupts.token());
  if (!outcome) return Complain(outcome.error().message);
  if (!outcome->summary.is_null()) {
    const bool state_is_kept = setup->config.storage.durability == store::Durability::kFull;
    PrintClosing(options.run, state_is_kept, outcome->summary);
  }
  return Finish(outcome->start_again ? kStartAgain : kOk);
}

int Main(int argc, const char* const* argv) {
  ::umask(0077);  // models of all sites are in the run directory: they are the operator's alone
  ControllerOptions options;
  std::string record, listen, dashboard;
  std::vector<std::string> assignments;
  CLI::App app(
      "Runs the controller of a federation over the network: learners and an observer join it, it\n"
      "mixes the learners' models, and no example ever reaches it. A controller that was ended, "
      "or\n"
      "killed, goes on when it is started again on the same run directory.",
      "metis controller");
  app.footer(
      "Examples:\n"
      "  metis model init mnist-cnn --dataset fashion-mnist --out initial.metis\n"
      "  metis ca init authority --host fed.example.org\n"
      "  metis controller federation.toml --model initial.metis --run runs/first \\\n"
      "    --listen 0.0.0.0:7740 --authority authority\n"
      "  metis controller --run runs/first --listen 0.0.0.0:7740 --ca ca.pem \\\n"
      "    --certificate controller.pem --key controller.key    (goes on; an authority of your "
      "own)\n"
      "  metis controller --run runs/try --insecure             (built-in data, this machine)\n\n"
      "Exit codes: 0 finished or ended by an operator, 1 failed, 2 wrong command line, 75 out of\n"
      "file descriptors, or the disk did not give a model back (start it again: it goes on).");
  app.add_option("FILE", options.file,
                 "Configuration (see `metis init`); default: that of the run, or none");
  app.add_option("--model", options.model,
                 "The initial model, a file of `metis model init`; not needed to go on, nor for\n"
                 "built-in data");
  app.add_option("--run", options.run, "Run directory: a new one, or one to go on with")
      ->required();
  app.add_option("--listen", listen, "HOST:PORT to listen on (network.listen)");
  app.add_option(
         "--authority", options.authority,
         "Directory of `metis ca init`: the controller's certificate is there, and those who\n"
         "were invited get theirs")
      ->type_name("DIR");
  app.add_option("--dashboard", dashboard,
                 "HOST:PORT of the live dashboard, or off (dashboard.listen)");
  AddTlsOptions(app, options.tls);
  app.add_option("--record", record,
                 "replayable: keep the model of every update, for `metis replay`; light: don't;\n"
                 "default: light, or as the run was begun")
      ->check(CLI::IsMember({"replayable", "light"}));
  app.add_flag("--accept-loss", options.accept_loss,
               "Go on from a state that is older than the record: what came later is lost");
  app.add_option("--set", assignments, "Any key of the configuration: section.key=value")
      ->allow_extra_args(false);
  AddVersionOption(app);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (!record.empty()) {
    options.record = record == "light" ? report::Record::kLight : report::Record::kReplayable;
  }
  if (!listen.empty()) options.overrides.push_back({"network.listen", listen, "--listen"});
  if (!dashboard.empty()) {
    options.overrides.push_back({"dashboard.listen", dashboard, "--dashboard"});
  }
  for (const std::string& text : assignments) {
    Result<config::Assignment> assignment = config::ParseAssignment(text);
    if (!assignment) return Complain(assignment.error().message, kUsage);
    options.overrides.push_back(*std::move(assignment));
  }
  return Run(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
