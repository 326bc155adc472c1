// The paper's figure on the caching tier (section III): the time of one community computation with
// the cache, O(M), and without it, O(M N), for networks of several sizes and up to a thousand
// learners. Every learner's model is a buffer of its own, and before each measurement a pass over
// other memory empties the CPU's caches: else a few small models would stay in them and a thousand
// would not, and the figure would show the CPU's caches instead of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/report/json_archive.h"

namespace metis::apps {

struct CacheOptions {
  std::string models = "resnet-cifar:20,resnet-cifar:56,resnet-cifar:110";
  std::string learners = "10,50,100,250,500,1000";
  uint32_t repetitions = 5;
  std::string out = "runs/experiments";  // the figure goes to OUT/cache
  bool dry_run = false;
};

struct CachePoint {
  std::string model;
  uint64_t parameters = 0;
  uint32_t learners = 0;
  double with_s = 0;     // Replace() and Current(), CPU time of one thread, median
  double without_s = 0;  // Recompute()
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

// The points of one network whose values begin as `initial`; those that need more than `available`
// bytes are left out by name. An error if the two ways disagree in a single bit.
Result<void> MeasureCache(const std::string& name, const ModelPtr& initial,
                          const std::vector<uint32_t>& learners, uint32_t repetitions,
                          uint64_t available, CacheFigure& figure);

std::string FormatText(const CacheFigure& figure);
std::string FormatCsv(const CacheFigure& figure);
report::Json FormatJson(const CacheFigure& figure);
// Two panels, with | without cache, each with its own scale.
std::string DrawSvg(const CacheFigure& figure);

// All of it; the exit code.
int RunCacheFigure(const CacheOptions& options);

}  // namespace metis::apps
