// Certificates as OpenSSL has them, in values that can be judged. For the gatherers of `metis
// doctor` alone. Pure functions; certificates are borrowed.
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "metis/rpc/openssl.h"

namespace metis::doctor {

using X509Ptr = std::unique_ptr<X509, rpc::Freed<X509_free>>;

// Seconds of the calendar; 0 if it is no time.
int64_t SecondsOf(const ASN1_TIME* time);
// DNS names and addresses that it is for, as text.
std::vector<std::string> HostNames(X509* certificate);
// "CN=controller"
std::string SubjectOf(X509* certificate);
// SHA-256, hexadecimal
std::string FingerprintOf(X509* certificate);

}  // namespace metis::doctor
