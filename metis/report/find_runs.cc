// From places on the command line to run directories.
#include <algorithm>
#include <filesystem>
#include <set>

#include "metis/core/text.h"
#include "metis/report/figures.h"

namespace metis::report {

namespace fs = std::filesystem;

namespace {

// runs/SET/SEED/POLICY has three; one more for those who sort further.
constexpr int kLevels = 4;

void Search(const fs::path& directory, int levels, std::vector<fs::path>& found) {
  if (KindOf(directory.string()) != RunKind::kNone) {
    found.push_back(directory);
    return;
  }
  if (levels == 0) return;
  std::vector<fs::path> below;
  std::error_code error;
  for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
    std::error_code ignored;
    if (i->is_directory(ignored)) below.push_back(i->path());
  }
  std::sort(below.begin(), below.end());
  for (const fs::path& each : below) Search(each, levels - 1, found);
}

// "runs/a/" and "./runs/a" are runs/a.
fs::path Tidy(const std::string& place) {
  fs::path path = fs::path(place).lexically_normal();
  return path.has_filename() || path == path.root_path() ? path : path.parent_path();
}

Result<std::vector<fs::path>> RunsOf(const std::string& place) {
  std::error_code error;
  if (place.empty()) return Invalid("a run directory is named by an empty text");
  if (!fs::exists(place, error)) return NotFound(Text(place, " does not exist"));
  if (!fs::is_directory(place, error)) {
    return Invalid(Text(place, " is a file: name the run directory, or one that holds some"));
  }
  std::vector<fs::path> found;
  Search(Tidy(place), kLevels, found);
  if (found.empty()) {
    return NotFound(Text("there is no run in ", place, ", nor in the ", kLevels,
                         " levels below it: `metis simulate --out ", place, "` would make one"));
  }
  return found;
}

}  // namespace

Result<std::vector<std::string>> FindRuns(const std::vector<std::string>& places) {
  std::vector<std::string> runs;
  std::set<fs::path> seen;
  for (const std::string& place : places) {
    Result<std::vector<fs::path>> found = RunsOf(place);
    if (!found) return found.error();
    for (const fs::path& run : *found) {
      std::error_code error;
      fs::path real = fs::canonical(run, error);
      if (seen.insert(error ? run : real).second) runs.push_back(run.string());
    }
  }
  return runs;
}

}  // namespace metis::report
