// How much room a file system has for us. Asks the system anew with every call; any thread may.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "metis/core/result.h"

namespace metis::machine {

// The directory itself or the nearest above it that exists, absolute; empty is the current one.
std::filesystem::path NearestExisting(const std::string& directory);

// Bytes that may still be written to the file system of a directory that need not exist yet;
// kUnavailable if that cannot be told.
Result<uint64_t> FreeSpace(const std::string& directory);

}  // namespace metis::machine
