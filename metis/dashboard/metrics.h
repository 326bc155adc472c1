// A Status as metrics for Prometheus (text format 0.0.4); docs/dashboard.md has the names.
// Pure; costs a few lines a learner.
#pragma once

#include <string>

#include "metis/operations/status.h"

namespace metis::dashboard {

inline constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

std::string FormatMetrics(const operations::Status& status);

}  // namespace metis::dashboard
