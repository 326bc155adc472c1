// The drawing of a dealt data set: one row a learner, on the left its examples, on the right its
// classes in proportion, which shows small learners, too.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "apps/dealt_view.h"
#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/drawing/legend.h"
#include "metis/drawing/svg.h"

namespace metis::apps {
namespace {

using drawing::ClassColour;
using drawing::Legend;
using drawing::Svg;

constexpr double kWidth = 960, kMargin = 24;
constexpr double kTop = 92;  // of the first row
constexpr double kSizesLeft = 64, kSizesWidth = 400;
constexpr double kPartsLeft = 724, kPartsWidth = kWidth - kPartsLeft - kMargin;
constexpr size_t kMostTooltips = 20'000;  // more would make the file heavy
constexpr size_t kMostLegendLines = 4;

// As much of the text as a line can hold.
std::string FittingLine(std::string text, double size) {
  return drawing::Fitting(std::move(text), kWidth - 2 * kMargin, size);
}

std::string Thousands(uint64_t number) { return Grouped(number, "\u202f"); }

class Drawing {
 public:
  explicit Drawing(const data::DealtData& dealt)
      : dealt_(dealt),
        classes_(dealt.set.classes()),
        rows_(dealt.learners.size()),
        row_height_(rows_ <= 40 ? 24.0 : std::max(3.0, 960.0 / static_cast<double>(rows_))),
        legend_(LegendEntries(), kSizesLeft, kWidth - kMargin, kMostLegendLines),
        svg_(kWidth, Bottom() + (legend_.empty() ? 16 : 30 + legend_.height()), Title()) {
    for (const data::Share& share : dealt.partition.shares) {
      most_ = std::max(
          {most_, static_cast<double>(share.examples.size()), static_cast<double>(share.wanted)});
    }
    tooltips_ = rows_ * classes_ <= kMostTooltips;
  }

  std::string Draw() && {
    Heading();
    Axes();
    for (size_t k = 0; k < rows_; ++k) Row(k);
    legend_.Draw(Bottom() + 20, svg_);
    return std::move(svg_).Finish();
  }

 private:
  double Bottom() const { return kTop + row_height_ * static_cast<double>(rows_) + 30; }

  std::string Title() const {
    const std::string& name = dealt_.set.name();  // of a file its path, which may be long
    return Text(name.substr(name.rfind('/') + 1), ": ", Count(dealt_.dealt(), "example"), " of ",
                dealt_.set.size(), " dealt to ", Count(rows_, "learner"));
  }

  void Heading() {
    svg_.Words(kMargin, 30, FittingLine(Title(), 16), {.size = 16, .bold = true});
    const data::PartitionSettings& settings = dealt_.settings.partition;
    std::string how = settings.classes == data::ClassDistribution::kTable
                          ? std::string()
                          : Text("sizes ", data::FormatSizes(settings), ", ");
    how += Text("classes ", data::FormatClasses(settings), ", seed ", dealt_.settings.seed);
    if (dealt_.partition.shortfall > 0) {
      how += Text("; shortfall ", Thousands(dealt_.partition.shortfall));
    }
    if (dealt_.partition.left_over > 0) {
      how += Text("; left over ", Thousands(dealt_.partition.left_over));
    }
    svg_.Words(kMargin, 49, FittingLine(how, 12), {.muted = true});
    svg_.Words(kSizesLeft, kTop - 10, "examples", {.bold = true});
    svg_.Words(kSizesLeft - 10, kTop - 10, "learner",
               {.anchor = Svg::Anchor::kEnd, .size = 11, .muted = true});
    svg_.Words(kPartsLeft, kTop - 10, "classes, in proportion", {.bold = true});
  }

  void Axes() {
    const Svg::Box sizes = {kSizesLeft, kTop - 4, kSizesWidth, Bottom() - 26 - (kTop - 4)};
    const double step = std::max(1.0, drawing::RoundedUp(most_ / 5));
    for (double tick = 0; tick <= most_; tick += step) {
      svg_.LineDown(sizes, kSizesLeft + kSizesWidth * tick / most_,
                    Thousands(static_cast<uint64_t>(tick)));
    }
    for (int part : {0, 50, 100}) {
      svg_.LineDown(sizes, kPartsLeft + kPartsWidth * part / 100, Text(part, " %"));
    }
  }

  // One stacked bar; `scale` is pixels an example.
  void Bar(size_t k, double left, double scale, const Svg::Box& row) {
    const data::Share& share = dealt_.partition.shares[k];
    for (uint32_t c = 0; c < classes_; ++c) {
      const uint64_t count = share.class_counts[c];
      if (count == 0) continue;
      const double width = static_cast<double>(count) * scale;
      const double gap = width > 3 ? 0.75 : 0;  // tells neighbours apart
      std::string tooltip;
      if (tooltips_) {
        const double percent =
            100 * static_cast<double>(count) / static_cast<double>(share.examples.size());
        tooltip = Text("learner ", k, ", ", ClassWords(c), ": ", Count(count, "example"), " (",
                       Fixed(percent, 1), " %)");
      }
      svg_.Rectangle({left, row.y, width - gap, row.height}, ClassColour(c, classes_), tooltip);
      left += width;
    }
  }

  void Row(size_t k) {
    const data::Share& share = dealt_.partition.shares[k];
    const auto got = static_cast<double>(share.examples.size());
    const double space = row_height_ > 8 ? 5 : row_height_ > 4 ? 1 : 0;
    const double scale = kSizesWidth / most_;
    const Svg::Box row = {kSizesLeft, kTop + row_height_ * static_cast<double>(k) + space / 2,
                          kSizesWidth, row_height_ - space};
    Bar(k, kSizesLeft, scale, row);
    Bar(k, kPartsLeft, kPartsWidth / got, row);
    const auto wanted = static_cast<double>(share.wanted);
    if (wanted > got) {
      const std::string tooltip =
          Text("learner ", k, ": ", Count(share.wanted - share.examples.size(), "example"),
               " wanted and not given");
      const double left = kSizesLeft + got * scale, width = (wanted - got) * scale;
      if (readable()) {
        svg_.Outline({left, row.y + 0.5, width, row.height - 1}, tooltip);
      } else {
        svg_.Rectangle({left, row.y, width, row.height}, "#808080", tooltip, 0.25);
      }
    }
    Labels(k, row, kSizesLeft + std::max(got, wanted) * scale + 8);
  }

  // The learner's number and, if there is room, its size. Thin rows have a number now and then.
  void Labels(size_t k, const Svg::Box& row, double right) {
    const double size = readable() ? std::min(12.0, row.height - 1) : 10;
    const double base = row.y + row.height / 2 + size * 0.36;
    const auto every =
        readable() ? size_t{1} : static_cast<size_t>(10 * std::ceil(3 / row_height_));
    if (k % every == 0) {
      svg_.Words(kSizesLeft - 10, base, Text(k), {.anchor = Svg::Anchor::kEnd, .size = size});
    }
    if (!readable()) return;
    const data::Share& share = dealt_.partition.shares[k];
    std::string note = Thousands(share.examples.size());
    if (share.wanted > share.examples.size()) note += Text(" of ", Thousands(share.wanted));
    if (dealt_.learners[k].faulty) note += Text(", ", *dealt_.learners[k].faulty);
    svg_.Words(right, base, note, {.size = size, .muted = true});
  }

  bool readable() const { return row_height_ >= 12; }  // rows high enough for words

  std::string ClassWords(uint32_t c) const {
    return dealt_.set.class_names().empty() ? Text("class ", c)
                                            : Text(c, " ", dealt_.set.ClassName(c));
  }
  std::string LegendWords(uint32_t c) const {
    return dealt_.set.class_names().empty() ? Text(c) : dealt_.set.ClassName(c);
  }

  // One for each class.
  std::vector<Legend::Entry> LegendEntries() const {
    std::vector<Legend::Entry> entries;
    for (uint32_t c = 0; c < classes_; ++c) {
      entries.push_back({LegendWords(c), ClassColour(c, classes_)});
    }
    return entries;
  }

  const data::DealtData& dealt_;
  const uint32_t classes_;
  const size_t rows_;
  const double row_height_;
  const Legend legend_;
  Svg svg_;
  double most_ = 1;
  bool tooltips_ = true;
};

}  // namespace

std::string DealtAsSvg(const data::DealtData& dealt) { return Drawing(dealt).Draw(); }

}  // namespace metis::apps
