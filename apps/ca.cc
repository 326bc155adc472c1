// metis-ca: the authority of a federation: who is invited, who has a certificate, who is turned
// out.
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/interrupts.h"
#include "apps/table.h"
#include "apps/user_directories.h"
#include "metis/authority/authority.h"
#include "metis/core/text.h"
#include "metis/report/audit_log.h"
#include "metis/rpc/client_channel.h"
#include "metis/rpc/openssl.h"
#include "metis/site/enrolment.h"
#include "metis/store/posix_file.h"

namespace metis::apps {
namespace {

using authority::Authority;
using Json = nlohmann::ordered_json;

constexpr const char* kDirectory = "authority";
constexpr const char* kAuditFile = "audit.jsonl";

struct Options {
  std::string directory = kDirectory;
  std::vector<std::string> hosts;
  uint16_t port = 7740;
  std::string name;
  std::string role = "learner";
  std::string valid = "24h";
  std::string join;
  std::string token;
  std::string state;
  bool json = false;
  bool quiet = false;
};

std::string User() {
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_name : Text("uid ", ::getuid());
}

// What was done with the authority on this machine; what sites do with their invitations is in the
// controller's own audit.
Result<void> Audit(const std::string& directory, const std::string& name, const std::string& reason,
                   const std::string& message) {
  Result<std::unique_ptr<report::AuditLog>> log =
      report::AuditLog::Open(Text(directory, "/", kAuditFile));
  if (!log) return log.error();
  return (*log)->Append(
      FormatUtc(authority::SecondsNow()),
      {{"user", User()}, {"name", name}, {"reason", reason}, {"message", message}});
}

// --- init

int Init(const Options& options) {
  std::error_code ignored;
  const bool there =
      std::filesystem::exists(Text(options.directory, "/", authority::kAuthorityFile), ignored);
  if (there && options.hosts.empty()) {
    return Complain(Text("the authority in ", options.directory,
                         " is there, and its members would stay; the controller's certificate is "
                         "made anew for the hosts that are named: say all of them with --host"),
                    kUsage);
  }
  const std::string host = options.hosts.empty() ? "127.0.0.1" : options.hosts.front();
  const std::string address = rpc::AddressOf({host, options.port});
  Result<std::unique_ptr<Authority>> made =
      Authority::Create(options.directory, options.hosts, address);
  if (!made) return Complain(made.error().message);
  const std::string names = Join(options.hosts);
  Result<void> audited = Audit(
      options.directory, "controller", there ? "renewed" : "made",
      Text("the controller's certificate, for this machine", names.empty() ? "" : " and ", names));
  if (!audited) return Complain(audited.error().message);
  if (there) {
    std::cout << "The authority in " << options.directory
              << " stays as it is, with all its members; the controller's certificate is new:\n"
                 "start the controller again to use it.\n";
  } else {
    std::cout << "A new authority is in " << options.directory << "; its fingerprint is\n  "
              << rpc::Hexadecimal((*made)->fingerprint()) << "\n"
              << "Keep " << options.directory << "/" << authority::kAuthorityKeyFile
              << " to yourself, and a copy of the directory in a safe place: whoever has that\n"
                 "key can join as anybody.\n";
  }
  std::cout << "The controller answers to this machine's own names" << (names.empty() ? "" : ", ")
            << names << "; sites will find it at " << address << ".\n\nNext, here:\n"
            << "  metis ca invite NAME --dir " << options.directory << "\n"
            << "  metis controller ... --authority " << options.directory << "\n";
  return Finish();
}

// --- invite

std::string CommandFor(authority::Role role, const std::string& token) {
  if (role == authority::Role::kAdmin) return "metis ca enrol " + token;
  return Text("metis ", authority::NameOf(role), " --enrol ", token, " --data FILE");
}

Result<Duration> ParseValid(const std::string& text) {
  Result<Duration> valid = ParseDuration(text);
  if (!valid) return valid.error().In("--valid");
  if (*valid < Duration::Seconds(1) || *valid > Duration::Hours(24 * 365)) {
    return Invalid(Text("--valid ", text, ": from 1s to 365d"));
  }
  return valid;
}

int Invite(const Options& options) {
  Result<authority::Role> role = authority::ParseRole(options.role);
  if (!role) return Complain(role.error().In("--role").message, kUsage);
  Result<Duration> valid = ParseValid(options.valid);
  if (!valid) return Complain(valid.error().message, kUsage);
  if (!options.join.empty()) {
    Result<rpc::HostPort> address = rpc::ParseHostPort(options.join);
    if (!address) return Complain(address.error().In("--join").message, kUsage);
  }
  Result<std::unique_ptr<Authority>> opened = Authority::Open(options.directory);
  if (!opened) return Complain(opened.error().message);
  Result<std::string> token = (*opened)->Invite(options.name, *role, *valid, options.join);
  if (!token) return Complain(token.error().message);
  const std::string until =
      FormatUtc(authority::SecondsNow() + valid->nanoseconds() / 1'000'000'000);
  Result<void> audited = Audit(options.directory, options.name, "invited",
                               Text("as ", options.role, ", until ", until));
  if (!audited) return Complain(audited.error().message);
  const std::string address = authority::ParseToken(*token).value().address;
  if (options.json) {
    std::cout << Json{{"name", options.name}, {"role", options.role},
                      {"token", *token},      {"address", address},
                      {"expires", until},     {"command", CommandFor(*role, *token)}}
                     .dump(2)
              << "\n";
    return Finish();
  }
  std::cout << *token << "\n";
  if (options.quiet) return Finish();
  std::cout << "\nThe word above invites \"" << options.name << "\" as " << options.role
            << ", once, until " << until << ", to the controller at " << address
            << ".\nWhoever has it can take that place: send it by a way that others do not read.\n"
               "At the site:\n\n  "
            << CommandFor(*role, *token) << "\n";
  return Finish();
}

// --- list

struct Row {
  std::string name, role, state, since, until, serial;
};

Result<std::vector<Row>> Rows(Authority& authority) {
  Result<std::vector<authority::Invitation>> invitations = authority.ledger().Invitations();
  if (!invitations) return invitations.error();
  Result<std::vector<authority::CertificateRecord>> certificates =
      authority.ledger().Certificates();
  if (!certificates) return certificates.error();
  const int64_t now = authority::SecondsNow();
  std::vector<Row> rows;
  for (const authority::CertificateRecord& each : *certificates) {
    const char* state = each.revoked_s != 0       ? "revoked"
                        : each.not_after_s <= now ? "expired"
                                                  : "enrolled";
    rows.push_back({each.name, std::string(NameOf(each.role)), state,
                    FormatUtc(each.revoked_s != 0 ? each.revoked_s : each.issued_s),
                    FormatUtc(each.not_after_s), each.serial});
  }
  for (const authority::Invitation& each : *invitations) {
    if (each.used_s != 0) continue;  // its certificate stands above
    const char* state = each.withdrawn_s != 0   ? "withdrawn"
                        : each.expires_s <= now ? "lapsed"
                                                : "invited";
    rows.push_back({each.name, std::string(NameOf(each.role)), state, FormatUtc(each.made_s),
                    FormatUtc(each.expires_s), ""});
  }
  return rows;
}

int List(const Options& options) {
  Result<std::unique_ptr<Authority>> opened = Authority::Open(options.directory);
  if (!opened) return Complain(opened.error().message);
  Result<std::vector<Row>> rows = Rows(**opened);
  if (!rows) return Complain(rows.error().message);
  if (options.json) {
    Json json = Json::array();
    for (const Row& row : *rows) {
      json.push_back({{"name", row.name},
                      {"role", row.role},
                      {"state", row.state},
                      {"since", row.since},
                      {"until", row.until},
                      {"serial", row.serial}});
    }
    std::cout << json.dump(2) << "\n";
    return Finish();
  }
  if (rows->empty()) {
    std::cout << "Nobody is invited yet: metis ca invite NAME --dir " << options.directory << "\n";
    return Finish();
  }
  Table table({{"name"}, {"role"}, {"state"}, {"since"}, {"until"}, {"serial"}});
  for (const Row& row : *rows) {
    table.AddRow({row.name, row.role, row.state, row.since, row.until, row.serial});
  }
  table.Print(std::cout, OutputIsTerminal());
  return Finish();
}

// --- revoke

int Revoke(const Options& options) {
  Result<std::unique_ptr<Authority>> opened = Authority::Open(options.directory);
  if (!opened) return Complain(opened.error().message);
  Result<authority::Ledger::Revocation> revoked = (*opened)->Revoke(options.name);
  if (!revoked) return Complain(revoked.error().message);
  if (revoked->serials.empty() && revoked->invitations == 0) {
    std::cout << "\"" << options.name
              << "\" has no certificate or invitation that is still good.\n";
    return Finish();
  }
  for (const std::string& serial : revoked->serials) {
    std::cout << "The certificate " << serial << " of \"" << options.name << "\" is revoked.\n";
  }
  if (revoked->invitations > 0) {
    std::cout << revoked->invitations << " open invitation(s) of \"" << options.name
              << "\" withdrawn.\n";
  }
  if (!revoked->serials.empty()) {
    std::cout << "A running controller with --authority ends its connections within seconds. What "
                 "it contributed\nstays in the community model: `metis withdraw` takes it out.\n";
  }
  Result<void> audited =
      Audit(options.directory, options.name, "revoked",
            Text("certificates: ", revoked->serials.empty() ? "none" : Join(revoked->serials),
                 "; invitations withdrawn: ", revoked->invitations));
  if (!audited) return Complain(audited.error().message);
  return Finish();
}

// --- enrol

int EnrolHere(const Options& options) {
  Result<authority::Token> token = site::ReadToken(options.token);
  if (!token) return Complain(token.error().message);
  Result<rpc::HostPort> controller = site::ControllerOf(*token, options.join);
  if (!controller) return Complain(controller.error().message);
  Result<std::string> state =
      site::StateOf({.named = options.state, .of_user = StatesOfUser()}, token->name, *controller);
  if (!state) return Complain(state.error().message);
  std::error_code error;
  std::filesystem::create_directories(*state, error);
  if (error) return Complain(Text(*state, " can't be made: ", error.message()));
  Result<store::ProcessLock> lock =
      store::ProcessLock::Take(*state + "/incarnation.lock", Text("the participant of ", *state));
  if (!lock) return Complain(lock.error().message);
  const Interrupts interrupts;
  Result<site::Membership> membership = site::Enrol(
      *token, *controller, *state,
      [](const std::string& text) { std::cerr << "metis: " << text << "\n"; }, interrupts.token());
  if (!membership) return Complain(membership.error().message);
  std::cout << "\"" << token->name << "\" has the role " << authority::NameOf(token->role) << " at "
            << rpc::AddressOf(*controller) << ":\n  --ca " << membership->files.ca
            << " --certificate " << membership->files.certificate << " --key "
            << membership->files.key << "\n";
  return Finish();
}

// --- The program

void AddDirectory(CLI::App& command, Options& options) {
  command.add_option("--dir", options.directory, "The authority's directory; default: authority")
      ->type_name("DIR");
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app(
      "The authority of a federation: invites sites, which get their certificates from the "
      "running\n"
      "controller (metis controller --authority DIR), and turns them out again.",
      "metis ca");
  app.footer(
      "Example:\n"
      "  metis ca init authority --host fed.example.org\n"
      "  metis ca invite site-3\n"
      "  metis ca list\n"
      "  metis ca revoke site-3\n\n"
      "Exit codes: 0 done, 1 failed, 2 wrong command line.");
  app.require_subcommand(1);
  AddVersionOption(app);

  CLI::App* init =
      AddCommand(app, "init", "Make an authority, or the controller's certificate anew",
                 "  metis ca init authority --host fed.example.org --host 192.0.2.7");
  init->add_option("DIR", options.directory, "The authority's directory; default: authority");
  init->add_option(
          "--host", options.hosts,
          "A name or address by which sites dial the controller; the first one is said in\n"
          "invitations")
      ->type_name("HOST")
      ->allow_extra_args(false);
  init->add_option("--port", options.port, "The controller's port, for invitations; default: 7740")
      ->check(CLI::Range(1, 65535));

  CLI::App* invite = AddCommand(app, "invite", "Print a word that is good for one certificate",
                                "  metis ca invite site-3 --valid 7d\n"
                                "  metis ca invite watcher --role observer --dir authority\n"
                                "  metis ca invite alice --role admin");
  invite->add_option("NAME", options.name, "Who it will be in the federation")->required();
  invite->add_option("--role", options.role, "learner, observer or admin; default: learner");
  invite->add_option("--valid", options.valid, "How long the word is good; default: 24h");
  invite->add_option("--join", options.join,
                     "The controller's HOST:PORT, as the site dials it; default: the first --host\n"
                     "of `metis ca init`");
  invite->add_flag("--quiet", options.quiet, "Print the word alone");
  invite->add_flag("--json", options.json, "Print JSON");
  AddDirectory(*invite, options);

  CLI::App* list = AddCommand(app, "list", "List all members and invitations",
                              "  metis ca list --dir authority --json");
  list->add_flag("--json", options.json, "Print JSON");
  AddDirectory(*list, options);

  CLI::App* revoke = AddCommand(app, "revoke", "Turn a member out, and cut its connections",
                                "  metis ca revoke site-3 --dir authority");
  revoke->add_option("NAME", options.name, "Whose certificates and invitations")->required();
  AddDirectory(*revoke, options);

  CLI::App* enrol = AddCommand(app, "enrol", "Get a certificate for an invitation, and no more",
                               "  metis ca enrol TOKEN --state ~/metis-admin");
  enrol->add_option("TOKEN", options.token, "The word of `metis ca invite`, or @FILE that holds it")
      ->required();
  enrol->add_option("--join", options.join, "The controller's HOST:PORT; default: the token's");
  enrol->add_option("--state", options.state,
                    "Where to keep it; default: one for each name and controller below\n"
                    "~/.local/state/metis");

  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (init->parsed()) return Init(options);
  if (invite->parsed()) return Invite(options);
  if (list->parsed()) return List(options);
  if (revoke->parsed()) return Revoke(options);
  return EnrolHere(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
