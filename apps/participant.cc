#include "apps/participant.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "apps/cli.h"
#include "metis/core/text.h"
#include "metis/store/posix_file.h"
#include "metis/wire/messages.h"

namespace metis::apps {
namespace {

namespace fs = std::filesystem;

// Writes a small file whole or not at all, and onto the disk.
Result<void> WriteDurably(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  {
    const store::File file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file.ok()) return store::Failed("creating", fresh);
    const bool written = store::WriteAll(file.get(), text.data(), text.size());
    if (!written || ::fsync(file.get()) != 0) return store::Failed("writing", fresh);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return store::Failed("renaming", fresh);
  return store::SyncDirectory(fs::path(path).parent_path());
}

// ~/.local/state/metis/site-3@controller.example-7740
Result<std::string> DefaultState(const std::string& name, const rpc::HostPort& controller) {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const auto given = [](const char* value) { return value != nullptr && value[0] != '\0'; };
  if (!given(state) && !given(home)) {
    return Invalid("neither XDG_STATE_HOME nor HOME is set: name a directory with --state");
  }
  const std::string base = given(state) ? state : Text(home, "/.local/state");
  std::string host = controller.host;
  std::replace(host.begin(), host.end(), '/', '_');
  return Text(base, "/metis/", name, "@", host, "-", controller.port);
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

}  // namespace

void AddParticipantOptions(CLI::App& app, ParticipantOptions& options) {
  app.add_option("--join", options.join, "The controller's HOST:PORT");
  app.add_option("--name", options.name,
                 "Who this is in the federation; default: the certificate's DNS name");
  AddTlsOptions(app, options.tls);
  app.add_option("--state", options.state,
                 "Directory that numbers the lives of this participant; default: one for each\n"
                 "name and controller below ~/.local/state/metis");
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
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), latest);
    if (error != std::errc() || end != text.data() + text.size() || latest == UINT32_MAX) {
      return Invalid(Text(path_, " holds \"", text, "\", no number of a life: remove it"));
    }
  }
  const uint32_t next = std::max(latest + 1, now_s);
  if (Result<void> kept = WriteDurably(path_, Text(next, "\n")); !kept) return kept.error();
  return Incarnation(next);
}

Result<Joined> JoinFederation(const ParticipantOptions& options, federation::Role role,
                              Console& console, const Interrupts& interrupts) {
  Result<rpc::HostPort> controller = rpc::ParseHostPort(options.join);
  if (!controller) return controller.error().In("--join");
  Result<std::optional<rpc::Credentials>> credentials =
      LoadTls(options.tls, /*for_server=*/false, controller->host);
  if (!credentials) return credentials.error();
  Result<std::string> name = NameOf(options, *credentials);
  if (!name) return name.error();
  Result<std::string> state =
      options.state.empty() ? DefaultState(*name, *controller) : Result<std::string>(options.state);
  if (!state) return state.error();
  Result<std::unique_ptr<Lives>> lives = Lives::Open(*state);
  if (!lives) return lives.error();
  Result<Incarnation> incarnation = (*lives)->Begin(SecondsNow());
  if (!incarnation) return incarnation.error();

  rpc::ParticipantClientOptions dial;
  dial.controller = *controller;
  dial.credentials = *std::move(credentials);
  dial.name = *name;
  dial.incarnation = *incarnation;
  dial.role = role;
  dial.program = Text("metis ", Version());
  dial.say = [&console, plain = !dial.credentials](const std::string& text) {
    // What a TLS port does with plain text: it hangs up.
    const bool hung_up = plain && text.find("Socket closed") != text.npos;
    console.Say(text +
                (hung_up ? "; does it speak TLS? Then give --ca, --certificate and --key" : ""));
  };
  Result<std::unique_ptr<rpc::ParticipantClient>> client =
      rpc::ParticipantClient::Connect(dial, interrupts.token());
  if (!client) return client.error();
  const rpc::Welcome& welcome = (*client)->welcome();
  Result<config::Config> config =
      config::ParseConfig(welcome.config_toml, "the controller's configuration");
  if (!config) {
    return config.error().In("is the controller of another version of Metis?");
  }
  (*client)->SetHeartbeat(config->federation.membership.heartbeat);
  return Joined{*std::move(lives), *std::move(name), *incarnation, *std::move(config),
                *std::move(client)};
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

}  // namespace metis::apps
