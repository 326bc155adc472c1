#include "metis/task/federation_data.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "metis/core/text.h"
#include "metis/data/faulty_labels.h"
#include "metis/federation/settings.h"

namespace metis::task {
namespace {

// Tests are done side by side in so many parts, whatever the number of threads.
constexpr size_t kTestParts = 8;

// Draws that concern no learner.
constexpr uint64_t kNobody = UINT64_MAX;

// Divides the indices of a set by class: `fraction` of them second.
data::Split Divide(const data::Dataset& set, double fraction, uint64_t seed) {
  std::vector<uint32_t> all(set.size());
  std::iota(all.begin(), all.end(), 0U);
  return data::StratifiedSplit(all, set.labels(), set.classes(), fraction, seed, kNobody);
}

// Keeps `wanted` of the indices, each class in proportion; all if nothing is said.
Result<void> Thin(const data::Dataset& set, const std::optional<uint64_t>& wanted,
                  std::string_view key, uint64_t seed, std::vector<uint32_t>& indices) {
  if (!wanted || *wanted == indices.size()) return {};
  if (*wanted > indices.size()) {
    return Invalid(Text(key, " = ", *wanted, ": ", set.name(), " has ", indices.size()));
  }
  const double part = static_cast<double>(*wanted) / static_cast<double>(indices.size());
  indices =
      data::StratifiedSplit(indices, set.labels(), set.classes(), part, seed, kNobody).validation;
  return {};
}

std::vector<uint32_t> LabelsOf(const data::Dataset& set, const std::vector<uint32_t>& examples) {
  std::vector<uint32_t> labels;
  labels.reserve(examples.size());
  for (uint32_t example : examples) labels.push_back(set.labels()[example]);
  return labels;
}

// The share of a learner whose examples are `own`, by the labels that it sees.
Share MakeShare(const FederationData& data, const config::Config& config,
                const std::vector<uint32_t>& own, std::vector<uint64_t> class_counts,
                const std::vector<uint32_t>& labels, uint64_t learner) {
  data::Split split{own, {}};
  if (federation::NeedsValidationSet(config.federation.policy)) {
    split =
        data::StratifiedSplit(own, labels, data.train->classes(),
                              config.training.validation_fraction, config.simulation.seed, learner);
  }
  Share share{train::Examples::Of(data.train, std::move(split.training)),
              train::Examples::Of(data.train, std::move(split.validation)),
              std::move(class_counts)};
  for (train::Examples* part : {&share.training, &share.validation}) {
    for (size_t i = 0; i < part->size(); ++i) part->labels[i] = labels[part->indices[i]];
  }
  return share;
}

}  // namespace

Result<FederationData> LoadFederationData(const config::Config& config,
                                          const data::DataSource& source) {
  Result<data::LoadedData> loaded = data::LoadData(source);
  if (!loaded) return loaded.error();
  const uint64_t seed = config.simulation.seed;
  FederationData data;
  data.train = std::make_shared<const data::Dataset>(std::move(loaded->train));
  data.dealt.resize(data.train->size());
  std::iota(data.dealt.begin(), data.dealt.end(), 0U);
  if (loaded->test) {
    data.test =
        train::Examples::All(std::make_shared<const data::Dataset>(*std::move(loaded->test)));
  } else {
    data::Split split = Divide(*data.train, config.source.test_fraction, seed);
    data.dealt = std::move(split.training);
    data.test = train::Examples::Of(data.train, std::move(split.validation));
  }
  Result<void> thinned =
      Thin(*data.train, config.source.examples, "data.examples", seed, data.dealt);
  if (!thinned) return thinned.error();
  std::vector<uint32_t> tested = data.test.indices;
  thinned = Thin(*data.test.set, config.source.test_examples, "data.test_examples", seed, tested);
  if (!thinned) return thinned.error();
  if (tested.size() != data.test.size()) {
    data.test = train::Examples::Of(data.test.set, std::move(tested));
  }
  return data;
}

// Partitions number the dealt examples; shares number those of the data set.
Result<std::vector<Share>> DealShares(const FederationData& data, const config::Config& config,
                                      uint32_t learners) {
  const uint32_t classes = data.train->classes();
  const uint64_t seed = config.simulation.seed;
  if (Result<void> fits = data::CheckFaultyLabels(config.source.faulty, learners, classes); !fits) {
    return fits.error().In("data.faulty");
  }
  std::vector<uint32_t> writers;
  for (size_t i = 0; data.train->has_writers() && i < data.dealt.size(); ++i) {
    writers.push_back(data.train->writers()[data.dealt[i]]);
  }
  Result<data::Partition> partition = data::MakePartition(
      LabelsOf(*data.train, data.dealt), classes, learners, config.data, seed, writers);
  if (!partition) return partition.error();

  std::vector<uint32_t> labels(data.train->labels().begin(), data.train->labels().end());
  std::vector<Share> shares;
  for (uint32_t k = 0; k < learners; ++k) {
    std::vector<uint32_t> own;
    for (uint32_t place : partition->shares[k].examples) own.push_back(data.dealt[place]);
    for (const data::FaultyLabels& faulty : config.source.faulty) {
      if (faulty.learner == k) data::SpoilLabels(faulty, own, classes, seed, labels);
    }
    shares.push_back(
        MakeShare(data, config, own, std::move(partition->shares[k].class_counts), labels, k));
  }
  return shares;
}

Share UndividedShare(const FederationData& data, const config::Config& config, uint64_t id,
                     const data::FaultyLabels* faulty) {
  std::vector<uint32_t> labels(data.train->labels().begin(), data.train->labels().end());
  std::vector<uint64_t> class_counts(data.train->classes());
  for (uint32_t example : data.dealt) ++class_counts[labels[example]];
  if (faulty != nullptr) {
    data::SpoilLabels(*faulty, data.dealt, data.train->classes(), config.simulation.seed, labels);
  }
  return MakeShare(data, config, data.dealt, std::move(class_counts), labels, id);
}

std::vector<train::Examples> TestParts(const train::Examples& test) {
  std::vector<train::Examples> all;
  const size_t parts = std::min(kTestParts, std::max<size_t>(1, test.size()));
  for (size_t part = 0; part < parts; ++part) {
    const auto first = static_cast<std::ptrdiff_t>(part * test.size() / parts);
    const auto last = static_cast<std::ptrdiff_t>((part + 1) * test.size() / parts);
    std::vector<uint32_t> indices(test.indices.begin() + first, test.indices.begin() + last);
    all.push_back(train::Examples::Of(test.set, std::move(indices)));
  }
  return all;
}

}  // namespace metis::task
