// A drawing as SVG text: rectangles, lines and words, readable on light and dark screens (the
// reader's setting decides) and without any other file. Coordinates are pixels, y grows downwards.
// A value, used by one thread.
//
//   Svg svg(640, 200, "Examples of each learner");
//   svg.Rectangle({10, 10, 300, 18}, ClassColour(0, 10), "T-shirt/top: 300");
//   svg.Words(320, 23, "300");
//   std::string text = std::move(svg).Finish();
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace metis::drawing {

// Text as it may stand in XML: markup escaped, what is no UTF-8 or no character of XML as "?".
std::string EscapeXml(std::string_view text);

// A colour for class `i` of `classes`: hand-picked up to ten; of more, neighbours differ in hue and
// lightness.
std::string ClassColour(size_t i, size_t classes);

// About how wide the text will be; fonts differ.
double WidthOfWords(std::string_view text, double size = 12);
// The text; if it is wider than `width`, as much of it as fits, and "…".
std::string Fitting(std::string text, double width, double size = 12);

// The next of 1, 2, 5, 10, 20, ... (or 0.1, 0.2, 0.5, ...) at or above: an axis ends or steps so.
double RoundedUp(double value);

// A fill with a colour of its own on dark screens, and the inks that are readable on both.
struct Shade {
  const char* light;
  const char* dark;
  const char* ink;
  const char* dark_ink;
};

class Svg {
 public:
  struct Box {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
  };
  enum class Anchor { kStart, kMiddle, kEnd };
  struct Style {
    Anchor anchor = Anchor::kStart;
    double size = 12;
    bool bold = false;
    bool muted = false;
    double turned = 0;                              // degrees, clockwise about the anchor
    std::optional<size_t> on_shade = std::nullopt;  // in its ink, invisible to the pointer
  };

  // `title` is what the drawing is called where it cannot be seen. Cells and words name `shades` by
  // index.
  Svg(double width, double height, std::string_view title, std::span<const Shade> shades = {});

  // `fill` is a colour of CSS; `opacity` in [0, 1]. The tooltip appears under the pointer.
  void Rectangle(const Box& box, std::string_view fill, std::string_view tooltip = {},
                 double opacity = 1);
  void Cell(const Box& box, size_t shade, std::string_view tooltip = {});
  // A thin frame around what is there.
  void Frame(const Box& box);
  // A dashed frame: something that is not there.
  void Outline(const Box& box, std::string_view tooltip = {});
  void Line(double x1, double y1, double x2, double y2);
  // A line of the grid of `plot`, with its value: at height `y`, the words on its left; or down at
  // `x`, the words below.
  void LineAcross(const Box& plot, double y, std::string_view value);
  void LineDown(const Box& plot, double x, std::string_view value);
  // `y` is the base line.
  void Words(double x, double y, std::string_view text);
  void Words(double x, double y, std::string_view text, const Style& style);

  std::string Finish() &&;

 private:
  void Shape(std::string attributes, const Box& box, std::string_view tooltip);

  std::string text_;
};

}  // namespace metis::drawing
