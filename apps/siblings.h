// The programs metis-W that `metis W` runs: beside the front program itself, then on PATH.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metis::apps {

struct Sibling {
  std::string word;  // W
  std::string path;  // of the executable metis-W, or of the one that W is a command of
  std::vector<std::string> first;  // arguments before the user's: of the latter, W itself
};

// All that can be run, by word; one beside the front hides one on PATH.
std::vector<Sibling> FindSiblings();
std::optional<Sibling> FindSibling(std::string_view word);

// One line about a program that Metis knows; empty for others.
std::string_view DescriptionOf(std::string_view word);

// Becomes the sibling, with `arguments` after its name; returns only if that fails, with the exit
// code.
int Run(const Sibling& sibling, const std::vector<std::string>& arguments);

}  // namespace metis::apps
