// The template of the report's page (report/page.h), as a part of the program: web/ builds it, and
// metis_embed() (cmake/MetisEmbed.cmake) links it in.
#pragma once

#include <string_view>

namespace metis::apps {

std::string_view ReportPage();

}  // namespace metis::apps
