// How a data set that is dealt to learners is shown: as words and a table for the terminal, as
// JSON, as a table that `table:FILE` reads back, and as a drawing.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "metis/data/dealt_data.h"

namespace metis::apps {

// Of many classes a summary for each learner; all counts, a few classes at a time, if `full`.
void PrintDealt(const data::DealtData& dealt, bool full, std::ostream& out, bool styled);
std::string DealtAsJson(const data::DealtData& dealt);
std::string DealtAsCsv(const data::DealtData& dealt);
// Learners as bars, largest first, with a colour for each class.
std::string DealtAsSvg(const data::DealtData& dealt);

// "3 examples", "1 example".
std::string Count(uint64_t number, std::string_view noun);

}  // namespace metis::apps
