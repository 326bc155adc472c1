// metis-replay: a recorded run once more through the controller, compared note by note.
#include "metis/report/replay.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "apps/cli.h"
#include "metis/config/config.h"
#include "metis/core/text.h"
#include "metis/report/run_directory.h"

namespace metis::apps {
namespace {

Result<report::Replayed> ReplayDirectory(const std::string& directory) {
  Result<std::unique_ptr<report::RunReader>> run = report::RunReader::Open(directory);
  if (!run) return run.error();
  Result<config::Config> config =
      config::ParseConfig((*run)->config_toml(), Text(directory, "/", report::kConfigFile));
  if (!config) return config.error();
  return report::Replay(**run, config->federation);
}

int Main(int argc, const char* const* argv) {
  std::string directory;
  bool json = false;
  CLI::App app(
      "Passes the recorded events of a run through the controller again. Every note must be "
      "the recorded one,\nand the end the same state, bit for bit.",
      "metis replay");
  app.footer("Example:\n  metis simulate --out runs/tryout\n  metis replay runs/tryout");
  app.add_option("DIR", directory, "A run directory")->required();
  app.add_flag("--json", json, "Print the outcome as JSON");
  AddVersionOption(app);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  Result<report::Replayed> replayed = ReplayDirectory(directory);
  if (!replayed) return Complain(replayed.error().message);
  if (json) {
    report::Json outcome = {{"events", replayed->events},
                            {"notes", replayed->notes},
                            {"version", replayed->version},
                            {"state_hash", replayed->state_hash},
                            {"compared_with_summary", replayed->against_summary},
                            {"recomputed", replayed->recomputed}};
    std::cout << outcome.dump(2) << "\n";
    return Finish();
  }
  std::cout << "Replayed " << replayed->events << " events to version " << replayed->version
            << "; all " << replayed->notes << " notes are the recorded ones.\n"
            << "State " << replayed->state_hash
            << (replayed->against_summary
                    ? ", as the run ended.\n"
                    : "; the run has no summary (it was cut off), so its end is not compared.\n")
            << (replayed->recomputed ? "The community model equals its recomputation from the "
                                       "learners' latest models, bit for bit.\n"
                                     : "");
  return Finish();
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
