// The page of a report: one HTML file that needs nothing else. A template holds two markers, each
// once: kTitleMarker within <title>, kDataMarker within <script type="application/json">.
#pragma once

#include <string>
#include <string_view>

#include "metis/core/result.h"
#include "metis/report/json_archive.h"

namespace metis::report {

inline constexpr std::string_view kTitleMarker = "METIS_REPORT_TITLE";
inline constexpr std::string_view kDataMarker = "METIS_REPORT_DATA";

// JSON that is safe within a script element: no text of it can end the element or begin a comment
// ("<" is \u003c), and U+2028 and U+2029 are escaped. Parses back to the same values; what is not
// UTF-8 is replaced.
std::string ScriptSafe(const Json& data);

// Fails where the template lacks a marker or has it twice.
Result<std::string> FillPage(std::string_view page, std::string_view title, const Json& data);

// Writes beside the place and renames, so that nobody finds half a page. A directory is refused,
// and so is a name that does not end in .html or .htm: a slip must not replace a file of a run.
Result<void> WritePage(const std::string& path, std::string_view page);

}  // namespace metis::report
