// How `metis experiment` shows a table of results and the cache figure on a terminal.
#pragma once

#include <string>

#include "metis/experiment/cache_figure.h"
#include "metis/experiment/results.h"

namespace metis::apps {

// Measured above the paper's, the best marked with *; and what is to be said below.
std::string FormatText(const experiment::TableResult& result);
std::string FormatText(const experiment::CacheFigure& figure);

}  // namespace metis::apps
