#include "metis/drawing/legend.h"

#include <utility>

namespace metis::drawing {
namespace {

constexpr double kPatch = 11;
constexpr double kWords = 16;  // from the patch's left
constexpr double kGap = 18;
constexpr double kLine = 20;

}  // namespace

Legend::Legend(std::vector<Entry> entries, double left, double right, size_t most_lines) {
  double x = left;
  size_t line = 0;
  for (Entry& entry : entries) {
    const double width = kWords + WidthOfWords(entry.words) + kGap;
    if (x + width > right && x > left) {
      x = left;
      ++line;
    }
    if (line >= most_lines) {
      placed_.clear();
      return;
    }
    placed_.push_back({std::move(entry), x, line});
    x += width;
  }
}

double Legend::height() const {
  return placed_.empty() ? 0 : kLine * static_cast<double>(placed_.back().line + 1);
}

void Legend::Draw(double top, Svg& svg) const {
  for (const Placed& placed : placed_) {
    const double y = top + kLine * static_cast<double>(placed.line);
    svg.Rectangle({placed.x, y, kPatch, kPatch}, placed.entry.colour);
    svg.Words(placed.x + kWords, y + kPatch - 1, placed.entry.words);
  }
}

}  // namespace metis::drawing
