#include "metis/site/enrolment.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "metis/authority/certificates.h"
#include "metis/core/text.h"
#include "metis/core/version.h"
#include "metis/rpc/client_channel.h"
#include "metis/rpc/enrol.h"
#include "metis/rpc/openssl.h"
#include "metis/store/posix_file.h"

namespace metis::site {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCa = "ca.pem";
constexpr const char* kCertificate = "certificate.pem";
constexpr const char* kKey = "key.pem";
constexpr const char* kPendingKey = "key.pending";
constexpr const char* kController = "controller";
constexpr const char* kInvitation = "invitation";

constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{30};

std::string In(const std::string& directory, const char* name) {
  return Text(directory, "/", name);
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Empty if it can't be read.
std::string ReadSmall(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string FirstLine(const std::string& path) {
  const std::string text = ReadSmall(path);
  return text.substr(0, text.find('\n'));
}

Result<std::string> UsersStates(const StateDirectory& state) {
  if (!state.of_user.empty()) return state.of_user;
  return Invalid("neither XDG_STATE_HOME nor HOME is set: name a directory with --state");
}

std::string HostPart(const rpc::HostPort& controller) {
  std::string host = controller.host;
  std::replace(host.begin(), host.end(), '/', '_');
  return Text(host, "-", controller.port);
}

// Tells tokens apart without keeping them.
std::string Mark(const authority::Token& token) {
  return rpc::Hexadecimal(authority::Sha256Of(authority::FormatToken(token)));
}

Result<Membership> ReadMembership(const std::string& state) {
  Membership membership{state, {}, {In(state, kCa), In(state, kCertificate), In(state, kKey)}};
  const std::string path = In(state, kController);
  Result<rpc::HostPort> controller = rpc::ParseHostPort(FirstLine(path));
  if (!controller) return controller.error().In(path);
  membership.controller = *std::move(controller);
  return membership;
}

// The directories of the user that may be meant.
std::vector<std::string> Candidates(const std::string& base, authority::Role role,
                                    const std::string& name,
                                    const std::optional<rpc::HostPort>& controller) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator i(base, error), end; !error && i != end; i.increment(error)) {
    const std::string leaf = i->path().filename().string();
    const size_t at = leaf.find('@');
    if (at == leaf.npos || !Exists(In(i->path().string(), kCertificate))) continue;
    if (!name.empty() && leaf.substr(0, at) != name) continue;
    if (controller && leaf.substr(at + 1) != HostPart(*controller)) continue;
    const std::string certificate = ReadSmall(In(i->path().string(), kCertificate));
    const std::vector<std::string> roles = rpc::ReadPeer(certificate).roles;
    if (std::find(roles.begin(), roles.end(), authority::NameOf(role)) == roles.end()) continue;
    found.push_back(i->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// False: it was stopped.
bool Pause(std::chrono::seconds length, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, length, [] { return false; });
  return !stop.stop_requested();
}

Result<std::string> PendingKey(const std::string& state) {
  const std::string path = In(state, kPendingKey);
  std::string key = ReadSmall(path);
  if (!key.empty() && authority::CheckKey(key)) return key;
  key = authority::MakeKey();
  if (Result<void> kept = store::WriteDurably(path, key, 0600); !kept) return kept.error();
  return key;
}

struct Received {
  std::string ca;
  std::string certificate;
};

Result<Received> Ask(const authority::Token& token, const rpc::HostPort& controller,
                     const std::string& request, const std::stop_token& stop) {
  Result<std::string> ca = rpc::FetchAuthority(controller, token.authority);
  if (!ca) return ca.error();
  Result<std::string> certificate = rpc::CallEnrol({.controller = controller,
                                                    .authority = *ca,
                                                    .name = token.name,
                                                    .secret = token.secret,
                                                    .request = request,
                                                    .program = Text("metis ", ProgramVersion())},
                                                   stop);
  if (!certificate) return certificate.error();
  return Received{*std::move(ca), *std::move(certificate)};
}

// The mark comes last: until it is there, a later start asks again, with the same key.
Result<void> Keep(const authority::Token& token, const rpc::HostPort& controller,
                  const std::string& state, const Received& received, const std::string& key) {
  Result<void> kept = store::WriteDurably(In(state, kCa), received.ca, 0644);
  if (kept) kept = store::WriteDurably(In(state, kKey), key, 0600);
  if (kept) kept = store::WriteDurably(In(state, kCertificate), received.certificate, 0644);
  if (kept) {
    kept = store::WriteDurably(In(state, kController), rpc::AddressOf(controller) + "\n", 0644);
  }
  if (kept) kept = store::WriteDurably(In(state, kInvitation), Mark(token) + "\n", 0600);
  if (kept) ::unlink(In(state, kPendingKey).c_str());
  return kept;
}

}  // namespace

Result<authority::Token> ReadToken(const std::string& text) {
  if (!text.starts_with('@')) return authority::ParseToken(text);
  const std::string path = text.substr(1);
  const std::string line = FirstLine(path);
  if (line.empty()) return Invalid(Text(path, ": can't be read, or its first line is empty"));
  Result<authority::Token> token = authority::ParseToken(line);
  if (!token) return token.error().In(path);
  return token;
}

Result<std::string> StateOf(const StateDirectory& state, const std::string& name,
                            const rpc::HostPort& controller) {
  if (!state.named.empty()) return state.named;
  Result<std::string> base = UsersStates(state);
  if (!base) return base;
  return Text(*base, "/", name, "@", HostPart(controller));
}

Result<std::optional<Membership>> FindMembership(authority::Role role, const std::string& join,
                                                 const std::string& name,
                                                 const StateDirectory& state) {
  std::optional<rpc::HostPort> controller;
  if (!join.empty()) {
    Result<rpc::HostPort> parsed = rpc::ParseHostPort(join);
    if (!parsed) return parsed.error().In("--join");
    controller = *std::move(parsed);
  }
  std::vector<std::string> found;
  if (!state.named.empty()) {
    if (Exists(In(state.named, kCertificate))) found.push_back(state.named);
  } else {
    Result<std::string> base = UsersStates(state);
    if (!base) return base.error();
    found = Candidates(*base, role, name, controller);
  }
  if (found.empty()) return std::optional<Membership>();
  if (found.size() > 1) {
    return Invalid(Text("several certificates were enrolled here, in ", Join(found),
                        ": say which is meant with --name, --join or --state"));
  }
  Result<Membership> membership = ReadMembership(found.front());
  if (!membership) return membership.error();
  if (controller) membership->controller = *controller;
  return std::optional(*std::move(membership));
}

Result<rpc::HostPort> ControllerOf(const authority::Token& token, const std::string& join) {
  const std::string& address = join.empty() ? token.address : join;
  if (address.empty()) {
    return Invalid("the token names no controller: give its HOST:PORT with --join");
  }
  Result<rpc::HostPort> controller = rpc::ParseHostPort(address);
  if (!controller) return controller.error().In(join.empty() ? "the token" : "--join");
  if (controller->port == 0) return Invalid(Text(address, ": port 0 can't be dialled"));
  return controller;
}

Result<Membership> Enrol(const authority::Token& token, const rpc::HostPort& controller,
                         const std::string& state,
                         const std::function<void(const std::string&)>& say,
                         const std::stop_token& stop) {
  const Membership membership{
      state, controller, {In(state, kCa), In(state, kCertificate), In(state, kKey)}};
  if (FirstLine(In(state, kInvitation)) == Mark(token)) return membership;
  Result<std::string> key = PendingKey(state);
  if (!key) return key.error();
  Result<std::string> request = authority::MakeRequest(*key, token.name);
  if (!request) return request.error();
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    Result<Received> received = Ask(token, controller, *request, stop);
    if (received) {
      Result<void> kept = Keep(token, controller, state, *received, *key);
      if (!kept) return kept.error();
      say(Text("enrolled as \"", token.name, "\"; its certificate and key are in ", state));
      return membership;
    }
    if (received.error().code != ErrorCode::kUnavailable) return received.error();
    say(Text(received.error().message, "; trying again in ", pause.count(), " s"));
    if (!Pause(pause, stop)) {
      return Unavailable(Text("stopped before \"", token.name, "\" was enrolled"));
    }
  }
}

}  // namespace metis::site
