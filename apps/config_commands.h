// The commands about configuration files: `metis init`, `metis check`, `metis help config`.
// Each takes the arguments after its word and returns the exit code.
#pragma once

#include <string>
#include <vector>

namespace metis::apps {

int Init(const std::vector<std::string>& arguments);
int Check(const std::vector<std::string>& arguments);
int HelpConfig(const std::vector<std::string>& arguments);

}  // namespace metis::apps
