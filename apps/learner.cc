// metis-learner: one learner of a federation over the network, beside its data.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/data_options.h"
#include "apps/interrupts.h"
#include "apps/participant_options.h"
#include "apps/site.h"
#include "metis/core/text.h"
#include "metis/drivers/processes.h"
#include "metis/train/runtime.h"

namespace metis::apps {
namespace {

constexpr Duration kLook = Duration::Milliseconds(200);  // how often progress is looked at
constexpr Duration kGrace = Duration::Seconds(5);        // for the last words

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
  site::ParticipantOptions participant;
  SiteOptions site;
  std::string group;
  std::string share;
  double slowdown = 0;
  bool explain = false;
};

// The group that was named, if the federation knows it; its first one by default.
Result<std::string> GroupOf(const std::string& named, const config::Config& config) {
  std::vector<std::string> known;
  for (const sim::DeviceGroup& group : config.simulation.groups) known.push_back(group.name);
  if (named.empty()) return known.empty() ? std::string() : known.front();
  if (std::find(known.begin(), known.end(), named) != known.end()) return named;
  const std::string near = Nearest(named, known);
  return Invalid(Text("--group ", named, ": the federation's groups are ", Join(known),
                      near.empty() ? "" : Text("; did you mean ", near, "?")));
}

std::string Details(const drivers::LearnerProgress& seen) {
  std::string text =
      Text(seen.state, ", version ", seen.version, ", cycle ", seen.cycle, ", epoch ", seen.epoch,
           ", loss ", Fixed(seen.training_loss, 3), ", ", seen.updates_acknowledged, " updates");
  if (seen.updates_refused > 0) text += Text(" (", seen.updates_refused, " refused)");
  return Text(text, ", ", seen.models_evaluated, " evaluated, ", seen.examples_trained,
              " examples");
}

// What makes it impossible to go on, as the client says it on a thread of its own.
class Misfortune {
 public:
  void Set(const Error& error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  std::optional<Error> Get() const {
    std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

// Until it is dismissed, or leaves, or can't go on. The words say how it ended.
Result<std::string> Work(drivers::LearnerProcess& host, const Misfortune& gone, Console& console,
                         const Interrupts& interrupts) {
  bool left = false;
  for (;;) {
    if (std::optional<Result<std::string>> ended = host.WaitFor(kLook)) return *std::move(ended);
    if (std::optional<Error> error = gone.Get()) return *std::move(error);
    if (interrupts.asked() && !left) {
      console.Say("leaving; Ctrl-C again ends at once");
      host.Leave();
      left = true;
    }
    const drivers::LearnerProgress seen = host.progress();
    console.Update(0, [&] { return Details(seen); });
  }
}

Result<std::string> Learn(const Options& options, Console& console, const Interrupts& interrupts) {
  Result<site::Joined> joined = site::JoinFederation(
      options.participant, federation::Role::kLearner, console, interrupts.token());
  if (!joined) return joined.error();
  const config::Config& config = joined->config;
  const rpc::Welcome& welcome = joined->client->welcome();
  Result<std::string> group = GroupOf(options.group, config);
  if (!group) return group.error();
  const std::string warning = train::PrecisionWarning(config.training.precision);
  if (!warning.empty()) console.Say(warning);
  Result<LearnerSite> site = OpenLearnerSite(options.site, config, welcome.learner);
  if (!site) return site.error();
  if (const std::string differs = site::SchemaDifference(*welcome.schema, *site->schema);
      !differs.empty()) {
    return Invalid(Text("the federation trains another model than ", options.site.data.what,
                        " gives here: is it the right data set?\n", differs));
  }
  console.Say(Text(joined->name, ": ", site->description));

  drivers::LearnerHostOptions host_options;
  host_options.settings = config.federation;
  host_options.declared = {.learner = welcome.learner,
                           .incarnation = joined->incarnation,
                           .role = federation::Role::kLearner,
                           .name = joined->name,
                           .group = *group,
                           .training_examples = site->tools.trainer->training_examples(),
                           .validation_counts = site->validation_counts,
                           .schema_hash = site->schema->hash()};
  host_options.seed = config.simulation.seed;
  drivers::LearnerProcess host(
      std::move(host_options), std::move(site->tools), *joined->client,
      [&](const std::string& text) { console.Say(text); }, options.slowdown);
  Misfortune gone;
  joined->client->Attach(host, *site->pool, [&](const Error& error) { gone.Set(error); });
  host.Start();
  Result<std::string> ended = Work(host, gone, console, interrupts);
  joined->client->Close(kGrace);
  if (!ended) return ended;
  const drivers::LearnerProgress seen = host.progress();
  return Text(*ended, " (", seen.updates_acknowledged, " updates, ", seen.models_evaluated,
              " models evaluated, ", seen.examples_trained, " examples trained)");
}

void AddOptions(CLI::App& app, Options& options) {
  AddParticipantOptions(app, options.participant);
  app.add_option("--data", options.site.data.what,
                 "This site's data: a name of `metis data list`, a file, or builtin");
  app.add_option("--share", options.share,
                 "K/N: of the data only the K-th of N parts (from 0), dealt as the federation's\n"
                 "[data] says: for experiments on one data set");
  app.add_option("--group", options.group,
                 "The group of machines that this one is of; default: the federation's first");
  app.add_option("--slowdown", options.slowdown,
                 "Waits this many times as long as it trained after every epoch: a slow machine")
      ->check(NumberWithin(0, 1e6));
  app.add_option("--faulty", options.site.faulty,
                 "Wrong labels, for experiments: labels=random, labels=noise:0.3, ...");
  app.add_flag("--explain-privacy", options.explain,
               "Say exactly what leaves this site and what never does, and end");
  AddLoadOptions(app, options.site.data);
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
  if (site::MissesController(options.participant, federation::Role::kLearner)) {
    return Complain("--join is missing: the controller's HOST:PORT, or --enrol with an invitation",
                    kUsage);
  }
  if (options.site.data.what.empty()) {
    return Complain("--data is missing: what does this site learn from?", kUsage);
  }
  if (!options.share.empty()) {
    Result<ShareOfData> share = ParseShare(options.share);
    if (!share) return Complain(share.error().message, kUsage);
    options.site.share = *share;
  }
  const Interrupts interrupts;
  train::KeepFreedMemory();
  Console console;
  console.Begin("learner");
  Result<std::string> ended = Learn(options, console, interrupts);
  if (!ended && interrupts.asked()) return Finish();  // Ctrl-C before it was welcomed
  if (!ended) return Complain(ended.error().message);
  std::cout << *ended << "\n";
  return Finish();
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
