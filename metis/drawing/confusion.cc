#include "metis/drawing/confusion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/drawing/svg.h"

namespace metis::drawing {
namespace {

constexpr uint32_t kMostWithNumbers = 26;  // classes; more make cells too small for counts
constexpr size_t kLongestName = 24;        // letters

// Shares of a row in steps: 0, (0, 0.02], (0.02, 0.05], ... A confusion of 2 % must show, so the
// steps are finer at the low end.
constexpr std::array<double, 9> kSteps = {0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9};
constexpr const char* kDarkInk = "#1f2430";
constexpr const char* kLightInk = "#ffffff";
constexpr const char* kDarkInkAtNight = "#10141a";
constexpr const char* kLightInkAtNight = "#e8eaed";
// Steps of one hue, even to the eye; on dark ground the more the lighter.
constexpr std::array<Shade, 10> kShades = {{{"#f4f5f7", "#1e2127", kDarkInk, kLightInkAtNight},
                                            {"#e1eaf5", "#1f2d3d", kDarkInk, kLightInkAtNight},
                                            {"#cfdff1", "#203a54", kDarkInk, kLightInkAtNight},
                                            {"#b2cce8", "#22496d", kDarkInk, kLightInkAtNight},
                                            {"#8db4dd", "#265a88", kDarkInk, kLightInkAtNight},
                                            {"#6699cf", "#2f6ea5", kLightInk, kLightInkAtNight},
                                            {"#437fbd", "#4484bf", kLightInk, kLightInkAtNight},
                                            {"#2a66a6", "#6a9fd2", kLightInk, kDarkInkAtNight},
                                            {"#1b4f8a", "#93bbe2", kLightInk, kDarkInkAtNight},
                                            {"#123a69", "#c0d9f1", kLightInk, kDarkInkAtNight}}};

size_t StepOf(uint64_t count, uint64_t row) {
  if (count == 0) return 0;
  const double share = static_cast<double>(count) / static_cast<double>(row);
  const auto above = std::lower_bound(kSteps.begin() + 1, kSteps.end(), share);
  return static_cast<size_t>(above - kSteps.begin());
}

// Where things are. The matrix begins at (left, top).
struct Frame {
  double cell = 0;
  double font = 0;
  double left = 0;
  double top = 0;
  double side = 0;  // of the matrix
  int tilt = 0;     // of the names above it, in degrees
  double width = 0;
  double height = 0;

  std::string Shortened(const std::string& name) const {
    return Fitting(name, WidthOfWords(std::string(kLongestName, 'x'), font), font);
  }
};

Frame Arrange(const std::vector<std::string>& names, const std::string& title) {
  const auto classes = static_cast<double>(names.size());
  Frame frame;
  frame.cell = names.size() <= 12 ? 48 : names.size() <= kMostWithNumbers ? 36 : 12;
  frame.font = names.size() <= kMostWithNumbers ? 13 : 9;
  double label = 0;
  for (const std::string& name : names) {
    label = std::max(label, WidthOfWords(frame.Shortened(name), frame.font));
  }
  frame.left = 44 + label;
  frame.tilt = frame.cell < 20 ? -90 : label > WidthOfWords("123", frame.font) ? -45 : 0;
  frame.top = 64 + (frame.tilt == 0 ? frame.font : label * (frame.tilt == -90 ? 1.0 : 0.75) + 12);
  frame.side = classes * frame.cell;
  frame.width =
      std::max({frame.left + frame.side + 24 + label * 0.5, 24 + WidthOfWords(title, 16), 420.0});
  frame.height = frame.top + frame.side + 76;
  return frame;
}

void DrawLabels(const Frame& frame, const std::vector<std::string>& names, Svg& svg) {
  for (size_t i = 0; i < names.size(); ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * frame.cell;
    const std::string name = frame.Shortened(names[i]);
    svg.Words(frame.left - 8, frame.top + middle + frame.font * 0.35, name,
              {.anchor = Svg::Anchor::kEnd, .size = frame.font});
    const double shift = frame.tilt == -90 ? 0.35 * frame.font : frame.tilt == -45 ? -4 : 0;
    svg.Words(frame.left + middle + shift, frame.top - 8, name,
              {.anchor = frame.tilt == 0 ? Svg::Anchor::kMiddle : Svg::Anchor::kStart,
               .size = frame.font,
               .turned = static_cast<double>(frame.tilt)});
  }
  svg.Words(18, frame.top + frame.side / 2, "actual",
            {.anchor = Svg::Anchor::kMiddle, .size = 13, .muted = true, .turned = -90});
  svg.Words(frame.left + frame.side / 2, frame.top + frame.side + 20, "predicted",
            {.anchor = Svg::Anchor::kMiddle, .size = 13, .muted = true});
}

void DrawCell(const Frame& frame, const ConfusionCounts& counts, uint32_t row, uint32_t column,
              uint64_t examples, const std::vector<std::string>& names, Svg& svg) {
  const uint64_t count = counts.at(row, column);
  const size_t step = StepOf(count, examples);
  const double x = frame.left + column * frame.cell;
  const double y = frame.top + row * frame.cell;
  const double gap = frame.cell > 20 ? 1 : 0.5;
  std::string tooltip;
  if (count > 0) {
    const double share = 100 * static_cast<double>(count) / static_cast<double>(examples);
    tooltip = Text(names[row], " taken for ", names[column], ": ", count, " of ", examples, " (",
                   Fixed(share, 1), " %)");
  }
  svg.Cell({x + gap / 2, y + gap / 2, frame.cell - gap, frame.cell - gap}, step, tooltip);
  if (row == column) svg.Frame({x + 1, y + 1, frame.cell - 2, frame.cell - 2});
  if (count > 0 && counts.classes() <= kMostWithNumbers) {
    const std::string number = Text(count);
    const double fits = (frame.cell - 6) / WidthOfWords(number, 1);
    svg.Words(x + frame.cell / 2, y + frame.cell / 2 + 4.5, number,
              {.anchor = Svg::Anchor::kMiddle,
               .size = std::min(13.0, std::floor(fits)),
               .on_shade = step});
  }
}

// What the shades stand for.
void DrawScale(const Frame& frame, Svg& svg) {
  constexpr double kWidth = 34;
  const double y = frame.top + frame.side + 36;
  double x = std::max(12.0, std::min(frame.left, frame.width - kShades.size() * kWidth - 12));
  for (size_t i = 0; i < kShades.size(); ++i, x += kWidth) {
    const std::string upper = i == 0              ? "0 %"
                              : i < kSteps.size() ? Text("≤ ", Fixed(100 * kSteps[i], 0))
                                                  : "≤ 100";
    svg.Cell({x, y, kWidth - 2, 10}, i);
    svg.Words(x + kWidth / 2 - 1, y + 23, upper,
              {.anchor = Svg::Anchor::kMiddle, .size = 10, .muted = true});
  }
}

}  // namespace

std::string DrawConfusion(const ConfusionCounts& counts, const std::vector<std::string>& names,
                          const std::string& title) {
  METIS_CHECK(names.size() == counts.classes());
  const Frame frame = Arrange(names, title);
  const std::vector<uint64_t> rows = counts.RowSums();
  Svg svg(frame.width, frame.height, title, kShades);
  svg.Words(12, 28, title, {.size = 16, .bold = true});
  svg.Words(12, 48, "Shade: share of the row, by actual class", {.muted = true});
  DrawLabels(frame, names, svg);
  for (uint32_t row = 0; row < counts.classes(); ++row) {
    for (uint32_t column = 0; column < counts.classes(); ++column) {
      DrawCell(frame, counts, row, column, rows[row], names, svg);
    }
  }
  DrawScale(frame, svg);
  return std::move(svg).Finish();
}

}  // namespace metis::drawing
