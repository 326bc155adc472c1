// Enrolment, a site's side: recognises the federation's authority by its fingerprint, then asks the
// controller for a certificate. Blocks; any thread.
#pragma once

#include <array>
#include <stop_token>
#include <string>

#include "metis/core/result.h"
#include "metis/rpc/credentials.h"

namespace metis::rpc {

// The certificate, in PEM, whose SHA-256 (of its DER form) is this, of those that the controller
// shows on a TLS connection. An error where it shows none such: it is another federation's, or
// somebody stands between.
Result<std::string> FetchAuthority(const HostPort& controller,
                                   const std::array<unsigned char, 32>& fingerprint);

struct EnrolmentCall {
  HostPort controller;
  std::string authority;  // PEM: whom to believe
  std::string name;
  std::string secret;   // of the invitation
  std::string request;  // PKCS#10, DER
  std::string program;
};
// The certificate, in PEM. kUnavailable where trying again may help.
Result<std::string> CallEnrol(const EnrolmentCall& call, std::stop_token stop);

}  // namespace metis::rpc
