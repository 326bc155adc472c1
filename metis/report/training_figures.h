// The figures of a centralised training (`metis train`): a test after every epoch. Its time is that
// of training on the machine that ran it, without the tests.
#pragma once

#include <cstdint>
#include <string>

#include "metis/core/result.h"
#include "metis/report/run_figures.h"

namespace metis::report {

// One that was stopped before its first epoch ended has nothing to show and is refused.
Result<RunFigures> ReadTrainingFigures(const std::string& directory, FlatSettings settings);

// Takes the seed out of settings that came from the file `config`.
Result<uint64_t> TakeSeed(FlatSettings& settings, const std::string& key,
                          const std::string& config);

}  // namespace metis::report
