#include "metis/core/fingerprint.h"

#include <xxhash.h>
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the widest vectors that this machine has, chosen once; the same bits
#endif

#include "metis/core/check.h"

namespace metis {

uint64_t Fingerprint(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t Fingerprint(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

void RunningFingerprint::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

RunningFingerprint::RunningFingerprint() : state_(XXH3_createState()) {
  METIS_CHECK(state_ != nullptr);
  Reset();
}

void RunningFingerprint::Add(std::span<const std::byte> bytes) {
  METIS_CHECK(XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()) == XXH_OK);
}

uint64_t RunningFingerprint::value() const { return XXH3_64bits_digest(state_.get()); }

void RunningFingerprint::Reset() { XXH3_64bits_reset(state_.get()); }

std::string Hex(uint64_t fingerprint) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(16, '0');
  for (size_t i = 0; i < 16; ++i) out[15 - i] = kDigits[(fingerprint >> (4 * i)) & 0xf];
  return out;
}

}  // namespace metis
