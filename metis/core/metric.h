// The scores that a federation can weigh a learner by, whatever the task. Each kind of statistics
// says which of them it has (statistics.h); asking it for another one is an error with words.
#pragma once

#include <array>
#include <string_view>

#include "metis/core/enum_name.h"  // whoever has a metric names it

namespace metis {

enum class Metric { kMicroF1, kAccuracy, kMacroF1, kGeometricMean, kMatthews, kR2 };
constexpr auto EnumNames(Metric) {
  return std::array<std::string_view, 6>{"micro-f1",       "accuracy", "macro-f1",
                                         "geometric-mean", "matthews", "r2"};
}

}  // namespace metis
