#include "metis/site/site.h"

#include <numeric>
#include <utility>

#include "metis/builtin/workload.h"
#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/data/faulty_labels.h"
#include "metis/data/source.h"
#include "metis/task/federation_data.h"
#include "metis/task/model_facts.h"
#include "metis/train/torch_trainer.h"

namespace metis::site {
namespace {

Result<std::shared_ptr<builtin::BuiltinWorkload>> MakeBuiltin(config::Config config,
                                                              uint32_t learners) {
  if (Result<void> read = data::ReadTable(config.data); !read) return read.error();
  auto made = builtin::BuiltinWorkload::Create(
      config.simulation.builtin, config.data, config.training, learners,
      federation::NeedsValidationSet(config.federation.policy), config.simulation.seed);
  if (!made) return made.error();
  return std::shared_ptr<builtin::BuiltinWorkload>(*std::move(made));
}

std::string Describe(std::string_view data, const LearnerSite& site) {
  const uint64_t validation = site.validation_counts.examples();
  return Text(data, ": ", site.tools.trainer->training_examples(), " training examples",
              validation > 0 ? Text(", ", validation, " for validation") : std::string());
}

Result<LearnerSite> BuiltinSite(const SiteOptions& options, const config::Config& config) {
  if (!options.share) {
    return Invalid(Text("--data builtin is made up for the whole federation: say which part is ",
                        "this learner's, e.g. --share 0/", config.federation.membership.learners));
  }
  if (!options.faulty.empty()) return Invalid("--faulty needs real data: --data builtin has none");
  auto workload = MakeBuiltin(config, options.share->of);
  if (!workload) return workload.error();
  const LearnerId part(options.share->index);
  LearnerSite site;
  site.schema = (*workload)->initial()->schema();
  site.pool = &(*workload)->pool();
  site.tools.trainer = (*workload)->MakeTrainer(part);
  site.tools.own = (*workload)->MakeEvaluator(part);
  site.tools.of_others = (*workload)->MakeEvaluator(part);
  if (site.tools.own) site.validation_counts = site.tools.own->declared();
  site.owner = *workload;
  site.description = Describe(data::kBuiltinData, site);
  return site;
}

// The share of the options, with wrong labels if they say so.
Result<task::Share> TakeShare(const SiteOptions& options, config::Config config, LearnerId id) {
  config.source.test_examples.reset();  // the observer's business
  std::optional<data::FaultyLabels> faulty;
  const uint32_t index = options.share ? options.share->index : 0;
  if (!options.faulty.empty()) {
    Result<data::FaultyLabels> parsed = data::ParseFaultyLabels(Text(index, ":", options.faulty));
    if (!parsed) return Invalid(Text("--faulty ", options.faulty, ": ", parsed.error().message));
    faulty = *parsed;
  }
  if (!options.share) config.source.examples.reset();
  Result<task::FederationData> data = task::LoadFederationData(config, options.data);
  if (!data) return data.error();
  if (!options.share) {
    // Nothing of a site's own file is held out: the test set is somewhere else.
    data->dealt.resize(data->train->size());
    std::iota(data->dealt.begin(), data->dealt.end(), 0U);
    if (faulty) {
      Result<void> fits = data::CheckFaultyLabels({&*faulty, 1}, 1, data->train->classes());
      if (!fits) return fits.error().In("--faulty");
    }
    return task::UndividedShare(*data, config, id.value(), faulty ? &*faulty : nullptr);
  }
  if (Result<void> read = data::ReadTable(config.data); !read) return read.error();
  if (faulty) config.source.faulty = {*faulty};
  std::erase_if(config.source.faulty,
                [&](const data::FaultyLabels& each) { return each.learner >= options.share->of; });
  Result<std::vector<task::Share>> shares = task::DealShares(*data, config, options.share->of);
  if (!shares) return shares.error().In(Text("--share ", index, "/", options.share->of));
  return std::move((*shares)[index]);
}

// What a network's pool and examples belong to.
struct TorchSite {
  train::ArchitecturePtr architecture;
  std::unique_ptr<ModelPool> pool;
};

Result<std::shared_ptr<TorchSite>> BuildNetwork(const config::Config& config,
                                                const data::DataSource& source,
                                                const data::Dataset& set) {
  Result<train::ArchitecturePtr> architecture =
      train::Architecture::For(task::NamedModel(config.training.model, source.what, set), set,
                               config.training.share_statistics);
  if (!architecture) {
    return architecture.error().In(Text("the federation's model does not suit ", source.what));
  }
  auto site = std::make_shared<TorchSite>();
  site->architecture = *std::move(architecture);
  site->pool = std::make_unique<ModelPool>(site->architecture->schema());
  return site;
}

}  // namespace

Result<ShareOfData> ParseShare(std::string_view text) {
  const auto number = [](std::string_view digits, uint32_t& value) {
    const std::optional<uint32_t> number = ParseNumber<uint32_t>(digits);
    value = number.value_or(0);
    return number.has_value();
  };
  const size_t slash = text.find('/');
  ShareOfData share;
  const bool good = slash != text.npos && number(text.substr(0, slash), share.index) &&
                    number(text.substr(slash + 1), share.of) && share.index < share.of &&
                    share.of <= 1'000'000;
  if (good) return share;
  return Invalid(Text("--share ", text, ": must be K/N, the K-th of N parts with K from 0 to N-1, ",
                      "e.g. 0/10"));
}

Result<LearnerSite> OpenLearnerSite(const SiteOptions& options, const config::Config& config,
                                    LearnerId id) {
  if (options.data.what == data::kBuiltinData) return BuiltinSite(options, config);
  Result<task::Share> share = TakeShare(options, config, id);
  if (!share) return share.error();
  Result<std::shared_ptr<TorchSite>> network =
      BuildNetwork(config, options.data, *share->training.set);
  if (!network) return network.error();
  // As in a simulation: a share's draws are those of the learner whose it would be there.
  const LearnerId key = options.share ? LearnerId(options.share->index) : id;
  const train::ArchitecturePtr& architecture = (*network)->architecture;
  LearnerSite site;
  site.schema = architecture->schema();
  site.pool = (*network)->pool.get();
  auto trainer = train::MakeTrainer(architecture, share->training, config.training, *site.pool,
                                    config.simulation.seed, key);
  if (!trainer) return trainer.error();
  site.tools.trainer = *std::move(trainer);
  if (share->validation.size() > 0) {
    for (std::unique_ptr<learner::Evaluator>* each : {&site.tools.own, &site.tools.of_others}) {
      auto evaluator = train::MakeEvaluator(architecture, share->validation, config.training);
      if (!evaluator) return evaluator.error();
      *each = *std::move(evaluator);
    }
    site.validation_counts = site.tools.own->declared();
  }
  site.owner = *network;
  site.description = Describe(options.data.what, site);
  return site;
}

Result<ObserverSite> OpenObserverSite(const data::DataSource& data, bool whole,
                                      const config::Config& config) {
  ObserverSite site;
  if (data.what == data::kBuiltinData) {
    auto workload = MakeBuiltin(config, config.federation.membership.learners);
    if (!workload) return workload.error();
    site.schema = (*workload)->initial()->schema();
    site.pool = &(*workload)->pool();
    site.testers = (*workload)->MakeTesters();
    site.owner = *workload;
  } else {
    config::Config own = config;
    own.source.examples.reset();  // the learners' business
    Result<task::FederationData> loaded = task::LoadFederationData(own, data);
    if (!loaded) return loaded.error();
    if (whole) loaded->test = train::Examples::All(loaded->train);
    Result<std::shared_ptr<TorchSite>> network = BuildNetwork(config, data, *loaded->train);
    if (!network) return network.error();
    site.schema = (*network)->architecture->schema();
    site.pool = (*network)->pool.get();
    for (train::Examples& part : task::TestParts(loaded->test)) {
      auto tester =
          train::MakeEvaluator((*network)->architecture, std::move(part), config.training);
      if (!tester) return tester.error().In("test set");
      site.testers.push_back(*std::move(tester));
    }
    site.owner = *network;
  }
  for (const auto& tester : site.testers) {
    if (Result<void> added = site.test_set.Add(tester->declared()); !added) {
      return added.error().In("test set");
    }
  }
  site.description = Text(data.what, ": ", site.test_set.examples(), " test examples");
  return site;
}

}  // namespace metis::site
