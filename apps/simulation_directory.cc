#include "apps/simulation_directory.h"

#include <filesystem>

#include "apps/controller_setup.h"
#include "metis/core/text.h"

namespace metis::apps {

namespace fs = std::filesystem;

Result<void> RefuseFederation(const std::string& directory) {
  for (const char* name : {kFederationFile, kStateFile}) {
    std::error_code absent;
    if (!fs::exists(fs::path(directory) / name, absent)) continue;
    return Invalid(Text(directory, " holds a federation of `metis controller`: it goes on with ",
                        "`metis controller --run ", directory, "` and the options for its ",
                        "certificates; a simulation needs another directory"));
  }
  return {};
}

}  // namespace metis::apps
