#include "metis/site/participant.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "metis/authority/token.h"
#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/core/version.h"
#include "metis/rpc/client_channel.h"
#include "metis/store/posix_file.h"
#include "metis/wire/messages.h"

namespace metis::site {
namespace {

namespace fs = std::filesystem;

std::function<void(const std::string&)> Warner(Narrator& narrator) {
  return [&narrator](const std::string& text) { narrator.Warn(text); };
}

uint32_t SecondsNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

// The certificate's name, or the one that was given.
Result<std::string> NameOf(const ParticipantOptions& options,
                           const std::optional<rpc::Credentials>& credentials) {
  if (!options.name.empty()) {
    if (Result<void> good = wire::CheckName(options.name); !good) return good.error().In("--name");
  }
  if (!credentials) {
    if (options.name.empty())
      return Invalid("--insecure has no certificate to name it: give --name");
    return options.name;
  }
  const std::vector<std::string>& names = credentials->names;
  if (options.name.empty()) return names.front();
  if (std::find(names.begin(), names.end(), options.name) == names.end()) {
    return Invalid(Text("--name ", options.name, ": ", options.tls.files.certificate, " is for ",
                        Join(names), ": leave --name out, or use the certificate of that name"));
  }
  return options.name;
}

authority::Role RoleOf(federation::Role role) {
  return role == federation::Role::kObserver ? authority::Role::kObserver
                                             : authority::Role::kLearner;
}

// Who joins, where, and with what.
struct Identity {
  rpc::HostPort controller;
  std::string name;
  std::unique_ptr<Lives> lives;
  std::optional<rpc::Credentials> credentials;
};

// With certificates of its own, or those of an earlier enrolment.
Result<Identity> IdentifyByFiles(const ParticipantOptions& options, federation::Role role,
                                 Narrator& narrator) {
  ParticipantOptions given = options;
  if (!options.tls.any_file() && !options.tls.insecure) {
    Result<std::optional<Membership>> found =
        FindMembership(RoleOf(role), options.join, options.name, options.state);
    if (!found) return found.error();
    if (*found) {
      given.tls.files = (*found)->files;
      given.state.named = (*found)->state;
      if (given.join.empty()) given.join = rpc::AddressOf((*found)->controller);
    }
  }
  if (given.join.empty()) {
    return Invalid("--join is missing: the controller's HOST:PORT, or --enrol with an invitation");
  }
  Identity identity;
  Result<rpc::HostPort> controller = rpc::ParseHostPort(given.join);
  if (!controller) return controller.error().In("--join");
  identity.controller = *std::move(controller);
  Result<std::optional<rpc::Credentials>> credentials =
      rpc::LoadTls(given.tls, /*for_server=*/false, identity.controller.host, Warner(narrator));
  if (!credentials) return credentials.error();
  identity.credentials = *std::move(credentials);
  Result<std::string> name = NameOf(given, identity.credentials);
  if (!name) return name.error();
  identity.name = *std::move(name);
  Result<std::string> state = StateOf(given.state, identity.name, identity.controller);
  if (!state) return state.error();
  Result<std::unique_ptr<Lives>> lives = Lives::Open(*state);
  if (!lives) return lives.error();
  identity.lives = *std::move(lives);
  return identity;
}

Result<void> CheckInvitation(const ParticipantOptions& options, const authority::Token& token,
                             federation::Role role) {
  if (options.tls.insecure || options.tls.any_file()) {
    return Invalid(
        "--enrol gets a certificate: leave --ca, --certificate, --key and --insecure out");
  }
  if (!options.name.empty() && options.name != token.name) {
    return Invalid(Text("--name ", options.name, ": the invitation is for \"", token.name,
                        "\": leave --name out"));
  }
  if (token.role == RoleOf(role)) return {};
  const bool admin = token.role == authority::Role::kAdmin;
  return Invalid(Text("the invitation of \"", token.name, "\" is for the role ",
                      authority::NameOf(token.role), ": use it with `metis ",
                      admin ? "ca enrol TOKEN" : Text(authority::NameOf(token.role), " --enrol"),
                      "`"));
}

Result<Identity> IdentifyByInvitation(const ParticipantOptions& options, federation::Role role,
                                      Narrator& narrator, const std::stop_token& stop) {
  Result<authority::Token> token = ReadToken(options.enrol);
  if (!token) return token.error().In("--enrol");
  if (Result<void> good = CheckInvitation(options, *token, role); !good) return good.error();
  Identity identity;
  identity.name = token->name;
  Result<rpc::HostPort> controller = ControllerOf(*token, options.join);
  if (!controller) return controller.error();
  identity.controller = *std::move(controller);
  Result<std::string> state = StateOf(options.state, identity.name, identity.controller);
  if (!state) return state.error();
  Result<std::unique_ptr<Lives>> lives = Lives::Open(*state);
  if (!lives) return lives.error();
  identity.lives = *std::move(lives);
  Result<Membership> membership = Enrol(
      *token, identity.controller, *state, [&](const std::string& text) { narrator.Say(text); },
      stop);
  if (!membership) return membership.error();
  rpc::TlsOptions tls;
  tls.files = membership->files;
  Result<std::optional<rpc::Credentials>> credentials =
      rpc::LoadTls(tls, /*for_server=*/false, identity.controller.host, Warner(narrator));
  if (!credentials) return credentials.error();
  identity.credentials = *std::move(credentials);
  return identity;
}

}  // namespace

bool MissesController(const ParticipantOptions& options, federation::Role role) {
  if (!options.join.empty() || !options.enrol.empty()) return false;
  Result<std::optional<Membership>> found =
      FindMembership(RoleOf(role), "", options.name, options.state);
  return found && !*found;
}

Result<std::unique_ptr<Lives>> Lives::Open(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Unavailable(Text(directory, " can't be made: ", error.message()));
  const std::string path = directory + "/incarnation";
  Result<store::ProcessLock> lock =
      store::ProcessLock::Take(path + ".lock", Text("the participant of ", directory));
  if (!lock) return lock.error();
  return std::unique_ptr<Lives>(new Lives(path, *std::move(lock)));
}

Result<Incarnation> Lives::Begin(uint32_t now_s) {
  uint32_t latest = 0;
  if (std::ifstream file(path_); file) {
    std::string text;
    std::getline(file, text);
    latest = ParseNumber<uint32_t>(text).value_or(UINT32_MAX);
    if (latest == UINT32_MAX) {
      return Invalid(Text(path_, " holds \"", text, "\", no number of a life: remove it"));
    }
  }
  const uint32_t next = std::max(latest + 1, now_s);
  if (Result<void> kept = store::WriteDurably(path_, Text(next, "\n"), 0600); !kept)
    return kept.error();
  return Incarnation(next);
}

Result<Joined> JoinFederation(const ParticipantOptions& options, federation::Role role,
                              Narrator& narrator, const std::stop_token& stop) {
  Result<Identity> identity = options.enrol.empty()
                                  ? IdentifyByFiles(options, role, narrator)
                                  : IdentifyByInvitation(options, role, narrator, stop);
  if (!identity) return identity.error();
  Result<Incarnation> incarnation = identity->lives->Begin(SecondsNow());
  if (!incarnation) return incarnation.error();

  rpc::ParticipantClientOptions dial;
  dial.controller = identity->controller;
  dial.credentials = std::move(identity->credentials);
  dial.name = identity->name;
  dial.incarnation = *incarnation;
  dial.role = role;
  dial.program = Text("metis ", ProgramVersion());
  dial.say = [&narrator, plain = !dial.credentials](const std::string& text) {
    // What a TLS port does with plain text: it hangs up.
    const bool hung_up = plain && text.find("Socket closed") != text.npos;
    narrator.Say(
        text + (hung_up ? "; does it speak TLS? Then give --enrol, or --ca, --certificate and --key"
                        : ""));
  };
  Result<std::unique_ptr<rpc::ParticipantClient>> client =
      rpc::ParticipantClient::Connect(dial, stop);
  if (!client) return client.error();
  const rpc::Welcome& welcome = (*client)->welcome();
  Result<config::Config> config =
      config::ParseConfig(welcome.config_toml, "the controller's configuration");
  if (!config) {
    return config.error().In("is the controller of another version of Metis?");
  }
  (*client)->SetHeartbeat(config->federation.membership.heartbeat);
  return Joined{std::move(identity->lives), std::move(identity->name), *incarnation,
                *std::move(config), *std::move(client)};
}

std::string SchemaDifference(const ModelSchema& federation, const ModelSchema& own) {
  if (federation.hash() == own.hash()) return "";
  const auto describe = [](const ModelSchema& schema, size_t i) {
    if (i >= schema.tensors().size()) return std::string("nothing");
    const TensorSpec& tensor = schema.tensors()[i];
    return Text(tensor.name, " ", FormatShape(tensor.shape));
  };
  std::vector<std::string> lines;
  const size_t most = std::max(federation.tensors().size(), own.tensors().size());
  constexpr size_t kShown = 8;
  size_t differ = 0;
  for (size_t i = 0; i < most; ++i) {
    const std::string theirs = describe(federation, i), ours = describe(own, i);
    if (theirs != ours && ++differ <= kShown) {
      lines.push_back(
          Text("  tensor ", i, ": the federation's is ", theirs, ", this one's ", ours));
    }
  }
  if (differ > kShown) lines.push_back(Text("  and ", differ - kShown, " more"));
  return Join(lines, "\n");
}

}  // namespace metis::site
