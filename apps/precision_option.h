// --precision: in which numbers a network computes.
#pragma once

#include "metis/learner/settings.h"

namespace CLI {
class App;
}

namespace metis::apps {

void AddPrecisionOption(CLI::App& app, learner::Precision& precision);

}  // namespace metis::apps
