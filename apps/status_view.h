// A Status as an operator reads it on a terminal: what it is, how far, who takes part, what
// happened last. Lines of plain text; nothing in them can command the terminal, whoever named
// himself how.
#pragma once

#include <iosfwd>

#include "metis/operations/status.h"

namespace metis::apps {

// `styled`: the titles of the table are bold.
void PrintStatus(std::ostream& out, const operations::Status& status, bool styled);

}  // namespace metis::apps
