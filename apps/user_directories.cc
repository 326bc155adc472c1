#include "apps/user_directories.h"

#include <cstdlib>
#include <filesystem>

namespace metis::apps {
namespace {

// Empty if the variable is not set.
std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string StatesOfUser() {
  if (const std::string states = Variable("XDG_STATE_HOME"); !states.empty()) {
    return states + "/metis";
  }
  const std::string home = Variable("HOME");
  return home.empty() ? "" : home + "/.local/state/metis";
}

std::string DefaultDataDirectory() {
  const std::string home = Variable("HOME");
  if (home.empty()) return "metis-data";
  return (std::filesystem::path(home) / ".local/share/metis/data").string();
}

}  // namespace metis::apps
