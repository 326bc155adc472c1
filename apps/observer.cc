// metis-observer: tests a federation's community models on data that no learner trains on.
#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/data_options.h"
#include "apps/interrupts.h"
#include "apps/participant_options.h"
#include "metis/core/text.h"
#include "metis/site/observer_run.h"
#include "metis/train/runtime.h"

namespace metis::apps {
namespace {

void PrintTest(const federation::CommunityTested& tested) {
  std::cout << "version " << tested.version.value() << ": " << tested.counts.headline_name() << " "
            << Fixed(tested.counts.Headline(), 4) << ", loss " << Fixed(tested.loss, 4)
            << std::endl;
}

int Main(int argc, const char* const* argv) {
  site::ObserverOptions options;
  CLI::App app(
      "Joins a federation over the network as its observer: tests the community models on data\n"
      "that no learner trains on, and tells the controller counts and loss.",
      "metis observer");
  app.footer(
      "Examples:\n"
      "  metis observer --enrol TOKEN --data fashion-mnist     (TOKEN of `metis ca invite`)\n"
      "  metis observer --join controller.example:7740 --data fashion-mnist \\\n"
      "    --ca ca.pem --certificate observer.pem --key observer.key\n"
      "  metis observer --join 127.0.0.1:7740 --insecure --name observer --data test.npz "
      "--whole\n\n"
      "Exit codes: 0 the federation has ended, or Ctrl-C; 1 failed or refused, 2 wrong command\n"
      "line.");
  AddParticipantOptions(app, options.participant);
  app.add_option("--data", options.data.what,
                 "What is tested on: the test part of a known set; of a file the part that the\n"
                 "federation holds out (data.test_fraction); builtin");
  app.add_flag("--whole", options.whole, "Test on all of the file");
  AddLoadOptions(app, options.data);
  AddVersionOption(app);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (site::MissesController(options.participant, federation::Role::kObserver)) {
    return Complain("--join is missing: the controller's HOST:PORT, or --enrol with an invitation",
                    kUsage);
  }
  if (options.data.what.empty()) {
    return Complain("--data is missing: what are models tested on?", kUsage);
  }
  const Interrupts interrupts;
  train::KeepFreedMemory();
  Console console;
  Result<std::string> ended = site::RunObserver(options, PrintTest, console, interrupts.token());
  if (!ended && interrupts.asked()) return Finish();
  if (!ended) return Complain(ended.error().message);
  std::cout << *ended << "\n";
  return Finish();
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
