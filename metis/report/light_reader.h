// Reads the record of a run for figures: quickly, and without the models. Of events.jsonl
// (docs/run-directory.md) only the lines that figures are made from are parsed: the events
// `joined`, `update` and `tested`, the notes `committed`, `rejected`, `counts-refused` and
// `finished`. Every other line is counted by its name and not looked into; finding damage is the
// business of a replay.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/drivers/recorder.h"

namespace metis::report {

struct LightRead {
  Instant last;                             // time of the last whole line
  std::map<std::string, uint64_t> skipped;  // lines that were only counted, by event or note
  bool torn = false;    // the file ends within a line: the run was cut off while it wrote
  uint64_t events = 0;  // that were read, told or not
  uint64_t bytes = 0;   // of the lines that were read
};

// Tells `listener` of the lines named above, in their order; models of updates and commits are
// null. Ends after `most_events` events and the notes that follow them. One thread; memory for one
// line. An error names file and line.
Result<LightRead> ReadLightly(const std::filesystem::path& events, drivers::Recorder& listener,
                              uint64_t most_events = std::numeric_limits<uint64_t>::max());

// How many events it has in whole lines; no line is parsed.
Result<uint64_t> CountEvents(const std::filesystem::path& events);

}  // namespace metis::report
