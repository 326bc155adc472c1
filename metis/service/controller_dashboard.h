// The dashboard of a controller: where the configuration wants it, with the statuses that the
// controller's loop publishes. One call a controller; its threads are its own and end with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "metis/dashboard/dashboard.h"
#include "metis/dashboard/settings.h"
#include "metis/operations/status_board.h"

namespace metis::service {

// Says where it is. Null where it is off, and where it can't be: a federation goes on without, and
// what to do is said. The board must outlive it.
std::unique_ptr<dashboard::Dashboard> StartDashboard(
    const dashboard::DashboardSettings& settings, const operations::StatusBoard& board,
    const std::function<void(const std::string&)>& say);

}  // namespace metis::service
