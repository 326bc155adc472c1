#include "metis/service/controller_dashboard.h"

#include <utility>

#include "metis/core/text.h"

namespace metis::service {

std::unique_ptr<dashboard::Dashboard> StartDashboard(
    const dashboard::DashboardSettings& settings, const operations::StatusBoard& board,
    const std::function<void(const std::string&)>& say) {
  if (settings.listen == dashboard::kOff) return nullptr;
  dashboard::DashboardOptions options;
  options.listen = settings.listen;
  options.status = [&board]() -> std::shared_ptr<const operations::Status> {
    std::shared_ptr<const operations::Status> status = board.Latest();
    return status->phase.empty() ? nullptr : status;  // nothing is published yet
  };
  Result<std::unique_ptr<dashboard::Dashboard>> started =
      dashboard::Dashboard::Start(std::move(options));
  if (!started) {
    say(Text("no dashboard: ", started.error().message,
             ". Set dashboard.listen to another address, port 0 for any free one, or to \"off\""));
    return nullptr;
  }
  say(Text("dashboard at ", (*started)->url()));
  if ((*started)->is_public()) {
    say(Text("the dashboard can be reached from other machines and asks nobody who they are: ",
             "see docs/dashboard.md"));
  }
  return *std::move(started);
}

}  // namespace metis::service
