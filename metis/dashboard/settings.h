// The dashboard of a controller, as its operator sets it.
#pragma once

#include <string>

namespace metis::dashboard {

inline constexpr char kOff[] = "off";

struct DashboardSettings {
  // HOST:PORT, port 0 is a free one; or kOff.
  std::string listen = "127.0.0.1:7741";

  friend bool operator==(const DashboardSettings&, const DashboardSettings&) = default;
};

}  // namespace metis::dashboard
