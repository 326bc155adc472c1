// What an authority has promised and issued: invitations and certificates, in a SQLite file that
// several processes use at the same time (`metis ca` beside a running controller). Nothing is ever
// deleted from it. Thread-safe; reading never waits for a writer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/authority/certificates.h"
#include "metis/authority/token.h"
#include "metis/core/result.h"
#include "metis/rpc/certificate_authority.h"

struct sqlite3;

namespace metis::authority {

// Times are seconds of the calendar; 0: it has not happened.
struct Invitation {
  std::string name;
  Role role = Role::kLearner;
  int64_t made_s = 0;
  int64_t expires_s = 0;
  int64_t used_s = 0;
  int64_t withdrawn_s = 0;  // its name was revoked before it was used
};

struct CertificateRecord {
  std::string serial;
  std::string name;
  Role role = Role::kLearner;
  int64_t issued_s = 0;
  int64_t not_after_s = 0;
  int64_t revoked_s = 0;
};

using Verdict = rpc::CertificateAuthority::Verdict;

inline constexpr const char* kNoInvitation =
    "this controller's authority has made no such invitation: ask its operator for one (`metis ca "
    "invite NAME`)";

class Ledger {
 public:
  // `create`: makes the file, readable by its owner alone, if it is not there.
  static Result<std::unique_ptr<Ledger>> Open(const std::string& path, bool create);
  ~Ledger();

  // A fact about the authority, by a name of its own; empty if it was never said.
  Result<std::string> Fact(const std::string& key);
  Result<void> SetFact(const std::string& key, const std::string& value);

  Result<void> Add(const std::string& secret, const Invitation& invitation);
  // Whether there ever was such an invitation: cheap, for those who guess.
  Result<bool> Knows(const std::string& secret);
  // All or nothing, and durable when this returns: the invitation is used up, and the certificate
  // that `issue` makes is in the ledger.
  Verdict Redeem(const std::string& secret, const std::string& name, const Sha256& public_key,
                 int64_t now_s, const std::function<Result<Issued>(const Invitation&)>& issue);

  struct Revocation {
    std::vector<std::string> serials;  // that were good until now
    uint64_t invitations = 0;          // withdrawn
  };
  // All certificates and open invitations of a name.
  Result<Revocation> Revoke(const std::string& name, int64_t now_s);
  // Looks at the file whenever anybody has changed it; else as cheap as a look-up.
  Result<bool> IsRevoked(const std::string& serial);

  // In the order of their making.
  Result<std::vector<Invitation>> Invitations();
  Result<std::vector<CertificateRecord>> Certificates();

 private:
  class Connection;
  explicit Ledger(std::string path);
  Result<void> Prepare(bool create);
  Verdict RedeemIn(Connection& in, const std::string& secret, const std::string& name,
                   const Sha256& public_key, int64_t now_s,
                   const std::function<Result<Issued>(const Invitation&)>& issue);

  const std::string path_;
  std::mutex write_mutex_;
  std::unique_ptr<Connection> writer_;  // guarded by write_mutex_
  std::mutex read_mutex_;
  std::unique_ptr<Connection> reader_;   // guarded by read_mutex_, as the rest
  std::optional<int64_t> data_version_;  // of revoked_
  std::set<std::string> revoked_;
};

}  // namespace metis::authority
