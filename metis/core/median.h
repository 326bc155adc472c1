// The median, as the triggers, the summaries and the measurements of Metis define it. Pure: any
// thread may call it. Costs a copy and a sort of the values.
#pragma once

#include <vector>

namespace metis {

// The middle value; the mean of the two middle ones where their number is even. Checked: not empty.
double Median(std::vector<double> values);

}  // namespace metis
