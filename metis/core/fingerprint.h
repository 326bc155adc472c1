// 64-bit fingerprints (XXH3) of bytes: names models and states so that equal ones can be
// recognised. Not a defence against forgery. The same on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;  // of xxhash.h

namespace metis {

uint64_t Fingerprint(std::span<const std::byte> bytes);
uint64_t Fingerprint(std::string_view text);

// The same for bytes that come in pieces, whatever the pieces are. Movable; a few hundred bytes.
class RunningFingerprint {
 public:
  RunningFingerprint();

  void Add(std::span<const std::byte> bytes);
  uint64_t value() const;  // of everything added so far
  void Reset();            // as if nothing had been added

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

// 16 lower-case hexadecimal digits, as fingerprints are written in files and messages.
std::string Hex(uint64_t fingerprint);

}  // namespace metis
