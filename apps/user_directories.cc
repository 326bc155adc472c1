#include "apps/user_directories.h"

#include <cstdlib>

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

}  // namespace metis::apps
