#include "metis/core/version.h"

#include "metis/core/version_number.h"

namespace metis {

std::string_view ProgramVersion() { return METIS_VERSION; }

}  // namespace metis
