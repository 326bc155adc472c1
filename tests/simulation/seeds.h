// Seeds of a simulation test: how many, from which on; each is independent, so all cores take part.
// Given on the command line (--seeds=N --first-seed=K), so that a failure's seed can be run alone.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "metis/core/number.h"

namespace metis::tests {

struct SeedRange {
  uint64_t first = 1;
  uint64_t count = 1000;
};

// Takes "--seeds=" and "--first-seed=" from the arguments; false for any other.
inline bool ParseSeedFlag(std::string_view argument, SeedRange& range) {
  auto value = [&](std::string_view flag, uint64_t& out) {
    if (!argument.starts_with(flag)) return false;
    const auto number = ParseNumber<uint64_t>(argument.substr(flag.size()));
    if (number) out = *number;
    return number.has_value();
  };
  return value("--seeds=", range.count) || value("--first-seed=", range.first);
}

// Calls `run(seed)` for every seed, on all cores, until one returns false; those begun are
// finished.
inline void ForEachSeed(const SeedRange& range, const std::function<bool(uint64_t)>& run) {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        uint64_t offset = next++;
        if (offset >= range.count) return;
        if (!run(range.first + offset)) stop = true;
      }
    });
  }
}

// The main() of a test over seeds: gtest's arguments, then those of ParseSeedFlag().
inline int RunSeedTests(int argc, char** argv, SeedRange& range) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (ParseSeedFlag(argv[i], range)) continue;
    std::fprintf(stderr, "unknown argument %s; allowed: --seeds=N --first-seed=K\n", argv[i]);
    return 2;
  }
  return RUN_ALL_TESTS();
}

}  // namespace metis::tests
