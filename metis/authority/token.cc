#include "metis/authority/token.h"

#include <openssl/sha.h>

#include <optional>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/wire/messages.h"

namespace metis::authority {
namespace {

constexpr unsigned char kVersion = 1;
constexpr size_t kChecksumBytes = 4;
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kRoles[] = {"learner", "observer", "admin"};

// base64url without padding.
std::string Encode(std::string_view bytes) {
  std::string text;
  uint32_t held = 0;
  unsigned bits = 0;
  for (const char byte : bytes) {
    held = (held << 8) | static_cast<unsigned char>(byte);
    for (bits += 8; bits >= 6;) text.push_back(kDigits[(held >> (bits -= 6)) & 63]);
  }
  if (bits > 0) text.push_back(kDigits[(held << (6 - bits)) & 63]);
  return text;
}

std::optional<std::string> Decode(std::string_view text) {
  std::string bytes;
  uint32_t held = 0;
  unsigned bits = 0;
  for (const char digit : text) {
    const size_t value = kDigits.find(digit);
    if (value == kDigits.npos) return std::nullopt;
    held = (held << 6) | static_cast<uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>((held >> bits) & 255));
  }
  const bool rest_is_zero = (held & ((1u << bits) - 1)) == 0;
  if (bits >= 6 || !rest_is_zero) return std::nullopt;
  return bytes;
}

std::string Checksum(std::string_view content) {
  const Sha256 digest = Sha256Of(content);
  return {reinterpret_cast<const char*>(digest.data()), kChecksumBytes};
}

void AppendText(std::string& out, std::string_view text) {
  METIS_CHECK(text.size() <= 255);
  out.push_back(static_cast<char>(text.size()));
  out += text;
}

// Takes what it reads away; false at the end.
bool TakeBytes(std::string_view& from, size_t count, std::string_view& to) {
  if (from.size() < count) return false;
  to = from.substr(0, count);
  from.remove_prefix(count);
  return true;
}
bool TakeText(std::string_view& from, std::string_view& to) {
  std::string_view length;
  return TakeBytes(from, 1, length) &&
         TakeBytes(from, static_cast<unsigned char>(length.front()), to);
}

}  // namespace

std::string_view NameOf(Role role) { return kRoles[static_cast<size_t>(role)]; }

Result<Role> ParseRole(std::string_view word) {
  for (size_t i = 0; i < std::size(kRoles); ++i) {
    if (word == kRoles[i]) return static_cast<Role>(i);
  }
  return Invalid(
      Text("\"", wire::Printable(word, 64), "\" is no role: learner, observer and admin are"));
}

Sha256 Sha256Of(std::string_view bytes) {
  Sha256 digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string FormatToken(const Token& token) {
  METIS_CHECK(token.secret.size() == kSecretBytes);
  std::string content(1, static_cast<char>(kVersion));
  content.push_back(static_cast<char>(token.role));
  content += token.secret;
  content.append(reinterpret_cast<const char*>(token.authority.data()), token.authority.size());
  AppendText(content, token.name);
  AppendText(content, token.address);
  return Encode(content + Checksum(content));
}

Result<Token> ParseToken(std::string_view text) {
  const auto mistyped = [] {
    return Invalid(
        "the token is mistyped or cut off (its checksum is wrong): copy the whole word that `metis "
        "ca invite` printed");
  };
  const std::optional<std::string> bytes = Decode(Trim(text, " \t\r\n"));
  if (!bytes || bytes->size() <= kChecksumBytes) return mistyped();
  std::string_view rest(bytes->data(), bytes->size() - kChecksumBytes);
  if (Checksum(rest) != bytes->substr(rest.size())) return mistyped();
  std::string_view head, secret, fingerprint, name, address;
  TakeBytes(rest, 1, head);
  if (static_cast<unsigned char>(head.front()) != kVersion) {
    return Invalid(Text("the token is of form ", static_cast<unsigned char>(head.front()),
                        ", and this Metis reads form ", kVersion,
                        ": is the controller's Metis newer? Then install that version"));
  }
  const bool whole = TakeBytes(rest, 1, head) && TakeBytes(rest, kSecretBytes, secret) &&
                     TakeBytes(rest, sizeof(Sha256), fingerprint) && TakeText(rest, name) &&
                     TakeText(rest, address) && rest.empty();
  if (!whole || static_cast<unsigned char>(head.front()) >= std::size(kRoles)) return mistyped();
  Token token;
  token.role = static_cast<Role>(head.front());
  token.secret = secret;
  fingerprint.copy(reinterpret_cast<char*>(token.authority.data()), token.authority.size());
  token.name = name;
  token.address = address;
  if (Result<void> good = wire::CheckName(token.name); !good) return good.error().In("the token");
  return token;
}

}  // namespace metis::authority
