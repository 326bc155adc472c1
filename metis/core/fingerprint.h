// 64-bit fingerprints (XXH3) of bytes: names models and states so that equal ones can be
// recognised. Not a defence against forgery. The same on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace metis {

uint64_t Fingerprint(std::span<const std::byte> bytes);
uint64_t Fingerprint(std::string_view text);

// 16 lower-case hexadecimal digits, as fingerprints are written in files and messages.
std::string Hex(uint64_t fingerprint);

}  // namespace metis
