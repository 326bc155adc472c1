// The legend of a drawing: patches of colour with words beside them, in as many lines as they need.
// A value, used by one thread.
//
//   const Legend legend({{"AsyncDVW", "teal"}, {"FedAsync", "crimson"}}, 64, 900);
//   Svg svg(960, 300 + legend.height(), "Accuracy");
//   legend.Draw(300, svg);
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "metis/drawing/svg.h"

namespace metis::drawing {

class Legend {
 public:
  struct Entry {
    std::string words;
    std::string colour;
  };

  // Between `left` and `right`; empty if it would take more than `most_lines`.
  Legend(std::vector<Entry> entries, double left, double right,
         size_t most_lines = std::numeric_limits<size_t>::max());

  bool empty() const { return placed_.empty(); }
  double height() const;  // 0 if it is empty

  void Draw(double top, Svg& svg) const;

 private:
  struct Placed {
    Entry entry;
    double x = 0;
    size_t line = 0;
  };

  std::vector<Placed> placed_;
};

}  // namespace metis::drawing
