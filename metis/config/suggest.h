// "Did you mean ...?" for words that are no known word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace metis::config {

// The known word that `word` is a slip of, or the shortest one that it starts like ("asinc" is a
// slip of the start of "async-dvw"); empty if none comes near.
std::string Suggest(std::string_view word, std::vector<std::string> known);

// "; did you mean X?" with X between `before` and `after`, or nothing.
std::string DidYouMean(std::string_view lead, std::string_view word,
                       const std::vector<std::string>& known, std::string_view before = "\"",
                       std::string_view after = "\"");

}  // namespace metis::config
