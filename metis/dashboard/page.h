// The dashboard's page, as a part of the program: web/ builds it, and metis_embed()
// (cmake/MetisEmbed.cmake) links it in.
#pragma once

#include <string_view>

namespace metis::dashboard {

std::string_view Page();

}  // namespace metis::dashboard
