// Who signs the certificates of a federation's participants, as the controller's server sees it.
// Implemented by authority::Authority. Any thread, several at once.
#pragma once

#include <string>

#include "metis/core/result.h"

namespace metis::rpc {

class CertificateAuthority {
 public:
  // What became of a request for a certificate.
  struct Verdict {
    std::string certificate;  // PEM; empty: refused
    std::string serial;       // lower-case hexadecimal
    std::string role;         // "learner", "observer", "admin"
    bool again = false;       // it was issued before, to the same key: its first answer was lost
    // Why it was refused: "invitation" (there is none with this secret), "used", "expired",
    // "withdrawn", "name", "malformed"; "failed" is our own fault, and may work later.
    std::string reason;
    std::string message;
    bool granted() const { return !certificate.empty(); }
  };

  virtual ~CertificateAuthority() = default;

  virtual const std::string& certificate() const = 0;  // its own, PEM
  // Signs for whoever has an invitation's secret and the key of the request (PKCS#10, DER). Durable
  // when it returns; waits for the disk.
  virtual Verdict Enrol(const std::string& name, const std::string& secret,
                        const std::string& request) = 0;
  // Asked at the beginning of every call, and about once a second for every call under way.
  virtual Result<bool> IsRevoked(const std::string& serial) = 0;
};

}  // namespace metis::rpc
