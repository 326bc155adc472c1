// Dealing the examples of a data set to learners: how many each gets and of which
// classes. Deterministic by seed; every example at most once; class sets are exact; what a pool
// could not give is reported, never hidden. Pure functions: any thread may call them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/class_table.h"

namespace metis::data {

enum class SizeDistribution {
  kUniform,   // sizes differ by at most one
  kSkewed,    // proportional to N, N-1, ..., 1; no two equal from N(N+1)/2 examples on
  kPowerLaw,  // proportional to k^-exponent, k = 1 .. N
};
enum class ClassDistribution {
  kIid,        // each learner holds each class in the data set's proportion, to within one example
  kNonIid,     // exact class sets, balanced over the classes' pools
  kDirichlet,  // proportions drawn for each learner, bent where the pools need it
  kTable,      // numbers of examples given one by one; they decide the sizes, too
  kWriters,    // whole writers: no writer's examples are split between learners
};

// `learners` consecutive learners hold `classes` classes each ("8x1" is {8, 1}).
struct ClassRun {
  uint32_t classes = 0;
  uint32_t learners = 0;  // 0: all remaining learners; for the last run only

  friend bool operator==(const ClassRun&, const ClassRun&) = default;
};

struct PartitionSettings {
  SizeDistribution sizes = SizeDistribution::kUniform;
  double powerlaw_exponent = 1.5;  // (0, 100]
  ClassDistribution classes = ClassDistribution::kIid;
  std::vector<ClassRun> class_runs;  // for kNonIid; must add up to the number of learners
  double dirichlet_alpha = 0.5;      // for kDirichlet, [0.001, 1000000]
  ClassTable table;                  // for kTable; `sizes` must then be kUniform

  friend bool operator==(const PartitionSettings&, const PartitionSettings&) = default;
};

bool ValidPowerLawExponent(double exponent);
bool ValidDirichletAlpha(double alpha);
// Whether all learners are to get the same number of examples.
bool AsksEqualSizes(const PartitionSettings& settings);

// Reads "uniform", "skewed", "powerlaw", "powerlaw:1.2" into `settings`; an error leaves it as it
// was.
Result<void> ParseSizes(std::string_view text, PartitionSettings& settings);
// Reads "iid", "noniid:3", "noniid:8x1,4x1,3x8", "noniid:8x1,3" (3 for all others),
// "dirichlet:0.5", "table:FILE" into `settings`; an error leaves it as it was. Of a table only the
// file's name is kept: ReadTable() reads it.
Result<void> ParseClasses(std::string_view text, PartitionSettings& settings);
// The same in words that ParseSizes() and ParseClasses() read back.
std::string FormatSizes(const PartitionSettings& settings);
std::string FormatClasses(const PartitionSettings& settings);

// Reads the file of "table:FILE" into `settings.table`; does nothing for all other distributions.
Result<void> ReadTable(PartitionSettings& settings);

struct Share {
  std::vector<uint32_t> examples;      // indices into the data set, ascending; at least one
  std::vector<uint64_t> class_counts;  // of each class
  uint64_t wanted = 0;  // its size by the size distribution or the table; examples.size() may be
                        // less, and more only if whole writers are dealt
};

// Wanted sizes add up to the data set, so shortfall and left_over are equal: what one learner could
// not get of its classes is what no other learner wanted. Two exceptions: a table may ask for more
// or less than there is; and whole writers leave nothing over, what some lack is what others have
// too much.
struct Partition {
  std::vector<Share> shares;  // one a learner, largest wanted size first; a table's in its order
  uint64_t left_over = 0;     // examples that no learner got
  uint64_t shortfall = 0;     // examples that learners wanted and the pools could not give
};

// `labels[i]` is the class of example i, below `classes`. A learner that wants fewer examples than
// classes holds one example of as many classes as it wants examples. Of a class that a table asks
// for more often than it exists, learners get the same fraction, to within one example, and at
// least one where there are enough. Fails when a setting cannot be met at all (more classes asked
// than there are, fewer examples than learners, class runs that do not add up, a table of other
// learners or more classes, a learner of the table that would get nothing, unknown writers or fewer
// than learners). `writers[i]` wrote example i; only kWriters needs them. O(learners * classes)
// memory and about the same time a round of sharing; a few rounds are usual.
Result<Partition> MakePartition(std::span<const uint32_t> labels, uint32_t classes,
                                uint32_t learners, const PartitionSettings& settings, uint64_t seed,
                                std::span<const uint32_t> writers = {});

struct Split {
  std::vector<uint32_t> training;
  std::vector<uint32_t> validation;
};

// Takes `fraction` (0 < fraction < 1, checked) of each class for validation, to the nearest
// example, at least one and never all of a class that has two or more, none of a class that has
// one; drawn by (seed, learner). Both parts keep the order of `examples`, which are indices into
// `labels`.
Split StratifiedSplit(std::span<const uint32_t> examples, std::span<const uint32_t> labels,
                      uint32_t classes, double fraction, uint64_t seed, uint64_t learner);

}  // namespace metis::data
