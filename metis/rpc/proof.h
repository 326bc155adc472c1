// What a caller has proved about itself, and what that allows.
#pragma once

#include <grpcpp/support/status.h>

#include <optional>
#include <string>
#include <vector>

#include "metis/federation/event.h"

namespace metis::rpc {

// Why a caller may not speak at all.
struct Denial {
  std::string reason;  // a word for the audit
  std::string message;
  grpc::StatusCode code = grpc::StatusCode::PERMISSION_DENIED;
};

// Names are the DNS names of the caller's certificate (its addresses and mail are none); without
// TLS nothing is proved, and every name is believed.
struct Proof {
  bool tls = false;
  bool local = false;              // came by a socket of the file system
  std::string serial;              // of the certificate, lower-case hexadecimal; empty: none
  std::vector<std::string> names;  // proved
  std::vector<std::string> roles;  // "learner", "observer", "admin"; none: says nothing of roles
  bool listed = false;             // a name of network.admins
  std::optional<Denial> denied;

  bool Allows(const std::string& name) const;
  // A certificate that says nothing of roles is good for both.
  bool MayBe(federation::Role role) const;
  // The controller's own machine, or an administrator.
  bool MayOperate() const;
};

}  // namespace metis::rpc
