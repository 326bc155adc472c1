#include "metis/data/source.h"

#include <algorithm>
#include <utility>

#include "metis/core/text.h"

namespace metis::data {
namespace {

constexpr std::string_view kNobody = "none";

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

Result<void> ParseFaultyList(std::string_view text, std::vector<FaultyLabels>& faulty) {
  std::vector<FaultyLabels> read;
  if (Trimmed(text) != kNobody) {
    for (bool more = true; more;) {
      const size_t comma = std::min(text.find(','), text.size());
      Result<FaultyLabels> one = ParseFaultyLabels(Trimmed(text.substr(0, comma)));
      if (!one) return one.error();
      read.push_back(*one);
      more = comma < text.size();
      if (more) text.remove_prefix(comma + 1);
    }
  }
  faulty = std::move(read);
  return {};
}

std::string FormatFaultyList(const std::vector<FaultyLabels>& faulty) {
  if (faulty.empty()) return std::string(kNobody);
  std::vector<std::string> words;
  for (const FaultyLabels& one : faulty) words.push_back(FormatFaultyLabels(one));
  return Join(words);
}

}  // namespace metis::data
