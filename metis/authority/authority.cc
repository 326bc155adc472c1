#include "metis/authority/authority.h"

#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "metis/authority/certificates.h"
#include "metis/core/text.h"
#include "metis/store/posix_file.h"
#include "metis/wire/messages.h"

namespace metis::authority {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPrivate = 0600;
constexpr mode_t kPublic = 0644;
constexpr size_t kMaxAddressBytes = 255;
constexpr const char* kAddressFact = "address";

std::string In(const std::string& directory, const char* name) {
  return Text(directory, "/", name);
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    return NotFound(Text(path, ": can't be read: ", std::generic_category().message(error),
                         ": is this the directory of an authority (`metis ca init`), and may this "
                         "user read it?"));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Its own, readable by its owner alone: made if it is not there.
Result<std::string> KeyIn(const std::string& path) {
  if (!Exists(path)) {
    std::string key = MakeKey();
    if (Result<void> kept = store::WriteDurably(path, key, kPrivate); !kept) return kept.error();
    return key;
  }
  Result<std::string> key = ReadFile(path);
  if (!key) return key;
  if (Result<void> good = CheckKey(*key); !good) return good.error().In(path);
  return key;
}

Result<void> MakeDirectory(const std::string& directory) {
  std::error_code error;
  const fs::path parent = fs::path(directory).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return store::Failed("making the directory", directory);
}

std::string MakeSecret() {
  std::string secret(kSecretBytes, '\0');
  METIS_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()),
                         static_cast<int>(secret.size())) == 1);
  return secret;
}

// The authority's own certificate: made if there is none yet.
Result<void> MakeAuthorityIn(const std::string& directory, int64_t now_s) {
  const std::string path = In(directory, kAuthorityFile);
  const std::string key_path = In(directory, kAuthorityKeyFile);
  if (Exists(path) && !Exists(key_path)) {
    return Invalid(Text(key_path, " is gone, and ", path,
                        " can't sign without it: restore it from a copy, or make an authority in "
                        "another directory"));
  }
  Result<std::string> key = KeyIn(key_path);
  if (!key) return key.error();
  if (Exists(path)) return {};
  const Issued made = MakeAuthority(*key, {now_s, kAuthorityDays});
  return store::WriteDurably(path, made.pem, kPublic);
}

Error NeverHeardOf(const std::string& name, const std::vector<CertificateRecord>& certificates,
                   const std::vector<Invitation>& invitations) {
  std::vector<std::string> known;
  for (const CertificateRecord& each : certificates) known.push_back(each.name);
  for (const Invitation& each : invitations) known.push_back(each.name);
  const std::string near = Nearest(name, known);
  return NotFound(Text("nobody was ever invited as \"", name, "\"",
                       near.empty() ? "" : Text("; did you mean ", near, "?"),
                       ": `metis ca list` shows all"));
}

}  // namespace

int64_t SecondsNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

Authority::Authority(std::string certificate, std::string key, Sha256 fingerprint,
                     std::unique_ptr<Ledger> ledger, Calendar calendar)
    : certificate_(std::move(certificate)),
      key_(std::move(key)),
      fingerprint_(fingerprint),
      ledger_(std::move(ledger)),
      calendar_(std::move(calendar)) {}

Result<std::unique_ptr<Authority>> Authority::Create(const std::string& directory,
                                                     const std::vector<std::string>& hosts,
                                                     const std::string& address,
                                                     Calendar calendar) {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  for (const std::string& host : hosts) {
    if (Result<void> good = CheckHost(host); !good) return good.error();
    if (std::find(names.begin(), names.end(), host) == names.end()) names.push_back(host);
  }
  Result<void> made = MakeDirectory(directory);
  if (made) made = MakeAuthorityIn(directory, calendar());
  if (!made) return made.error();
  Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(In(directory, kLedgerFile), true);
  if (!ledger) return ledger.error();
  if (Result<void> said = (*ledger)->SetFact(kAddressFact, address); !said) return said.error();
  ledger->reset();

  Result<std::unique_ptr<Authority>> authority = Open(directory, std::move(calendar));
  if (!authority) return authority.error();
  Result<std::string> key = KeyIn(In(directory, kControllerKeyFile));
  if (!key) return key.error();
  Result<Issued> controller = IssueController((*authority)->certificate_, (*authority)->key_, *key,
                                              names, {(*authority)->calendar_(), kControllerDays});
  if (!controller) return controller.error().In(directory);
  // Those who enrol get to know the authority by what the controller shows them.
  Result<void> kept = store::WriteDurably(In(directory, kControllerFile),
                                          controller->pem + (*authority)->certificate_, kPublic);
  if (!kept) return kept.error();
  return authority;
}

Result<std::unique_ptr<Authority>> Authority::Open(const std::string& directory,
                                                   Calendar calendar) {
  Result<std::string> certificate = ReadFile(In(directory, kAuthorityFile));
  if (!certificate) return certificate.error();
  Result<std::string> key = ReadFile(In(directory, kAuthorityKeyFile));
  if (!key) return key.error();
  if (Result<void> good = CheckKey(*key); !good) {
    return good.error().In(In(directory, kAuthorityKeyFile));
  }
  Result<Sha256> fingerprint = FingerprintOf(*certificate);
  if (!fingerprint) return fingerprint.error().In(In(directory, kAuthorityFile));
  Result<std::unique_ptr<Ledger>> ledger = Ledger::Open(In(directory, kLedgerFile), false);
  if (!ledger) return ledger.error();
  return std::unique_ptr<Authority>(new Authority(*std::move(certificate), *std::move(key),
                                                  *fingerprint, *std::move(ledger),
                                                  std::move(calendar)));
}

Result<std::string> Authority::Invite(const std::string& name, Role role, Duration valid,
                                      const std::string& address) {
  if (Result<void> good = wire::CheckName(name); !good) return good.error();
  if (address.size() > kMaxAddressBytes) {
    return Invalid(Text("an address of ", address.size(), " bytes fits into no token: at most ",
                        kMaxAddressBytes));
  }
  const int64_t now = calendar_();
  Token token;
  token.secret = MakeSecret();
  token.authority = fingerprint_;
  token.role = role;
  token.name = name;
  token.address = address;
  if (address.empty()) {
    Result<std::string> known = ledger_->Fact(kAddressFact);
    if (!known) return known.error();
    token.address = *std::move(known);
  }
  const int64_t seconds = valid.nanoseconds() / 1'000'000'000;
  Result<void> kept = ledger_->Add(
      token.secret, {.name = name, .role = role, .made_s = now, .expires_s = now + seconds});
  if (!kept) return kept.error();
  return FormatToken(token);
}

Verdict Authority::Enrol(const std::string& name, const std::string& secret,
                         const std::string& request) {
  const auto refused = [](const char* reason, const std::string& message) {
    Verdict verdict;
    verdict.reason = reason;
    verdict.message = message;
    return verdict;
  };
  Result<bool> known = ledger_->Knows(secret);
  if (!known) return refused("failed", known.error().message);
  if (!*known) return refused("invitation", kNoInvitation);
  if (Result<void> good = wire::CheckName(name); !good) {
    return refused("malformed", good.error().message);
  }
  Result<RequestFacts> facts = ReadRequest(request);
  if (!facts) return refused("malformed", facts.error().message);
  const int64_t now = calendar_();
  return ledger_->Redeem(secret, name, facts->public_key, now, [&](const Invitation& invitation) {
    return IssueFor(certificate_, key_, request, name, invitation.role, {now, kParticipantDays});
  });
}

Result<Ledger::Revocation> Authority::Revoke(const std::string& name) {
  Result<Ledger::Revocation> revoked = ledger_->Revoke(name, calendar_());
  if (!revoked) return revoked;
  if (!revoked->serials.empty() || revoked->invitations > 0) return revoked;
  Result<std::vector<CertificateRecord>> certificates = ledger_->Certificates();
  if (!certificates) return certificates.error();
  Result<std::vector<Invitation>> invitations = ledger_->Invitations();
  if (!invitations) return invitations.error();
  for (const CertificateRecord& each : *certificates) {
    if (each.name == name) return revoked;
  }
  for (const Invitation& each : *invitations) {
    if (each.name == name) return revoked;
  }
  return NeverHeardOf(name, *certificates, *invitations);
}

}  // namespace metis::authority
