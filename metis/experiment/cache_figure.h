// The paper's figure on the caching tier (section III): the time of one community computation with
// the cache, O(M), and without it, O(M N), for networks of several sizes and up to a thousand
// learners. Every learner's model is a buffer of its own, and before each measurement a pass over
// other memory empties the CPU's caches: else a few small models would stay in them and a thousand
// would not, and the figure would show the CPU's caches instead of ours. One thread; takes as much
// memory as BytesNeeded() says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/report/json_archive.h"

namespace metis::experiment {

struct CachePoint {
  std::string model;
  uint64_t parameters = 0;
  uint32_t learners = 0;
  double with_s = 0;     // Replace() and Current(), CPU time of one thread, median
  double without_s = 0;  // Recompute()

  double ratio() const { return with_s > 0 ? without_s / with_s : 0; }
};

struct CacheFigure {
  std::vector<CachePoint> points;    // by model as asked for, then by learners
  std::vector<std::string> skipped;  // what did not fit into memory, and why
  uint32_t repetitions = 0;
};

// Ascending, each once. An error names what is no number of learners.
Result<std::vector<uint32_t>> ParseLearners(const std::string& text);

// For the models of `learners`, the sums, and what empties the caches.
uint64_t BytesNeeded(uint64_t parameters, uint32_t learners);

// The initial model of a network by name, made by `program` (metis-model) as a child process, so
// that nothing here needs libtorch; files of its own come and go in `directory`.
Result<ModelPtr> MakeModel(const std::string& program, const std::string& name,
                           const std::string& directory);

// The points of one network whose values begin as `initial`; those that need more than `available`
// bytes are left out by name. An error if the two ways disagree in a single bit.
Result<void> MeasureCache(const std::string& name, const ModelPtr& initial,
                          const std::vector<uint32_t>& learners, uint32_t repetitions,
                          uint64_t available, CacheFigure& figure);

// "0.46", "12.5", "617"
std::string FormatMilliseconds(double ms);
std::string FormatCsv(const CacheFigure& figure);
report::Json FormatJson(const CacheFigure& figure);
// Two panels, with | without cache, each with its own scale.
std::string DrawSvg(const CacheFigure& figure);

// cache.json, cache.csv and cache.svg.
Result<void> WriteFigure(const CacheFigure& figure, const std::string& directory);

}  // namespace metis::experiment
