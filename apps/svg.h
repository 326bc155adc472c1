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
#include <string>
#include <string_view>

namespace metis::apps {

// Text as it may stand in XML: markup escaped, what is no UTF-8 or no character of XML as "?".
std::string EscapeXml(std::string_view text);

// A colour for class `i` of `classes`: hand-picked up to ten; of more, neighbours differ in hue and
// lightness.
std::string ClassColour(size_t i, size_t classes);

// About how wide the text will be; fonts differ.
double WidthOfWords(std::string_view text, double size = 12);

// "30063" as "30 063", with narrow spaces.
std::string Grouped(uint64_t number);

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
  };

  // `title` is what the drawing is called where it cannot be seen.
  Svg(double width, double height, std::string_view title);

  // `fill` is a colour of CSS; `opacity` in [0, 1]. The tooltip appears under the pointer.
  void Rectangle(const Box& box, std::string_view fill, std::string_view tooltip = {},
                 double opacity = 1);
  // A dashed frame: something that is not there.
  void Outline(const Box& box, std::string_view tooltip = {});
  void Line(double x1, double y1, double x2, double y2);
  // `y` is the base line.
  void Words(double x, double y, std::string_view text);
  void Words(double x, double y, std::string_view text, const Style& style);

  std::string Finish() &&;

 private:
  void Shape(std::string attributes, const Box& box, std::string_view tooltip);

  std::string text_;
};

}  // namespace metis::apps
