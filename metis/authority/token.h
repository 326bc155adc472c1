// The word that an institution is given to join a federation with: who it will be, a secret that is
// good once, how to recognise the authority, and where the controller is. One word of letters,
// digits, - and _ that can be copied, read out and mistyped: a checksum tells.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "metis/core/result.h"

namespace metis::authority {

enum class Role : uint8_t { kLearner = 0, kObserver = 1, kAdmin = 2 };
// "learner", "observer", "admin".
std::string_view NameOf(Role role);
Result<Role> ParseRole(std::string_view word);

inline constexpr size_t kSecretBytes = 16;

using Sha256 = std::array<unsigned char, 32>;
Sha256 Sha256Of(std::string_view bytes);

struct Token {
  std::string secret;     // kSecretBytes that nobody can guess
  Sha256 authority = {};  // of the authority's certificate, in DER
  Role role = Role::kLearner;
  std::string name;
  std::string address;  // HOST:PORT; empty: to be asked for elsewhere

  friend bool operator==(const Token&, const Token&) = default;
};

std::string FormatToken(const Token& token);
// White space around it is passed over. The error says whether it was mistyped, cut off, or is of a
// later Metis.
Result<Token> ParseToken(std::string_view text);

}  // namespace metis::authority
