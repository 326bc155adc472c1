#include "metis/config/suggest.h"

#include <algorithm>

#include "metis/core/text.h"

namespace metis::config {

std::string Suggest(std::string_view word, std::vector<std::string> known) {
  std::string nearest = Nearest(word, known);
  if (!nearest.empty() || word.size() < 3) return nearest;
  std::stable_sort(known.begin(), known.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  std::vector<std::string> starts;
  for (const std::string& candidate : known) starts.push_back(candidate.substr(0, word.size()));
  std::string start = Nearest(word, starts);
  if (start.empty()) return "";
  return known[static_cast<size_t>(std::find(starts.begin(), starts.end(), start) -
                                   starts.begin())];
}

std::string DidYouMean(std::string_view lead, std::string_view word,
                       const std::vector<std::string>& known, std::string_view before,
                       std::string_view after) {
  std::string suggestion = Suggest(word, known);
  if (suggestion.empty()) return "";
  return Text(lead, "did you mean ", before, suggestion, after, "?");
}

}  // namespace metis::config
