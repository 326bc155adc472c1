// The authority of a federation: who may take part. A directory that holds
//
//   ca.pem, ca.key                  the authority's certificate, and the key that signs
//   controller.pem, controller.key  the controller's certificate, followed by the authority's
//   authority.db                    invitations and certificates (ledger.h)
//
// Keys are readable by their owner alone. Whoever has ca.key can make anybody a member.
// Thread-safe; several processes may use one directory at the same time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metis/authority/ledger.h"
#include "metis/authority/token.h"
#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/rpc/certificate_authority.h"

namespace metis::authority {

inline constexpr const char* kAuthorityFile = "ca.pem";
inline constexpr const char* kAuthorityKeyFile = "ca.key";
inline constexpr const char* kControllerFile = "controller.pem";
inline constexpr const char* kControllerKeyFile = "controller.key";
inline constexpr const char* kLedgerFile = "authority.db";

inline constexpr int64_t kAuthorityDays = 3650;
inline constexpr int64_t kControllerDays = 825;
inline constexpr int64_t kParticipantDays = 825;

// Seconds of the calendar.
using Calendar = std::function<int64_t()>;
int64_t SecondsNow();

class Authority final : public rpc::CertificateAuthority {
 public:
  // Makes the directory with all that is in it. Of one that is there the authority, its members and
  // the controller's key stay, and the controller's certificate is made anew for the hosts and for
  // this machine's own names (localhost, 127.0.0.1, ::1). `address` is where sites will find the
  // controller, unless an invitation says otherwise.
  static Result<std::unique_ptr<Authority>> Create(const std::string& directory,
                                                   const std::vector<std::string>& hosts,
                                                   const std::string& address,
                                                   Calendar calendar = SecondsNow);
  static Result<std::unique_ptr<Authority>> Open(const std::string& directory,
                                                 Calendar calendar = SecondsNow);

  const std::string& certificate() const override { return certificate_; }
  const Sha256& fingerprint() const { return fingerprint_; }
  Ledger& ledger() { return *ledger_; }

  // A word that is good for one certificate, for as long as `valid`. `address` empty: the
  // authority's own.
  Result<std::string> Invite(const std::string& name, Role role, Duration valid,
                             const std::string& address);

  // Signs a certificate for whoever has an invitation's secret and the key of the request.
  Verdict Enrol(const std::string& name, const std::string& secret,
                const std::string& request) override;

  // Everything of this name, for ever; an error if there never was anything.
  Result<Ledger::Revocation> Revoke(const std::string& name);
  Result<bool> IsRevoked(const std::string& serial) override { return ledger_->IsRevoked(serial); }

 private:
  Authority(std::string certificate, std::string key, Sha256 fingerprint,
            std::unique_ptr<Ledger> ledger, Calendar calendar);

  const std::string certificate_;
  const std::string key_;
  const Sha256 fingerprint_;
  const std::unique_ptr<Ledger> ledger_;
  const Calendar calendar_;
};

}  // namespace metis::authority
