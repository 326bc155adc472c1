#include "metis/simulation/simulation_directory.h"

#include <filesystem>
#include <optional>

#include "metis/core/text.h"
#include "metis/report/controller_files.h"
#include "metis/report/run_directory.h"
#include "metis/report/run_figures.h"
#include "metis/store/inspect_log.h"

namespace metis::simulation {
namespace {

namespace fs = std::filesystem;

std::string LockOf(const std::string& directory) { return Text(directory, "/", report::kLockFile); }

}  // namespace

Result<void> RefuseFederation(const std::string& directory) {
  for (const char* name : {report::kFederationFile, report::kStateFile}) {
    std::error_code absent;
    if (!fs::exists(fs::path(directory) / name, absent)) continue;
    return Invalid(Text(directory, " holds a federation of `metis controller`: it goes on with ",
                        "`metis controller --run ", directory, "` and the options for its ",
                        "certificates; a simulation needs another directory"));
  }
  return {};
}

Result<void> CheckSimulationDirectory(const std::string& directory, bool replace) {
  if (Result<void> ours = RefuseFederation(directory); !ours) return ours;
  if (std::optional<std::string> holder = store::LockHolder(LockOf(directory))) {
    return Unavailable(Text(directory, " is in use by process ", *holder,
                            ": stop that one first, or choose another --out"));
  }
  return report::CheckRunDirectory(directory, report::kEventsFile, replace);
}

Result<void> CheckDirectoryOfRuns(const std::string& directory) {
  if (Result<void> ours = RefuseFederation(directory); !ours) return ours;
  if (report::KindOf(directory) == report::RunKind::kNone) return {};
  return Invalid(Text(directory, " is itself a run, and several policies need a directory that is ",
                      "none: `metis compare ", directory, "` would not see the runs below it; ",
                      "choose another --out, or remove that run"));
}

Result<std::unique_ptr<DirectoryLock>> DirectoryLock::Take(const std::string& directory) {
  const std::string path = LockOf(directory);
  Result<store::ProcessLock> lock = store::ProcessLock::Take(path, directory);
  if (!lock) return lock.error();
  return std::unique_ptr<DirectoryLock>(new DirectoryLock(path, *std::move(lock)));
}

DirectoryLock::~DirectoryLock() {
  std::error_code ignored;
  fs::resize_file(path_, 0, ignored);  // while it is held: the next holder writes there
}

}  // namespace metis::simulation
