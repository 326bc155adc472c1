#include "metis/core/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "metis/core/check.h"

namespace metis {
namespace text_internal {

namespace {
template <typename T, typename... Format>
void AppendNumber(std::string& out, T value, Format... format) {
  std::array<char, 400> digits;
  auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value, format...);
  METIS_CHECK(error == std::errc());
  out.append(digits.data(), end);
}
}  // namespace

void Append(std::string& out, std::string_view piece) { out.append(piece); }
void Append(std::string& out, bool value) { out.append(value ? "true" : "false"); }
void Append(std::string& out, int64_t value) { AppendNumber(out, value); }
void Append(std::string& out, uint64_t value) { AppendNumber(out, value); }
void Append(std::string& out, double value) { AppendNumber(out, value); }
void Append(std::string& out, Duration value) { out.append(FormatDuration(value)); }

}  // namespace text_internal

std::string Join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string out;
  for (const std::string& piece : pieces) {
    if (&piece != &pieces.front()) out.append(separator);
    out.append(piece);
  }
  return out;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1)) {
    pieces.push_back(text.substr(0, end));
  }
  pieces.push_back(text);
  return pieces;
}

std::string_view Trim(std::string_view text, std::string_view around) {
  const size_t begin = text.find_first_not_of(around);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(around) + 1 - begin);
}

namespace {
// Insertions, deletions and substitutions between two words (Levenshtein).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}
}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    size_t distance = EditDistance(word, candidate);
    bool something_in_common = distance < std::max(word.size(), candidate.size());
    if (something_in_common && distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Fixed(double value, int digits) {
  std::string out;
  text_internal::AppendNumber(out, value, std::chars_format::fixed, digits);
  return out;
}

}  // namespace metis
