#include "apps/operator_target.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "apps/cli.h"
#include "apps/user_directories.h"
#include "metis/rpc/credentials.h"
#include "metis/service/control_socket.h"
#include "metis/site/enrolment.h"

namespace metis::apps {

void AddTarget(CLI::App& app, Target& target) {
  CLI::Option* run =
      app.add_option("RUN", target.run,
                     "Run directory of a controller on this machine; default: the only one whose\n"
                     "controller is running here or below runs/");
  app.add_option("--join", target.join,
                 "HOST:PORT of a controller anywhere, with a certificate of the role admin; one\n"
                 "that `metis ca enrol` got is found by itself")
      ->excludes(run);
  AddTlsOptions(app, target.tls);
}

Result<std::unique_ptr<rpc::OperatorClient>> Reach(Target& target) {
  if (target.join.empty()) {
    if (target.tls.any_file() || target.tls.insecure) {
      return Invalid(
          "certificates and --insecure are for --join: a controller on this machine is reached by "
          "the socket in its run directory");
    }
    if (target.run.empty()) {
      Result<std::string> running = service::FindRunning("runs");
      if (!running) return running.error();
      target.run = *std::move(running);
    }
    Result<std::string> socket = service::FindControl(target.run);
    if (!socket) return socket.error();
    return std::make_unique<rpc::OperatorClient>(*socket);
  }
  Result<rpc::HostPort> address = rpc::ParseHostPort(target.join);
  if (!address) return address.error().In("--join");
  rpc::TlsOptions tls = target.tls;
  if (!tls.any_file() && !tls.insecure) {
    Result<std::optional<site::Membership>> enrolled = site::FindMembership(
        authority::Role::kAdmin, target.join, "", {.named = "", .of_user = StatesOfUser()});
    if (!enrolled) return enrolled.error();
    if (*enrolled) tls.files = (*enrolled)->files;
  }
  Result<std::optional<rpc::Credentials>> credentials =
      rpc::LoadTls(tls, /*for_server=*/false, address->host,
                   [](const std::string& text) { (void)Complain(text); });
  if (!credentials) return credentials.error();
  return std::make_unique<rpc::OperatorClient>(*address, *credentials);
}

}  // namespace metis::apps
