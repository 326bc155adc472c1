// What an invitation leaves at a site, and how it gets there. The state directory of a participant
// (or administrator) that enrolled holds
//
//   ca.pem           the federation's authority
//   certificate.pem  who this is
//   key.pem          made here, readable by its owner alone; it never leaves the machine
//   controller       HOST:PORT
//   invitation       which token it was: its SHA-256, for a later start with the same one
//   key.pending      the key of a request whose answer has not come yet
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apps/interrupts.h"
#include "metis/authority/token.h"
#include "metis/core/result.h"
#include "metis/rpc/credentials.h"

namespace metis::apps {

// ~/.local/state/metis/site-3@controller.example-7740
Result<std::string> DefaultState(const std::string& name, const rpc::HostPort& controller);

// What an earlier enrolment left.
struct Membership {
  std::string state;  // directory
  rpc::HostPort controller;
  rpc::TlsFiles files;
};
// Looked for in `state`; where that is empty, among the user's own of this role, by name and
// controller (HOST:PORT) as far as they are given. None: nobody enrolled here. An error where
// several fit, or one is damaged.
Result<std::optional<Membership>> FindMembership(authority::Role role, const std::string& join,
                                                 const std::string& name, const std::string& state);

// Sees to it that `state`, which exists, holds the certificate of this token; of no effect where it
// does. Tries until the controller answers or Ctrl-C comes. The caller holds the directory's lock.
Result<Membership> Enrol(const authority::Token& token, const rpc::HostPort& controller,
                         const std::string& state,
                         const std::function<void(const std::string&)>& say,
                         const Interrupts& interrupts);

// The token itself, or the first line of FILE for "@FILE": a word of the command line can be seen
// by everybody on the machine.
Result<authority::Token> ReadToken(const std::string& text);

// Where to enrol: `join` if it is given, else the token's own address.
Result<rpc::HostPort> ControllerOf(const authority::Token& token, const std::string& join);

}  // namespace metis::apps
