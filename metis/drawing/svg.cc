#include "metis/drawing/svg.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "metis/core/text.h"

namespace metis::drawing {
namespace {

constexpr std::string_view kTenColours[] = {"#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f",
                                            "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac"};

constexpr std::string_view kStyle =
    "text{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1f2328}"
    ".muted{fill:#59636e}.paper{fill:#fff}"
    ".line{stroke:#d1d9e0}.outline{fill:none;stroke:#59636e;stroke-dasharray:3 2}"
    ".frame{fill:none;stroke:#1f2328;stroke-opacity:.35}"
    "@media(prefers-color-scheme:dark){"
    "text{fill:#e6edf3}.muted{fill:#9aa4af}.paper{fill:#15191f}"
    ".line{stroke:#343b44}.outline{stroke:#9aa4af}.frame{stroke:#e6edf3}}";

// Shade 3 fills as class s3 and writes as class n3.
std::string StyleOf(std::span<const Shade> shades) {
  std::string light;
  std::string dark;
  for (size_t i = 0; i < shades.size(); ++i) {
    const Shade& shade = shades[i];
    light += Text(".s", i, "{fill:", shade.light, "}.n", i, "{fill:", shade.ink, "}");
    dark += Text(".s", i, "{fill:", shade.dark, "}.n", i, "{fill:", shade.dark_ink, "}");
  }
  return shades.empty() ? "" : Text(light, "@media(prefers-color-scheme:dark){", dark, "}");
}

// Up to two decimals, none that are not needed.
std::string Pixels(double value) {
  std::string text = Fixed(value, 2);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

// The length of the well-formed UTF-8 character at the beginning, 0 if there is none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 && first <= 0xf4   ? 4
                        : first >= 0xe0 && first <= 0xef ? 3
                        : first >= 0xc2 && first <= 0xdf ? 2
                                                         : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond Unicode.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) {
    return 0;
  }
  const bool not_xml = first == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe;  // U+FFFE, U+FFFF
  return not_xml ? 0 : length;
}

std::string Hex(double red, double green, double blue) {
  std::string text = "#";
  for (double part : {red, green, blue}) {
    const auto value = static_cast<unsigned>(std::lround(std::clamp(part, 0.0, 1.0) * 255));
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += {kDigits[value / 16], kDigits[value % 16]};
  }
  return text;
}

// Hue in turns; saturation and lightness in [0, 1].
std::string FromHsl(double hue, double saturation, double lightness) {
  const double reach = saturation * std::min(lightness, 1 - lightness);
  auto channel = [&](double offset) {
    const double k = std::fmod(offset + hue * 12, 12.0);
    return lightness - reach * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
  };
  return Hex(channel(0), channel(8), channel(4));
}

}  // namespace

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const char c = text.front();
    const size_t length = CharacterLength(text);
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (length == 0 || (length == 1 && (static_cast<unsigned char>(c) < ' ' || c == 0x7f))) {
      escaped += '?';
    } else {
      escaped += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return escaped;
}

std::string ClassColour(size_t i, size_t classes) {
  if (classes <= std::size(kTenColours)) return std::string(kTenColours[i % 10]);
  constexpr double kGolden = 0.618033988749895;  // turns: neighbours are far apart on the circle
  constexpr std::array kLightness = {0.50, 0.66, 0.40};
  return FromHsl(std::fmod(static_cast<double>(i) * kGolden, 1.0), 0.55, kLightness[i % 3]);
}

double WidthOfWords(std::string_view text, double size) {
  return static_cast<double>(text.size()) * size * 0.56;
}

std::string Fitting(std::string text, double width, double size) {
  constexpr std::string_view kMore = "…";
  if (WidthOfWords(text, size) <= width) return text;
  const double room = width - WidthOfWords(kMore, size);
  size_t length = text.size();
  while (length > 0 && WidthOfWords(std::string_view(text).substr(0, length), size) > room) {
    --length;
  }
  // No character of several bytes is cut: the first byte left out begins one.
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  text.resize(length);
  return text.append(kMore);
}

double RoundedUp(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (double step : {1.0, 2.0, 5.0}) {
    if (value <= step * power) return step * power;
  }
  return 10 * power;
}

Svg::Svg(double width, double height, std::string_view title, std::span<const Shade> shades) {
  text_ =
      Text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", Pixels(width), "\" height=\"",
           Pixels(height), "\" viewBox=\"0 0 ", Pixels(width), " ", Pixels(height),
           "\" role=\"img\">\n<title>", EscapeXml(title), "</title>\n<style>", kStyle,
           StyleOf(shades), "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
}

void Svg::Shape(std::string attributes, const Box& box, std::string_view tooltip) {
  text_ += Text("<rect ", attributes, " x=\"", Pixels(box.x), "\" y=\"", Pixels(box.y),
                "\" width=\"", Pixels(box.width), "\" height=\"", Pixels(box.height), "\"");
  text_ += tooltip.empty() ? "/>\n" : Text("><title>", EscapeXml(tooltip), "</title></rect>\n");
}

void Svg::Rectangle(const Box& box, std::string_view fill, std::string_view tooltip,
                    double opacity) {
  std::string attributes = Text("fill=\"", EscapeXml(fill), "\"");
  if (opacity < 1) attributes += Text(" fill-opacity=\"", Pixels(opacity), "\"");
  Shape(std::move(attributes), box, tooltip);
}

void Svg::Cell(const Box& box, size_t shade, std::string_view tooltip) {
  Shape(Text("class=\"s", shade, "\""), box, tooltip);
}

void Svg::Frame(const Box& box) { Shape("class=\"frame\"", box, {}); }

void Svg::Outline(const Box& box, std::string_view tooltip) {
  Shape("class=\"outline\"", box, tooltip);
}

void Svg::Line(double x1, double y1, double x2, double y2) {
  text_ += Text("<line class=\"line\" x1=\"", Pixels(x1), "\" y1=\"", Pixels(y1), "\" x2=\"",
                Pixels(x2), "\" y2=\"", Pixels(y2), "\"/>\n");
}

void Svg::LineAcross(const Box& plot, double y, std::string_view value) {
  Line(plot.x, y, plot.x + plot.width, y);
  Words(plot.x - 6, y + 4, value, {.anchor = Anchor::kEnd, .size = 11, .muted = true});
}

void Svg::LineDown(const Box& plot, double x, std::string_view value) {
  const double bottom = plot.y + plot.height;
  Line(x, plot.y, x, bottom);
  Words(x, bottom + 15, value, {.anchor = Anchor::kMiddle, .size = 11, .muted = true});
}

void Svg::Words(double x, double y, std::string_view text) { Words(x, y, text, Style()); }

void Svg::Words(double x, double y, std::string_view text, const Style& style) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  text_ += Text("<text x=\"", Pixels(x), "\" y=\"", Pixels(y), "\" font-size=\"",
                Pixels(style.size), "\"");
  if (style.anchor != Anchor::kStart) {
    text_ += Text(" text-anchor=\"", kAnchors[static_cast<size_t>(style.anchor)], "\"");
  }
  if (style.bold) text_ += " font-weight=\"600\"";
  if (style.muted) text_ += " class=\"muted\"";
  if (style.on_shade) text_ += Text(" class=\"n", *style.on_shade, "\" pointer-events=\"none\"");
  if (style.turned != 0) {
    text_ +=
        Text(" transform=\"rotate(", Pixels(style.turned), " ", Pixels(x), " ", Pixels(y), ")\"");
  }
  text_ += Text(">", EscapeXml(text), "</text>\n");
}

std::string Svg::Finish() && {
  text_ += "</svg>\n";
  return std::move(text_);
}

}  // namespace metis::drawing
