// A confusion matrix as a picture (SVG): a heat map of the shares of each actual class, with the
// counts in it where there is room, and in the tooltips always. Readable on light and on dark
// ground. A pure function; a hundred classes make a text of about two megabytes.
#pragma once

#include <string>
#include <vector>

#include "metis/core/confusion.h"

namespace metis::drawing {

// `names` has one name for each class (checked).
std::string DrawConfusion(const ConfusionCounts& counts, const std::vector<std::string>& names,
                          const std::string& title);

}  // namespace metis::drawing
