// metis-operate: what an operator asks of a running controller. The front runs it for `metis
// status`, `stop`, `pause`, `resume`, `withdraw` and `export`.
#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include "apps/cli.h"
#include "apps/export_model.h"
#include "apps/interrupts.h"
#include "apps/operator_target.h"
#include "apps/status_view.h"
#include "metis/core/text.h"
#include "metis/core/time.h"
#include "metis/operations/last_known.h"
#include "metis/report/run_files.h"
#include "metis/store/inspect_log.h"

namespace metis::apps {
namespace {

using federation::OperatorCommand;

struct Options {
  Target target;
  bool json = false;
  bool watch = false;
  std::string interval = "2s";
  std::string name;  // to withdraw
  ExportOptions model;
};

// --- Status

// The document, as the controller sent it, and read.
struct Seen {
  std::string json;
  operations::Status status;
};

Result<Seen> Ask(rpc::OperatorClient& client) {
  Result<std::string> json = client.Status();
  if (!json) return json.error();
  Result<operations::Status> status = operations::ParseStatus(*json);
  if (!status) return status.error().In("the controller's answer");
  return Seen{*std::move(json), *std::move(status)};
}

void Print(const Seen& seen, const Options& options, bool styled) {
  if (options.json) {
    const report::Json json = report::Json::parse(seen.json, nullptr, false);
    std::cout << json.dump(options.watch ? -1 : 2) << "\n";
  } else {
    PrintStatus(std::cout, seen.status, styled);
  }
  std::cout.flush();
}

// The controller is not there: says what its record last knew.
int SayLastKnown(const Options& options, const Error& why) {
  Result<operations::Status> known = operations::ReadLastKnown(options.target.run);
  if (!known) return Complain(Text(why.message, "\n", known.error().message));
  const bool finished = known->phase == "finished";
  if (finished) {
    std::cerr << "metis: the federation in " << options.target.run
              << " has finished, its controller has ended; this is what it came to\n";
  } else {
    (void)Complain(Text(why.message, "\nWhat its record last knew:"));
  }
  Print({operations::FormatStatus(*known).dump(-1, ' ', false,
                                               report::Json::error_handler_t::replace),
         *std::move(known)},
        options, OutputIsTerminal());
  return Finish(finished ? kOk : kFailed);
}

// It cannot be asked, or not any more.
int SayGone(const Options& options, const Error& why) {
  const bool ended = why.code == ErrorCode::kUnavailable && !options.target.run.empty();
  return ended ? SayLastKnown(options, why) : Complain(why.message);
}

// False: interrupted.
bool Pause(Duration interval, const Interrupts& interrupts) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, interrupts.token(), std::chrono::nanoseconds(interval.nanoseconds()),
                 [] { return false; });
  return !interrupts.asked();
}

// A controller that has finished writes what it came to after it has hung up, and then lets go of
// its run directory. One that hangs is not waited for without end.
void AwaitConclusion(const std::string& run, const Interrupts& interrupts) {
  constexpr int kLooks = 600;
  const std::string lock = Text(run, "/", report::kLockFile);
  for (int i = 0; i < kLooks && !run.empty() && store::LockHolder(lock).has_value(); ++i) {
    if (!Pause(Duration::Milliseconds(100), interrupts)) return;
  }
}

// One block after another; on a terminal each in the place of the one before.
int Watch(rpc::OperatorClient& client, const Options& options, Duration interval) {
  constexpr const char* kHomeAndClear = "\x1b[H\x1b[2J";
  const Interrupts interrupts;
  const bool redraw = OutputIsTerminal() && !options.json;
  for (bool first = true;; first = false) {
    Result<Seen> seen = Ask(client);
    if (!seen) {
      AwaitConclusion(options.target.run, interrupts);
      return SayGone(options, seen.error());
    }
    if (redraw) {
      std::cout << kHomeAndClear;
    } else if (!first && !options.json) {
      std::cout << "\n";
    }
    Print(*seen, options, redraw);
    if (!std::cout || !Pause(interval, interrupts)) return Finish();
  }
}

int ShowStatus(Options& options) {
  Result<Duration> interval = ParseDuration(options.interval);
  if (!interval) return Complain(interval.error().In("--interval").message, kUsage);
  if (*interval < Duration::Milliseconds(100)) {
    return Complain(Text("--interval ", options.interval, " is less than 100ms"), kUsage);
  }
  Result<std::unique_ptr<rpc::OperatorClient>> client = Reach(options.target);
  if (!client) return SayGone(options, client.error());
  if (options.watch) return Watch(**client, options, *interval);
  Result<Seen> seen = Ask(**client);
  if (!seen) return SayGone(options, seen.error());
  Print(*seen, options, OutputIsTerminal());
  return Finish();
}

// --- Commands

int Command(Options& options, OperatorCommand::Kind kind) {
  Result<std::unique_ptr<rpc::OperatorClient>> client = Reach(options.target);
  if (!client) return Complain(client.error().message);
  Result<drivers::Commanded> outcome = (*client)->Command(kind, options.name);
  if (!outcome) return Complain(outcome.error().message);
  if (options.json) {
    std::cout << report::Json{{"message", outcome->message}, {"version", outcome->version.value()}}
                     .dump(2, ' ', false, report::Json::error_handler_t::replace)
              << "\n";
  } else {
    std::cout << Printable(outcome->message) << "\n";
  }
  return Finish();
}

int Export(Options& options) {
  Result<void> ready = CheckExport(options.model);
  if (!ready) return Complain(ready.error().message);
  Result<std::unique_ptr<rpc::OperatorClient>> client = Reach(options.target);
  const bool gone = !client && client.error().code == ErrorCode::kUnavailable;
  if (!client && !gone) return Complain(client.error().message);
  Result<std::string> said =
      gone ? ExportKept(options.target.run, options.model) : ExportLive(**client, options.model);
  if (!said) return Complain(said.error().message);
  std::cout << *said << "\n";
  return Finish();
}

// --- The command line

CLI::App* AddCommand(CLI::App& app, const std::string& word, const std::string& description,
                     const std::string& examples, Options& options) {
  CLI::App* command = apps::AddCommand(app, word, description, examples);
  if (word == "withdraw") {
    command->add_option("NAME", options.name, "Of the learner, as `metis status` shows it")
        ->required();
  }
  AddTarget(*command, options.target);
  if (word != "export") command->add_flag("--json", options.json, "Print the answer as JSON");
  return command;
}

CLI::App* AddStatus(CLI::App& app, Options& options) {
  CLI::App* status = AddCommand(
      app, "status",
      "How a federation stands: its phase, version and accuracy, what it costs, and of every\n"
      "participant its state, version, staleness, contribution, rate and when it was last seen.\n"
      "Of a controller that is not running: what its record last knew.",
      "  metis status runs/first\n"
      "  metis status runs/first --watch\n"
      "  metis status runs/first --json\n"
      "  metis status --join controller.example.org:7740 --ca ca.pem \\\n"
      "    --certificate admin.pem --key admin.key",
      options);
  status->add_flag("--watch", options.watch, "Again and again, until Ctrl-C or its end");
  status->add_option("--interval", options.interval, "Of --watch")->capture_default_str();
  return status;
}

CLI::App* AddExport(CLI::App& app, Options& options) {
  CLI::App* command = AddCommand(
      app, "export",
      "Writes the community model to a file: of our format, or for Python's torch.load. Of a\n"
      "controller that is not running: the model that it kept.",
      "  metis export runs/first --out model.metis\n"
      "  metis export runs/first --best --out model.pt",
      options);
  command->add_option("--out", options.model.out, "The file to write: NAME.metis or NAME.pt")
      ->required();
  command->add_flag("--best", options.model.best, "The best that was tested, not the latest");
  command->add_flag("--force", options.model.force, "Replace the file if it exists");
  return command;
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app("What an operator asks of a running controller.", "metis");
  app.footer(
      "Example:\n"
      "  metis status runs/first\n"
      "  metis pause runs/first\n"
      "  metis export runs/first --out model.metis");
  app.require_subcommand(1);
  AddVersionOption(app);
  CLI::App* status = AddStatus(app, options);
  CLI::App* stop = AddCommand(
      app, "stop",
      "Ends a federation for good: its community stays as it is, its participants are told and\n"
      "end, then the controller does. (To end a controller that shall go on later: Ctrl-C.)",
      "  metis stop runs/first", options);
  CLI::App* pause = AddCommand(
      app, "pause",
      "Holds a federation: updates are still taken in, but none is committed until `metis\n"
      "resume`. Pausing twice is pausing once.",
      "  metis pause runs/first", options);
  CLI::App* resume = AddCommand(app, "resume", "Lets a federation go on that `metis pause` holds.",
                                "  metis resume runs/first", options);
  CLI::App* withdraw = AddCommand(
      app, "withdraw",
      "Takes a learner's model out of the community, as if it had never been in it. A learner\n"
      "that still takes part puts one in again with its next update.",
      "  metis withdraw site-3 runs/first", options);
  AddExport(app, options);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (status->parsed()) return ShowStatus(options);
  if (stop->parsed()) return Command(options, OperatorCommand::Kind::kStop);
  if (pause->parsed()) return Command(options, OperatorCommand::Kind::kPause);
  if (resume->parsed()) return Command(options, OperatorCommand::Kind::kResume);
  if (withdraw->parsed()) return Command(options, OperatorCommand::Kind::kWithdraw);
  return Export(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
