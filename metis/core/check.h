// Checks that stay on in release builds: our own invariants. A broken one stops the process,
// because going on would write wrong results. What a peer or a user can cause is a Result instead.
#pragma once

#include <string_view>

namespace metis {

// Prints file, line, condition and message to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view message);

}  // namespace metis

#define METIS_CHECK(condition)                                                  \
  do {                                                                          \
    if (!(condition)) [[unlikely]] {                                            \
      ::metis::CheckFailed(__FILE__, __LINE__, #condition, std::string_view()); \
    }                                                                           \
  } while (false)

#define METIS_CHECK_MSG(condition, message)                            \
  do {                                                                 \
    if (!(condition)) [[unlikely]] {                                   \
      ::metis::CheckFailed(__FILE__, __LINE__, #condition, (message)); \
    }                                                                  \
  } while (false)
