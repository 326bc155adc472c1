#include "apps/siblings.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include "apps/cli.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "metis-";

struct Known {
  std::string_view word;
  std::string_view description;
};

constexpr Known kKnown[] = {
    {"simulate", "Run a federation in virtual time on this machine"},
    {"replay", "Run a recorded federation again and compare, bit for bit"},
    {"compare", "Put recorded runs side by side in a table"},
    {"report", "Write a page with the charts of recorded runs"},
    {"controller", "Run the controller of a federation over the network"},
    {"learner", "Run a learner beside its data, in a federation over the network"},
    {"observer", "Test the models of a federation over the network"},
    {"data", "List, inspect, import and fetch data sets"},
    {"partition", "Deal a data set to learners and show who gets what"},
    {"model", "Make, inspect, export and import model files"},
    {"train", "Train one model on all of a data set: the baseline"},
    {"experiment", "Run the tables of the paper's evaluation"},
    {"evaluate", "Say how well a model does on a data set, class by class"},
};

// Words that are commands of one program.
struct Shared {
  std::string_view word;
  std::string_view program;
  std::string_view description;
};

constexpr Shared kShared[] = {
    {"status", "operate", "Show how a running federation stands: learners, versions, accuracy"},
    {"pause", "operate", "Hold a running federation: no commits until it is resumed"},
    {"resume", "operate", "Let a paused federation go on"},
    {"stop", "operate", "End a running federation for good"},
    {"withdraw", "operate", "Take a learner's model out of a running federation's community"},
    {"export", "operate", "Write a federation's community model to a file"},
};

const Shared* FindShared(std::string_view word) {
  for (const Shared& shared : kShared) {
    if (shared.word == word) return &shared;
  }
  return nullptr;
}

// Its own word would only repeat those of its commands.
bool IsSharedProgram(std::string_view word) {
  return std::any_of(std::begin(kShared), std::end(kShared),
                     [&](const Shared& shared) { return shared.program == word; });
}

// The front's own directory, then those of PATH. An empty entry of PATH would mean the current
// directory, from which nothing is run unasked.
std::vector<fs::path> Directories() {
  std::vector<fs::path> directories;
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) directories.push_back(self.parent_path());
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) directories.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return directories;
}

bool CanRun(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::vector<Sibling> FindSiblings() {
  std::map<std::string, std::string> found;
  for (const fs::path& directory : Directories()) {
    std::error_code error;
    for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
      std::string name = i->path().filename().string();
      if (name.size() > kPrefix.size() && name.starts_with(kPrefix) && CanRun(i->path())) {
        found.try_emplace(name.substr(kPrefix.size()), i->path().string());
      }
    }
  }
  std::vector<Sibling> siblings;
  for (const auto& [word, path] : found) {
    if (!IsSharedProgram(word)) siblings.push_back({word, path, {}});
  }
  for (const Shared& shared : kShared) {
    const auto program = found.find(std::string(shared.program));
    if (program == found.end()) continue;
    siblings.push_back({std::string(shared.word), program->second, {std::string(shared.word)}});
  }
  std::sort(siblings.begin(), siblings.end(),
            [](const Sibling& a, const Sibling& b) { return a.word < b.word; });
  return siblings;
}

std::optional<Sibling> FindSibling(std::string_view word) {
  if (word.empty() || word.find('/') != word.npos) return std::nullopt;
  const Shared* shared = FindShared(word);
  const std::string_view program = shared != nullptr ? shared->program : word;
  std::vector<std::string> first;
  if (shared != nullptr) first.emplace_back(word);
  for (const fs::path& directory : Directories()) {
    fs::path path = directory / Text(kPrefix, program);
    if (CanRun(path)) return Sibling{std::string(word), path.string(), first};
  }
  return std::nullopt;
}

std::string_view DescriptionOf(std::string_view word) {
  for (const Known& known : kKnown) {
    if (known.word == word) return known.description;
  }
  if (const Shared* shared = FindShared(word)) return shared->description;
  return "";
}

int Run(const Sibling& sibling, const std::vector<std::string>& arguments) {
  std::vector<std::string> owned = {sibling.path};
  owned.insert(owned.end(), sibling.first.begin(), sibling.first.end());
  owned.insert(owned.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : owned) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(sibling.path.c_str(), argv.data());
  return Complain(Text(sibling.path, " can't be run: ", std::generic_category().message(errno)));
}

}  // namespace metis::apps
