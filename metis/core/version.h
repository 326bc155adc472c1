// Which Metis this is. Said to peers, written into records, shown to users. A constant: any thread
// may ask.
#pragma once

#include <string_view>

namespace metis {

// "0.1.0"
std::string_view ProgramVersion();

}  // namespace metis
