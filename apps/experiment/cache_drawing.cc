// The cache figure as text, CSV, JSON and a drawing.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "apps/experiment/cache_figure.h"
#include "apps/experiment/scale.h"
#include "apps/svg.h"
#include "apps/table.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

double RatioOf(const CachePoint& point) {
  return point.with_s > 0 ? point.without_s / point.with_s : 0;
}

template <typename Member>
auto Distinct(const CacheFigure& figure, Member member) {
  std::vector<std::decay_t<decltype(member(figure.points[0]))>> values;
  for (const CachePoint& point : figure.points) {
    if (std::find(values.begin(), values.end(), member(point)) == values.end()) {
      values.push_back(member(point));
    }
  }
  return values;
}

// The next of 1, 2, 5, 10, 20, ... at or above.
double RoundUp(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (double step : {1.0, 2.0, 5.0}) {
    if (value <= step * power) return step * power;
  }
  return 10 * power;
}

std::string Milliseconds(double ms) { return Fixed(ms, ms < 10 ? 2 : ms < 100 ? 1 : 0); }

constexpr double kPanelWidth = 360;
constexpr double kPlotHeight = 220;
constexpr double kTop = 64;
constexpr double kLeft = 64;

// Bars of all models for each number of learners, above an axis in milliseconds.
void DrawPanel(const CacheFigure& figure, double left, const std::string& title,
               double CachePoint::*seconds, Svg& svg) {
  const auto models = Distinct(figure, [](const CachePoint& p) { return p.model; });
  auto learners = Distinct(figure, [](const CachePoint& p) { return p.learners; });
  std::sort(learners.begin(), learners.end());
  double highest = 0;
  for (const CachePoint& point : figure.points) highest = std::max(highest, 1000 * point.*seconds);
  const double top = RoundUp(std::max(highest, 1e-3));
  const double bottom = kTop + kPlotHeight;
  svg.Words(left, kTop - 16, title, {.anchor = Svg::Anchor::kStart, .size = 13, .bold = true});
  for (int tick = 0; tick <= 4; ++tick) {
    const double y = bottom - kPlotHeight * tick / 4;
    svg.Line(left, y, left + kPanelWidth, y);
    svg.Words(left - 6, y + 4, Milliseconds(top * tick / 4),
              {.anchor = Svg::Anchor::kEnd, .size = 11, .muted = true});
  }
  const double slot = kPanelWidth / static_cast<double>(learners.size());
  const double bar = 0.8 * slot / static_cast<double>(models.size());
  for (size_t n = 0; n < learners.size(); ++n) {
    svg.Words(left + slot * (static_cast<double>(n) + 0.5), bottom + 16, Text(learners[n]),
              {.anchor = Svg::Anchor::kMiddle, .size = 11});
  }
  for (const CachePoint& point : figure.points) {
    auto n = std::find(learners.begin(), learners.end(), point.learners) - learners.begin();
    auto m =
        static_cast<size_t>(std::find(models.begin(), models.end(), point.model) - models.begin());
    const double ms = 1000 * point.*seconds;
    const double height = kPlotHeight * ms / top;
    svg.Rectangle({left + slot * (static_cast<double>(n) + 0.1) + bar * static_cast<double>(m),
                   bottom - height, 0.9 * bar, height},
                  ClassColour(m, models.size()),
                  Text(point.model, ", ", point.learners, " learners: ", Milliseconds(ms), " ms"));
  }
  svg.Words(left + kPanelWidth / 2, bottom + 34, "learners",
            {.anchor = Svg::Anchor::kMiddle, .size = 11, .muted = true});
}

}  // namespace

std::string FormatText(const CacheFigure& figure) {
  Table table({{"model"},
               {"parameters", Align::kRight},
               {"learners", Align::kRight},
               {"with cache", Align::kRight},
               {"without", Align::kRight},
               {"ratio", Align::kRight}});
  for (const CachePoint& point : figure.points) {
    table.AddRow({point.model, WithCommas(point.parameters), Text(point.learners),
                  Text(Milliseconds(1000 * point.with_s), " ms"),
                  Text(Milliseconds(1000 * point.without_s), " ms"), Fixed(RatioOf(point), 1)});
  }
  std::ostringstream out;
  table.Print(out);
  out << "\nOne community computation on one thread, median of " << figure.repetitions
      << "; the CPU's caches are emptied before each.\n";
  for (const std::string& skipped : figure.skipped) out << "Skipped: " << skipped << ".\n";
  return out.str();
}

std::string FormatCsv(const CacheFigure& figure) {
  std::ostringstream out;
  out << "model,parameters,learners,with_cache_s,without_cache_s,ratio\n";
  for (const CachePoint& point : figure.points) {
    out << point.model << "," << point.parameters << "," << point.learners << ","
        << Text(point.with_s) << "," << Text(point.without_s) << "," << Text(RatioOf(point))
        << "\n";
  }
  return out.str();
}

report::Json FormatJson(const CacheFigure& figure) {
  report::Json points = report::Json::array();
  for (const CachePoint& point : figure.points) {
    points.push_back({{"model", point.model},
                      {"parameters", point.parameters},
                      {"learners", point.learners},
                      {"with_cache_s", point.with_s},
                      {"without_cache_s", point.without_s},
                      {"ratio", RatioOf(point)}});
  }
  return {{"points", std::move(points)},
          {"skipped", figure.skipped},
          {"repetitions", figure.repetitions}};
}

std::string DrawSvg(const CacheFigure& figure) {
  const double width = 2 * (kLeft + kPanelWidth) + 24;
  const auto models = Distinct(figure, [](const CachePoint& p) { return p.model; });
  Svg svg(width, kTop + kPlotHeight + 48 + 24, "Community computation with and without cache");
  svg.Words(12, 22, "Community computation, ms (each panel has its own scale)",
            {.anchor = Svg::Anchor::kStart, .size = 14, .bold = true});
  DrawPanel(figure, kLeft, "with cache", &CachePoint::with_s, svg);
  DrawPanel(figure, 2 * kLeft + kPanelWidth, "without cache", &CachePoint::without_s, svg);
  double x = kLeft;
  const double y = kTop + kPlotHeight + 48;
  for (size_t m = 0; m < models.size(); ++m) {
    auto point = std::find_if(figure.points.begin(), figure.points.end(),
                              [&](const CachePoint& p) { return p.model == models[m]; });
    const std::string label = Text(models[m], " (", WithCommas(point->parameters), ")");
    svg.Rectangle({x, y, 12, 12}, ClassColour(m, models.size()));
    svg.Words(x + 18, y + 11, label);
    x += 18 + WidthOfWords(label) + 24;
  }
  return std::move(svg).Finish();
}

}  // namespace metis::apps
