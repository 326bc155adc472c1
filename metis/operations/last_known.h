// What is known of a federation whose controller is not running: read from its record, which ends
// where the controller did. Of participants, who has contributed what; nothing of who is there.
#pragma once

#include <string>

#include "metis/core/result.h"
#include "metis/operations/status.h"

namespace metis::operations {

// `phase` is "finished" or empty: it has not finished, and may go on. Reads events.jsonl once.
Result<Status> ReadLastKnown(const std::string& run);

}  // namespace metis::operations
