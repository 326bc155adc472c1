#include "apps/precision_option.h"

#include <CLI/CLI.hpp>

namespace metis::apps {

void AddPrecisionOption(CLI::App& app, learner::Precision& precision) {
  const auto read = [&precision](const CLI::results_t& words) {
    precision = words.front() == "bf16" ? learner::Precision::kBf16 : learner::Precision::kFp32;
    return true;
  };
  app.add_option("--precision", read, "fp32, or bf16 for mixed precision (default: fp32)")
      ->check(CLI::IsMember({"fp32", "bf16"}));
}

}  // namespace metis::apps
