#include "metis/data/partition.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metis/core/check.h"
#include "metis/core/math.h"
#include "metis/core/random.h"
#include "metis/core/text.h"
#include "metis/data/allotment.h"
#include "metis/data/writer_partition.h"

namespace metis::data {
namespace {

// What a draw of the partition decides; the `epoch` of its key.
enum class Draw : uint64_t {
  kClassTies = 1,
  kProportions = 2,
  kExampleOrder = 3,
  kWriterOrder = 4
};

Random PartitionRandom(uint64_t seed, Draw draw, uint64_t learner, uint64_t cls) {
  return Random({.seed = seed,
                 .learner = learner,
                 .cycle = cls,
                 .epoch = static_cast<uint64_t>(draw),
                 .purpose = Purpose::kPartition});
}

// `total` in whole numbers, proportional to `weights` by largest remainders (a tie goes to the
// first).
std::vector<uint64_t> Apportion(uint64_t total, const std::vector<double>& weights) {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<uint64_t> sizes(weights.size());
  std::vector<double> remainders(weights.size());
  uint64_t given = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    double exact = static_cast<double>(total) * weights[k] / sum;
    sizes[k] = static_cast<uint64_t>(std::floor(exact));
    remainders[k] = exact - std::floor(exact);
    given += sizes[k];
  }
  METIS_CHECK(given <= total && total - given <= weights.size());
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  for (size_t i = 0; given < total; ++i, ++given) ++sizes[order[i]];
  return sizes;
}

std::vector<uint64_t> WantedSizes(uint64_t total, uint32_t learners,
                                  const PartitionSettings& settings) {
  std::vector<double> weights(learners, 1.0);
  for (uint32_t k = 0; k < learners; ++k) {
    if (settings.sizes == SizeDistribution::kSkewed) weights[k] = learners - k;
    if (settings.sizes == SizeDistribution::kPowerLaw) {
      weights[k] = PortablePow(k + 1.0, -settings.powerlaw_exponent);
    }
  }
  std::vector<uint64_t> sizes = Apportion(total, weights);
  // A learner without an example cannot train: the largest gives up one (the last of equals, so
  // that sizes stay in order).
  for (uint64_t& size : sizes) {
    if (size > 0) continue;
    auto largest = std::max_element(sizes.rbegin(), sizes.rend());
    --*largest;
    ++size;
  }
  return sizes;
}

std::vector<std::vector<uint32_t>> ExamplesByClass(std::span<const uint32_t> labels,
                                                   uint32_t classes) {
  std::vector<std::vector<uint32_t>> members(classes);
  for (size_t i = 0; i < labels.size(); ++i) members[labels[i]].push_back(static_cast<uint32_t>(i));
  return members;
}

// Floor and ceiling of the exact proportion: the allotment then finds whole numbers that add up
// both ways.
void AskIid(Allotment& allotment, const std::vector<uint64_t>& sizes,
            const std::vector<uint64_t>& pools, uint64_t total) {
  for (size_t k = 0; k < sizes.size(); ++k) {
    for (size_t c = 0; c < pools.size(); ++c) {
      Allotment::Cell& cell = allotment.at(k, c);
      cell.weight = static_cast<double>(pools[c]);
      cell.least = sizes[k] * pools[c] / total;  // both below 2^32: example indices are 32 bits
      cell.most = cell.least + (sizes[k] * pools[c] % total > 0 ? 1 : 0);
    }
  }
}

// How many classes each learner is to hold. Fails where the runs do not fit learners or data.
Result<std::vector<uint32_t>> ClassesPerLearner(const PartitionSettings& settings,
                                                uint32_t learners,
                                                const std::vector<uint64_t>& pools) {
  auto present = static_cast<uint32_t>(
      std::count_if(pools.begin(), pools.end(), [](uint64_t pool) { return pool > 0; }));
  std::vector<uint32_t> wanted;
  for (const ClassRun& run : settings.class_runs) {
    if (run.classes == 0 || run.classes > present) {
      return Invalid(Text("classes \"", FormatClasses(settings), "\" asks for ", run.classes,
                          " classes a learner, the data hold ", present, ": ask for 1 to ",
                          present));
    }
    uint64_t count = run.learners;
    bool last = &run == &settings.class_runs.back();
    if (count == 0 && last) count = learners - std::min<uint64_t>(learners, wanted.size());
    if (count == 0 || wanted.size() + count > learners) {
      wanted.clear();
      break;
    }
    wanted.insert(wanted.end(), count, run.classes);
  }
  if (wanted.size() == learners) return wanted;
  return Invalid(
      Text("classes \"", FormatClasses(settings), "\" does not add up to ", learners,
           " learners: the numbers after each \"x\" must add up to ", learners,
           "; the last \"x\" and its number may be left out to mean all remaining learners"));
}

// Exact class sets. Largest learner first, each takes the classes with the most examples that
// nobody has claimed yet, so that demand is balanced over the pools; ties are drawn. A class has no
// more holders than examples, and every holder gets at least one.
Result<void> AskClassSets(Allotment& allotment, const std::vector<uint64_t>& sizes,
                          const std::vector<uint64_t>& pools, const std::vector<uint32_t>& wanted,
                          uint64_t seed) {
  struct Pool {
    double unclaimed = 0;
    uint64_t holders = 0;
    uint64_t tie = 0;
  };
  std::vector<Pool> state(pools.size());
  for (size_t c = 0; c < pools.size(); ++c) state[c].unclaimed = static_cast<double>(pools[c]);
  for (size_t k = 0; k < sizes.size(); ++k) {
    Random random = PartitionRandom(seed, Draw::kClassTies, k, 0);
    for (Pool& pool : state) pool.tie = random.Next();
    std::vector<size_t> candidates;
    for (size_t c = 0; c < pools.size(); ++c) {
      if (state[c].holders < pools[c]) candidates.push_back(c);
    }
    auto held = static_cast<size_t>(std::min<uint64_t>(wanted[k], sizes[k]));
    if (candidates.size() < held) {
      return Invalid(Text("learner ", k, " is to hold ", held, " classes, but only ",
                          candidates.size(), " of ", pools.size(),
                          " still have an example that no other learner holds: ask for fewer "
                          "classes a learner, fewer learners, or give more data"));
    }
    std::sort(candidates.begin(), candidates.end(), [&](size_t a, size_t b) {
      if (state[a].unclaimed != state[b].unclaimed) return state[a].unclaimed > state[b].unclaimed;
      return state[a].tie != state[b].tie ? state[a].tie < state[b].tie : a < b;
    });
    for (size_t i = 0; i < held; ++i) {
      size_t c = candidates[i];
      state[c].unclaimed -= static_cast<double>(sizes[k]) / static_cast<double>(held);
      ++state[c].holders;
      allotment.at(k, c) = {.weight = 1, .least = 1, .most = pools[c], .count = 0};
    }
  }
  return {};
}

// Dirichlet(alpha) over the classes that have examples: independent gammas, in proportion.
void AskDirichlet(Allotment& allotment, const std::vector<uint64_t>& pools, double alpha,
                  uint64_t seed) {
  std::vector<size_t> present;
  for (size_t c = 0; c < pools.size(); ++c) {
    if (pools[c] > 0) present.push_back(c);
  }
  for (size_t k = 0; k < allotment.learners(); ++k) {
    double sum = 0;
    for (size_t c : present) {
      Allotment::Cell& cell = allotment.at(k, c);
      cell.weight = PartitionRandom(seed, Draw::kProportions, k, c).Gamma(alpha);
      cell.most = pools[c];
      sum += cell.weight;
    }
    if (sum > 0) continue;
    // A small alpha can round every gamma to zero: then the limit, all in one class.
    Random random = PartitionRandom(seed, Draw::kProportions, k, pools.size());
    allotment.at(k, present[random.Below(present.size())]).weight = 1;
  }
}

Result<void> CheckTable(const PartitionSettings& settings, uint32_t learners, uint32_t classes) {
  const ClassTable& table = settings.table;
  METIS_CHECK(!table.counts.empty());  // ReadTable() comes first
  if (settings.sizes != SizeDistribution::kUniform) {
    return Invalid(Text("sizes \"", FormatSizes(settings), "\" cannot go with classes \"",
                        FormatClasses(settings),
                        "\": the table decides the sizes; leave sizes out"));
  }
  if (table.counts.size() != learners) {
    return Invalid(Text(table.file, ": the table has ", table.counts.size(), " learners, not ",
                        learners, ": ask for ", table.counts.size(),
                        " learners, or write one line for each"));
  }
  if (table.counts[0].size() <= classes) return {};
  return Invalid(Text(table.file, ": column ", table.first_column + classes + 1, " is of class ",
                      classes, ", but the data set has ", classes, " classes, from 0"));
}

std::vector<uint64_t> SizesOf(const ClassTable& table) {
  std::vector<uint64_t> sizes;
  for (const std::vector<uint64_t>& row : table.counts) {
    sizes.push_back(std::accumulate(row.begin(), row.end(), uint64_t{0}));
  }
  return sizes;
}

// A class that has enough for everyone who asks gives each at least one.
void AskTable(Allotment& allotment, const std::vector<uint64_t>& pools, const ClassTable& table) {
  for (size_t c = 0; c < table.counts[0].size(); ++c) {
    uint64_t holders = 0;
    for (const std::vector<uint64_t>& row : table.counts) holders += row[c] > 0 ? 1 : 0;
    const uint64_t least = holders <= pools[c] ? 1 : 0;
    for (size_t k = 0; k < table.counts.size(); ++k) {
      const uint64_t count = table.counts[k][c];
      if (count == 0) continue;
      allotment.at(k, c) = {
          .weight = static_cast<double>(count - least), .least = least, .most = count, .count = 0};
    }
  }
}

Result<void> CheckNobodyIsEmpty(const Partition& partition, const ClassTable& table) {
  for (size_t k = 0; k < partition.shares.size(); ++k) {
    if (!partition.shares[k].examples.empty()) continue;
    return Invalid(Text(table.file, ": learner ", k, " asks for ", partition.shares[k].wanted,
                        " examples and would get none: its classes have no example left"));
  }
  return {};
}

Result<void> CheckInput(std::span<const uint32_t> labels, uint32_t classes, uint32_t learners,
                        const PartitionSettings& settings) {
  if (learners == 0) return Invalid("a partition needs at least 1 learner, not 0");
  if (labels.size() < learners) {
    return Invalid(Text(labels.size(), " examples cannot be dealt to ", learners,
                        " learners, at least one each: use fewer learners or more data"));
  }
  if (labels.size() > UINT32_MAX) {
    return Invalid(Text(labels.size(), " examples are more than ", UINT32_MAX,
                        ", the most that a partition can deal"));
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < classes) continue;
    return Invalid(Text("example ", i, " has label ", labels[i], ", the data set has ", classes,
                        " classes: labels must be below that"));
  }
  if (!ValidPowerLawExponent(settings.powerlaw_exponent)) {
    return Invalid(Text("the power law's exponent is ", settings.powerlaw_exponent,
                        ": must be above 0 and at most 100, e.g. \"powerlaw:1.5\""));
  }
  if (!ValidDirichletAlpha(settings.dirichlet_alpha)) {
    return Invalid(Text("the Dirichlet alpha is ", settings.dirichlet_alpha,
                        ": must be from 0.001 to 1000000, e.g. \"dirichlet:0.5\""));
  }
  return {};
}

// Deals the examples of each class, in a drawn order, by the allotted counts.
Partition Deal(const Allotment& allotment, std::vector<std::vector<uint32_t>> members,
               const std::vector<uint64_t>& sizes, uint64_t seed) {
  Partition partition;
  partition.left_over = allotment.left_over();
  partition.shortfall = allotment.shortfall();
  partition.shares.resize(sizes.size());
  for (size_t k = 0; k < sizes.size(); ++k) {
    partition.shares[k].wanted = sizes[k];
    partition.shares[k].class_counts.resize(members.size());
  }
  for (size_t c = 0; c < members.size(); ++c) {
    PartitionRandom(seed, Draw::kExampleOrder, 0, c).Shuffle(std::span(members[c]));
    auto next = members[c].begin();
    for (size_t k = 0; k < sizes.size(); ++k) {
      uint64_t count = allotment.at(k, c).count;
      Share& share = partition.shares[k];
      share.class_counts[c] = count;
      share.examples.insert(share.examples.end(), next, next + static_cast<ptrdiff_t>(count));
      next += static_cast<ptrdiff_t>(count);
    }
  }
  for (Share& share : partition.shares) std::sort(share.examples.begin(), share.examples.end());
  return partition;
}

}  // namespace

bool ValidPowerLawExponent(double exponent) { return exponent > 0 && exponent <= 100; }

bool ValidDirichletAlpha(double alpha) { return alpha >= 1e-3 && alpha <= 1e6; }

bool AsksEqualSizes(const PartitionSettings& settings) {
  return settings.sizes == SizeDistribution::kUniform &&
         settings.classes != ClassDistribution::kTable;
}

Result<Partition> MakePartition(std::span<const uint32_t> labels, uint32_t classes,
                                uint32_t learners, const PartitionSettings& settings, uint64_t seed,
                                std::span<const uint32_t> writers) {
  Result<void> valid = CheckInput(labels, classes, learners, settings);
  if (!valid) return valid.error();
  if (settings.classes == ClassDistribution::kWriters) {
    if (writers.empty()) {
      return Invalid(
          "classes \"writers\" needs to know who wrote each example, and this data set "
          "does not: choose another distribution of classes");
    }
    return PartitionByWriters(labels, classes, writers,
                              WantedSizes(labels.size(), learners, settings),
                              PartitionRandom(seed, Draw::kWriterOrder, 0, 0));
  }
  std::vector<std::vector<uint32_t>> members = ExamplesByClass(labels, classes);
  std::vector<uint64_t> pools;
  for (const std::vector<uint32_t>& of_class : members) pools.push_back(of_class.size());
  const bool table = settings.classes == ClassDistribution::kTable;
  if (table) valid = CheckTable(settings, learners, classes);
  if (!valid) return valid.error();
  std::vector<uint64_t> sizes =
      table ? SizesOf(settings.table) : WantedSizes(labels.size(), learners, settings);

  Allotment allotment(sizes, pools);
  switch (settings.classes) {
    case ClassDistribution::kIid:
      AskIid(allotment, sizes, pools, labels.size());
      break;
    case ClassDistribution::kNonIid: {
      Result<std::vector<uint32_t>> wanted = ClassesPerLearner(settings, learners, pools);
      if (!wanted) return wanted.error();
      Result<void> asked = AskClassSets(allotment, sizes, pools, *wanted, seed);
      if (!asked) return asked.error();
      break;
    }
    case ClassDistribution::kDirichlet:
      AskDirichlet(allotment, pools, settings.dirichlet_alpha, seed);
      break;
    case ClassDistribution::kTable:
      AskTable(allotment, pools, settings.table);
      break;
    case ClassDistribution::kWriters:
      break;  // dealt above
  }
  allotment.Solve();
  Partition partition = Deal(allotment, std::move(members), sizes, seed);
  if (table) valid = CheckNobodyIsEmpty(partition, settings.table);
  if (!valid) return valid.error();
  return partition;
}

Split StratifiedSplit(std::span<const uint32_t> examples, std::span<const uint32_t> labels,
                      uint32_t classes, double fraction, uint64_t seed, uint64_t learner) {
  METIS_CHECK(fraction > 0 && fraction < 1);
  std::vector<std::vector<size_t>> places(classes);  // in `examples`, of each class
  for (size_t i = 0; i < examples.size(); ++i) places[labels[examples[i]]].push_back(i);
  std::vector<bool> chosen(examples.size());
  for (uint32_t c = 0; c < classes; ++c) {
    size_t size = places[c].size();
    if (size < 2) continue;
    auto rounded = static_cast<size_t>(std::floor(static_cast<double>(size) * fraction + 0.5));
    size_t taken = std::clamp<size_t>(rounded, 1, size - 1);
    Random random(
        {.seed = seed, .learner = learner, .cycle = c, .purpose = Purpose::kValidationSplit});
    random.Shuffle(std::span(places[c]));
    for (size_t i = 0; i < taken; ++i) chosen[places[c][i]] = true;
  }
  Split split;
  for (size_t i = 0; i < examples.size(); ++i) {
    (chosen[i] ? split.validation : split.training).push_back(examples[i]);
  }
  return split;
}

}  // namespace metis::data
