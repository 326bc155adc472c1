#include "metis/machine/disk.h"

#include <system_error>

namespace metis::machine {

namespace fs = std::filesystem;

fs::path NearestExisting(const std::string& directory) {
  std::error_code error;
  fs::path path = fs::absolute(directory.empty() ? "." : directory, error);
  while (path != path.root_path() && !fs::exists(path, error)) path = path.parent_path();
  return path;
}

Result<uint64_t> FreeSpace(const std::string& directory) {
  std::error_code error;
  const fs::space_info space = fs::space(NearestExisting(directory), error);
  if (error) return Unavailable(error.message());
  return uint64_t{space.available};
}

}  // namespace metis::machine
