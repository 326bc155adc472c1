#include "metis/data/source.h"

#include <algorithm>
#include <utility>

#include "metis/core/text.h"

namespace metis::data {
namespace {

constexpr std::string_view kNobody = "none";

}  // namespace

Result<void> ParseFaultyList(std::string_view text, std::vector<FaultyLabels>& faulty) {
  std::vector<FaultyLabels> read;
  if (Trim(text) != kNobody) {
    for (std::string_view piece : metis::Split(text, ',')) {
      Result<FaultyLabels> one = ParseFaultyLabels(Trim(piece));
      if (!one) return one.error();
      read.push_back(*one);
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
