// The cache figure as CSV, JSON and a drawing.
#include <algorithm>
#include <sstream>

#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/drawing/legend.h"
#include "metis/drawing/svg.h"
#include "metis/experiment/cache_figure.h"

namespace metis::experiment {
namespace {

using drawing::ClassColour;
using drawing::Legend;
using drawing::Svg;

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
  const double top = drawing::RoundedUp(std::max(highest, 1e-3));
  const double bottom = kTop + kPlotHeight;
  svg.Words(left, kTop - 16, title, {.anchor = Svg::Anchor::kStart, .size = 13, .bold = true});
  for (int tick = 0; tick <= 4; ++tick) {
    svg.LineAcross({left, kTop, kPanelWidth, kPlotHeight}, bottom - kPlotHeight * tick / 4,
                   FormatMilliseconds(top * tick / 4));
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
    svg.Rectangle(
        {left + slot * (static_cast<double>(n) + 0.1) + bar * static_cast<double>(m),
         bottom - height, 0.9 * bar, height},
        ClassColour(m, models.size()),
        Text(point.model, ", ", point.learners, " learners: ", FormatMilliseconds(ms), " ms"));
  }
  svg.Words(left + kPanelWidth / 2, bottom + 34, "learners",
            {.anchor = Svg::Anchor::kMiddle, .size = 11, .muted = true});
}

}  // namespace

std::string FormatMilliseconds(double ms) { return Fixed(ms, ms < 10 ? 2 : ms < 100 ? 1 : 0); }

std::string FormatCsv(const CacheFigure& figure) {
  std::ostringstream out;
  out << "model,parameters,learners,with_cache_s,without_cache_s,ratio\n";
  for (const CachePoint& point : figure.points) {
    out << point.model << "," << point.parameters << "," << point.learners << ","
        << Text(point.with_s) << "," << Text(point.without_s) << "," << Text(point.ratio()) << "\n";
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
                      {"ratio", point.ratio()}});
  }
  return {{"points", std::move(points)},
          {"skipped", figure.skipped},
          {"repetitions", figure.repetitions}};
}

std::string DrawSvg(const CacheFigure& figure) {
  const double width = 2 * (kLeft + kPanelWidth) + 24;
  const double bottom = kTop + kPlotHeight + 48;
  const auto models = Distinct(figure, [](const CachePoint& p) { return p.model; });
  std::vector<Legend::Entry> entries;
  for (size_t m = 0; m < models.size(); ++m) {
    auto point = std::find_if(figure.points.begin(), figure.points.end(),
                              [&](const CachePoint& p) { return p.model == models[m]; });
    entries.push_back(
        {Text(models[m], " (", Grouped(point->parameters), ")"), ClassColour(m, models.size())});
  }
  const Legend legend(std::move(entries), kLeft, width);
  Svg svg(width, bottom + legend.height() + 4, "Community computation with and without cache");
  svg.Words(12, 22, "Community computation, ms (each panel has its own scale)",
            {.anchor = Svg::Anchor::kStart, .size = 14, .bold = true});
  DrawPanel(figure, kLeft, "with cache", &CachePoint::with_s, svg);
  DrawPanel(figure, 2 * kLeft + kPanelWidth, "without cache", &CachePoint::without_s, svg);
  legend.Draw(bottom, svg);
  return std::move(svg).Finish();
}

}  // namespace metis::experiment
