#include "metis/site/learner_run.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "metis/core/text.h"
#include "metis/drivers/processes.h"
#include "metis/site/failure.h"
#include "metis/train/runtime.h"

namespace metis::site {
namespace {

// The group that was named, if the federation knows it; its first one by default.
Result<std::string> GroupOf(const std::string& named, const config::Config& config) {
  std::vector<std::string> known;
  for (const auto& group : config.simulation.groups) known.push_back(group.name);
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

// Until it is dismissed, or leaves, or can't go on. The words say how it ended.
Result<std::string> Work(drivers::LearnerProcess& host, const Failure& gone, Narrator& narrator,
                         const std::stop_token& stop) {
  bool left = false;
  for (;;) {
    if (std::optional<Result<std::string>> ended = host.WaitFor(kLook)) return *std::move(ended);
    if (std::optional<Error> error = gone.Get()) return *std::move(error);
    if (stop.stop_requested() && !left) {
      narrator.Say("leaving; Ctrl-C again ends at once");
      host.Leave();
      left = true;
    }
    const drivers::LearnerProgress seen = host.progress();
    narrator.Update(0, [&] { return Details(seen); });
  }
}

}  // namespace

Result<std::string> RunLearner(const LearnerOptions& options, Narrator& narrator,
                               const std::stop_token& stop) {
  narrator.Begin("learner");
  Result<Joined> joined =
      JoinFederation(options.participant, federation::Role::kLearner, narrator, stop);
  if (!joined) return joined.error();
  const config::Config& config = joined->config;
  const rpc::Welcome& welcome = joined->client->welcome();
  Result<std::string> group = GroupOf(options.group, config);
  if (!group) return group.error();
  const std::string warning = train::PrecisionWarning(config.training.precision);
  if (!warning.empty()) narrator.Say(warning);
  Result<LearnerSite> site = OpenLearnerSite(options.site, config, welcome.learner);
  if (!site) return site.error();
  if (const std::string differs = SchemaDifference(*welcome.schema, *site->schema);
      !differs.empty()) {
    return Invalid(Text("the federation trains another model than ", options.site.data.what,
                        " gives here: is it the right data set?\n", differs));
  }
  narrator.Say(Text(joined->name, ": ", site->description));

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
      [&](const std::string& text) { narrator.Say(text); }, options.slowdown);
  Failure gone;
  joined->client->Attach(host, *site->pool, [&](const Error& error) { gone.Set(error); });
  host.Start();
  Result<std::string> ended = Work(host, gone, narrator, stop);
  joined->client->Close(kGrace);
  if (!ended) return ended;
  const drivers::LearnerProgress seen = host.progress();
  return Text(*ended, " (", seen.updates_acknowledged, " updates, ", seen.models_evaluated,
              " models evaluated, ", seen.examples_trained, " examples trained)");
}

}  // namespace metis::site
