// metis-learner: one learner of a federation over the network, beside its data.
#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/data_options.h"
#include "apps/interrupts.h"
#include "apps/participant_options.h"
#include "metis/site/learner_run.h"
#include "metis/train/runtime.h"

namespace metis::apps {
namespace {

constexpr const char* kPrivacy =
    R"(What leaves this site, to the controller and through it to the other learners:

  its name, the name of its group, and the number of this life (when it was started)
  the number of its training examples
  the number of its validation examples of each class, where the policy has a validation set
  models: all parameters after training on the site's data, one an update
  confusion counts of models, its own and other learners', on its validation set: how many examples
    of each class were taken for which class
  of every training cycle: its validation losses, how many epochs it took, why it ended, how stale it was
  the number of mini-batches trained, the end of every epoch, and with all of that: when
  the loss and counts that an observer finds (an observer holds test data, no learner's)
  the address that it connects from, and the version of the program

What never leaves it:

  examples and their labels
  the data's names, paths and files
  gradients of single mini-batches, momentum, and any model but those of updates
  the loss of a single example; nor counts of one, but where it is the only one of its class in the
    validation set: then the counts of that class are its own

A model is computed from the examples, and what can be learnt about them from it is not bounded by Metis;
docs/security.md says what is protected against whom.
Other learners see the models of updates, with the learner's number, when they evaluate them.
With certificates all of it travels encrypted; with --insecure nothing does.
)";

struct Options {
  site::LearnerOptions learner;
  std::string share;
  bool explain = false;
};

void AddOptions(CLI::App& app, Options& options) {
  AddParticipantOptions(app, options.learner.participant);
  app.add_option("--data", options.learner.site.data.what,
                 "This site's data: a name of `metis data list`, a file, or builtin");
  app.add_option("--share", options.share,
                 "K/N: of the data only the K-th of N parts (from 0), dealt as the federation's\n"
                 "[data] says: for experiments on one data set");
  app.add_option("--group", options.learner.group,
                 "The group of machines that this one is of; default: the federation's first");
  app.add_option("--slowdown", options.learner.slowdown,
                 "Waits this many times as long as it trained after every epoch: a slow machine")
      ->check(NumberWithin(0, 1e6));
  app.add_option("--faulty", options.learner.site.faulty,
                 "Wrong labels, for experiments: labels=random, labels=noise:0.3, ...");
  app.add_flag("--explain-privacy", options.explain,
               "Say exactly what leaves this site and what never does, and end");
  AddLoadOptions(app, options.learner.site.data);
  AddVersionOption(app);
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app(
      "Runs one learner of a federation over the network: it trains the federation's model on the\n"
      "data of its site, which never leave it.",
      "metis learner");
  app.footer(
      "Examples:\n"
      "  metis learner --enrol TOKEN --data scans.npz          (TOKEN of `metis ca invite`)\n"
      "  metis learner --join controller.example:7740 --data scans.npz \\\n"
      "    --ca ca.pem --certificate site-3.pem --key site-3.key\n"
      "  metis learner --join 127.0.0.1:7740 --insecure --name site-3 --data fashion-mnist \\\n"
      "    --share 3/10 --group slow --slowdown 4\n"
      "  metis learner --explain-privacy\n\n"
      "Exit codes: 0 the federation has ended, or Ctrl-C; 1 failed or refused, 2 wrong command\n"
      "line.");
  AddOptions(app, options);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (options.explain) {
    std::cout << kPrivacy;
    return Finish();
  }
  if (site::MissesController(options.learner.participant, federation::Role::kLearner)) {
    return Complain("--join is missing: the controller's HOST:PORT, or --enrol with an invitation",
                    kUsage);
  }
  if (options.learner.site.data.what.empty()) {
    return Complain("--data is missing: what does this site learn from?", kUsage);
  }
  if (!options.share.empty()) {
    Result<site::ShareOfData> share = site::ParseShare(options.share);
    if (!share) return Complain(share.error().message, kUsage);
    options.learner.site.share = *share;
  }
  const Interrupts interrupts;
  train::KeepFreedMemory();
  Console console;
  Result<std::string> ended = site::RunLearner(options.learner, console, interrupts.token());
  if (!ended && interrupts.asked()) return Finish();  // Ctrl-C before it was welcomed
  if (!ended) return Complain(ended.error().message);
  std::cout << *ended << "\n";
  return Finish();
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
