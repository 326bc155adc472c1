#include "apps/confusion_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/svg.h"
#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

constexpr uint32_t kMostWithNumbers = 26;  // classes; more make cells too small for counts
constexpr double kLetterWidth = 0.58;      // of a sans-serif face, in units of its size
constexpr size_t kLongestName = 24;

// Shares of a row in steps: 0, (0, 0.02], (0.02, 0.05], ... A confusion of 2 % must show, so the
// steps are finer at the low end.
constexpr std::array<double, 9> kSteps = {0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9};
struct Shade {
  const char* light;
  const char* dark;
};
// Steps of one hue, even to the eye; on dark ground the more the lighter.
constexpr std::array<Shade, 10> kShades = {{{"#f4f5f7", "#1e2127"},
                                            {"#e1eaf5", "#1f2d3d"},
                                            {"#cfdff1", "#203a54"},
                                            {"#b2cce8", "#22496d"},
                                            {"#8db4dd", "#265a88"},
                                            {"#6699cf", "#2f6ea5"},
                                            {"#437fbd", "#4484bf"},
                                            {"#2a66a6", "#6a9fd2"},
                                            {"#1b4f8a", "#93bbe2"},
                                            {"#123a69", "#c0d9f1"}}};
constexpr size_t kTurn = 5;  // from here on letters in a cell take the other colour
constexpr size_t kTurnDark = 7;

size_t StepOf(uint64_t count, uint64_t row) {
  if (count == 0) return 0;
  const double share = static_cast<double>(count) / static_cast<double>(row);
  const auto above = std::lower_bound(kSteps.begin() + 1, kSteps.end(), share);
  return static_cast<size_t>(above - kSteps.begin());
}

std::string Shortened(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 3) + "...";
}

std::string Style() {
  std::string light;
  std::string dark;
  for (size_t i = 0; i < kShades.size(); ++i) {
    light += Text(".s", i, "{fill:", kShades[i].light, "}");
    dark += Text(".s", i, "{fill:", kShades[i].dark, "}");
    light += Text(".n", i, "{fill:", i >= kTurn ? "#ffffff" : "#1f2430", "}");
    dark += Text(".n", i, "{fill:", i >= kTurnDark ? "#10141a" : "#e8eaed", "}");
  }
  return Text("<style>text{font-family:system-ui,'DejaVu Sans',sans-serif}",
              ".ground{fill:#ffffff}.ink{fill:#1f2430}.soft{fill:#5f6672}",
              ".right{fill:none;stroke:#1f2430;stroke-opacity:.35}", light,
              "@media (prefers-color-scheme:dark){.ground{fill:#14171c}.ink{fill:#e8eaed}",
              ".soft{fill:#9aa2ad}.right{stroke:#e8eaed}", dark, "}</style>\n");
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
};

Frame Arrange(const std::vector<std::string>& names, const std::string& title) {
  const auto classes = static_cast<double>(names.size());
  size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, Shortened(name).size());
  Frame frame;
  frame.cell = names.size() <= 12 ? 48 : names.size() <= kMostWithNumbers ? 36 : 12;
  frame.font = names.size() <= kMostWithNumbers ? 13 : 9;
  const double label = static_cast<double>(longest) * frame.font * kLetterWidth;
  frame.left = 44 + label;
  frame.tilt = frame.cell < 20 ? -90 : longest > 3 ? -45 : 0;
  frame.top = 64 + (frame.tilt == 0 ? frame.font : label * (frame.tilt == -90 ? 1.0 : 0.75) + 12);
  frame.side = classes * frame.cell;
  frame.width = std::max(frame.left + frame.side + 24 + label * 0.5,
                         24 + static_cast<double>(title.size()) * 16 * kLetterWidth);
  frame.width = std::max(frame.width, 420.0);
  frame.height = frame.top + frame.side + 76;
  return frame;
}

std::string Letters(double x, double y, double size, std::string_view look, std::string_view text) {
  return Text("<text x=\"", Fixed(x, 1), "\" y=\"", Fixed(y, 1), "\" font-size=\"", Fixed(size, 0),
              "\" ", look, ">", EscapeXml(text), "</text>\n");
}

std::string Labels(const Frame& frame, const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * frame.cell;
    const std::string name = Shortened(names[i]);
    out += Letters(frame.left - 8, frame.top + middle + frame.font * 0.35, frame.font,
                   "text-anchor=\"end\" class=\"ink\"", name);
    const double shift = frame.tilt == -90 ? 0.35 * frame.font : frame.tilt == -45 ? -4 : 0;
    const double x = frame.left + middle + shift;
    const double y = frame.top - 8;
    const std::string look = frame.tilt == 0 ? std::string("text-anchor=\"middle\" class=\"ink\"")
                                             : Text("class=\"ink\" transform=\"rotate(", frame.tilt,
                                                    " ", Fixed(x, 1), " ", Fixed(y, 1), ")\"");
    out += Letters(x, y, frame.font, look, name);
  }
  const double centre = frame.top + frame.side / 2;
  out += Letters(18, centre, 13,
                 Text("text-anchor=\"middle\" class=\"soft\" transform=\"rotate(-90 18 ",
                      Fixed(centre, 1), ")\""),
                 "actual");
  out += Letters(frame.left + frame.side / 2, frame.top + frame.side + 20, 13,
                 "text-anchor=\"middle\" class=\"soft\"", "predicted");
  return out;
}

std::string Cell(const Frame& frame, const ConfusionCounts& counts, uint32_t row, uint32_t column,
                 uint64_t examples, const std::vector<std::string>& names) {
  const uint64_t count = counts.at(row, column);
  const size_t step = StepOf(count, examples);
  const double x = frame.left + column * frame.cell;
  const double y = frame.top + row * frame.cell;
  const double gap = frame.cell > 20 ? 1 : 0.5;
  std::string out = Text("<rect x=\"", Fixed(x + gap / 2, 2), "\" y=\"", Fixed(y + gap / 2, 2),
                         "\" width=\"", Fixed(frame.cell - gap, 1), "\" height=\"",
                         Fixed(frame.cell - gap, 1), "\" class=\"s", step, "\">");
  if (count > 0) {
    const double share = 100 * static_cast<double>(count) / static_cast<double>(examples);
    out += Text("<title>", EscapeXml(names[row]), " taken for ", EscapeXml(names[column]), ": ",
                count, " of ", examples, " (", Fixed(share, 1), " %)</title>");
  }
  out += "</rect>\n";
  if (row == column) {
    out += Text("<rect x=\"", Fixed(x + 1, 1), "\" y=\"", Fixed(y + 1, 1), "\" width=\"",
                Fixed(frame.cell - 2, 1), "\" height=\"", Fixed(frame.cell - 2, 1),
                "\" class=\"right\"/>\n");
  }
  if (count > 0 && counts.classes() <= kMostWithNumbers) {
    const std::string number = Text(count);
    const double fits = (frame.cell - 6) / (static_cast<double>(number.size()) * kLetterWidth);
    out += Letters(x + frame.cell / 2, y + frame.cell / 2 + 4.5, std::min(13.0, std::floor(fits)),
                   Text("text-anchor=\"middle\" pointer-events=\"none\" class=\"n", step, "\""),
                   number);
  }
  return out;
}

// What the shades stand for.
std::string Legend(const Frame& frame) {
  constexpr double kWidth = 34;
  const double y = frame.top + frame.side + 36;
  double x = std::max(12.0, std::min(frame.left, frame.width - kShades.size() * kWidth - 12));
  std::string out;
  for (size_t i = 0; i < kShades.size(); ++i, x += kWidth) {
    const std::string upper = i == 0              ? "0 %"
                              : i < kSteps.size() ? Text("≤ ", Fixed(100 * kSteps[i], 0))
                                                  : "≤ 100";
    out += Text("<rect x=\"", Fixed(x, 1), "\" y=\"", Fixed(y, 1), "\" width=\"", kWidth - 2,
                "\" height=\"10\" class=\"s", i, "\"/>\n");
    out += Letters(x + kWidth / 2 - 1, y + 23, 10, "text-anchor=\"middle\" class=\"soft\"", upper);
  }
  return out;
}

}  // namespace

std::string DrawConfusion(const ConfusionCounts& counts, const std::vector<std::string>& names,
                          const std::string& title) {
  METIS_CHECK(names.size() == counts.classes());
  const Frame frame = Arrange(names, title);
  const std::vector<uint64_t> rows = counts.RowSums();
  const std::string size = Text(Fixed(frame.width, 0), "\" height=\"", Fixed(frame.height, 0));
  std::string out = Text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", size,
                         "\" viewBox=\"0 0 ", Fixed(frame.width, 0), " ", Fixed(frame.height, 0),
                         "\" role=\"img\">\n<title>", EscapeXml(title), "</title>\n", Style(),
                         "<rect width=\"100%\" height=\"100%\" class=\"ground\"/>\n");
  out += Letters(12, 28, 16, "font-weight=\"600\" class=\"ink\"", title);
  out += Letters(12, 48, 12, "class=\"soft\"", "Shade: share of the row, by actual class");
  out += Labels(frame, names);
  for (uint32_t row = 0; row < counts.classes(); ++row) {
    for (uint32_t column = 0; column < counts.classes(); ++column) {
      out += Cell(frame, counts, row, column, rows[row], names);
    }
  }
  return out + Legend(frame) + "</svg>\n";
}

}  // namespace metis::apps
