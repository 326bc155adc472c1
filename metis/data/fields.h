// The fields of a line of CSV and how they are shown in messages: what the readers of tables share.
// Pure functions: any thread may call them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"

namespace metis::data {

// A field as it is shown in a message: binary rubbish must not fill the screen.
std::string Shown(std::string_view field);

// An error at a place that people count from 1: "FILE: line 2, column 3: message". `column` counts
// from 0.
Error AtField(std::string_view path, size_t line, size_t column, std::string_view message);

// Replaces `fields` by those of the line: commas between them, each trimmed or in double quotes,
// within which a comma is text. They are views into `line`; `path` and `number` are for messages. A
// byte order mark at the beginning of line 1 is passed over.
Result<void> SplitFields(std::string_view line, std::string_view path, size_t number,
                         std::vector<std::string_view>& fields);

}  // namespace metis::data
