// Keys, requests and certificates of a federation (OpenSSL): P-256, SHA-256, the name as a DNS name
// among the subject alternative names, the role beside it as a URI. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metis/authority/token.h"
#include "metis/core/result.h"

namespace metis::authority {

// What a certificate's role looks like among its names: urn:metis:role:learner.
inline constexpr std::string_view kRoleUri = "urn:metis:role:";

// A fresh private key, PKCS#8 in PEM.
std::string MakeKey();
Result<void> CheckKey(const std::string& key_pem);

// A request (PKCS#10, DER) that proves that the sender has the key.
Result<std::string> MakeRequest(const std::string& key_pem, const std::string& name);

struct RequestFacts {
  Sha256 public_key;  // of its DER form
};
// Checks the signature, that the key is on P-256 and that nothing else is in it that matters.
Result<RequestFacts> ReadRequest(std::string_view request_der);

// --- Issuing

struct Issued {
  std::string pem;
  std::string serial;  // lower-case hexadecimal
  int64_t not_after_s = 0;
};

struct Validity {
  int64_t now_s = 0;  // of the calendar; a certificate is valid since some minutes before
  int64_t days = 0;
};

// The authority's own certificate, signed by its key.
Issued MakeAuthority(const std::string& key_pem, Validity validity);

// Of a participant or an administrator, for the key of the request.
Result<Issued> IssueFor(const std::string& authority_pem, const std::string& authority_key_pem,
                        std::string_view request_der, const std::string& name, Role role,
                        Validity validity);

// The controller's: for the DNS name "controller" and for the hosts (names or addresses).
Result<Issued> IssueController(const std::string& authority_pem,
                               const std::string& authority_key_pem, const std::string& key_pem,
                               const std::vector<std::string>& hosts, Validity validity);

// SHA-256 of the first certificate of a PEM text.
Result<Sha256> FingerprintOf(const std::string& pem);

// Host names and addresses that a certificate can be for.
Result<void> CheckHost(const std::string& host);

}  // namespace metis::authority
