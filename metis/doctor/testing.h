// What tests of the doctor share. For tests only.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "metis/doctor/finding.h"

namespace metis::doctor {

inline std::vector<std::string> IdsOf(const Findings& findings) {
  std::vector<std::string> ids;
  for (const Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

// Seconds of the calendar.
inline int64_t Now() { return static_cast<int64_t>(std::time(nullptr)); }

}  // namespace metis::doctor
