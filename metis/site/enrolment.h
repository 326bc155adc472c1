// What an invitation leaves at a site, and how it gets there. The state directory of a participant
// (or administrator) that enrolled holds
//
//   ca.pem           the federation's authority
//   certificate.pem  who this is
//   key.pem          made here, readable by its owner alone; it never leaves the machine
//   controller       HOST:PORT
//   invitation       which token it was: its SHA-256, for a later start with the same one
//   key.pending      the key of a request whose answer has not come yet
//
// Whoever writes there holds the directory's lock (Lives, in site/participant.h). Free functions;
// only Enrol() uses the network, and blocks.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "metis/authority/token.h"
#include "metis/core/result.h"
#include "metis/rpc/credentials.h"

namespace metis::site {

// Where a participant keeps these.
struct StateDirectory {
  std::string named;    // by the user; empty: one for each name and controller, below `of_user`
  std::string of_user;  // of all the user's participants; empty: the user has no home
};
// ~/.local/state/metis/site-3@controller.example-7740, unless another one is named.
Result<std::string> StateOf(const StateDirectory& state, const std::string& name,
                            const rpc::HostPort& controller);

// What an earlier enrolment left.
struct Membership {
  std::string state;  // directory
  rpc::HostPort controller;
  rpc::TlsFiles files;
};
// Looked for in the directory that is named; where none is, among the user's own of this role, by
// name and controller (HOST:PORT) as far as they are given. None: nobody enrolled here. An error
// where several fit, or one is damaged.
Result<std::optional<Membership>> FindMembership(authority::Role role, const std::string& join,
                                                 const std::string& name,
                                                 const StateDirectory& state);

// Sees to it that `state`, which exists, holds the certificate of this token; of no effect where it
// does. Tries until the controller answers or `stop` is requested. The caller holds the directory's
// lock.
Result<Membership> Enrol(const authority::Token& token, const rpc::HostPort& controller,
                         const std::string& state,
                         const std::function<void(const std::string&)>& say,
                         const std::stop_token& stop);

// The token itself, or the first line of FILE for "@FILE": a word of the command line can be seen
// by everybody on the machine.
Result<authority::Token> ReadToken(const std::string& text);

// Where to enrol: `join` if it is given, else the token's own address.
Result<rpc::HostPort> ControllerOf(const authority::Token& token, const std::string& join);

}  // namespace metis::site
