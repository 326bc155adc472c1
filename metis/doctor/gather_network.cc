#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "metis/core/text.h"
#include "metis/doctor/gather.h"
#include "metis/doctor/x509_facts.h"
#include "metis/rpc/clock_service.h"
#include "metis/rpc/openssl.h"
#include "metis/store/posix_file.h"

namespace metis::doctor {
namespace {

using rpc::Freed;
using store::File;
using SteadyClock = std::chrono::steady_clock;

using Addresses = std::unique_ptr<addrinfo, Freed<freeaddrinfo>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freed<SSL_free>>;

// How a client of HTTP/2 begins: its preface, and settings that change none.
constexpr std::string_view kGreeting("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 33);
constexpr size_t kFrameHead = 9;  // of which byte 3 is the kind: 4 for settings
constexpr char kSettings = 4;

// A peer that hangs up while something is written to it is no reason to end: OpenSSL writes without
// saying so to the system. For as long as it lives, and for one thread at a time.
class QuietPipes {
 public:
  QuietPipes() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~QuietPipes() { std::signal(SIGPIPE, before_); }
  QuietPipes(const QuietPipes&) = delete;
  QuietPipes& operator=(const QuietPipes&) = delete;

 private:
  void (*before_)(int);
};

Addresses Resolve(const rpc::HostPort& address, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), Text(address.port).c_str(), &hints, &found);
  if (error != 0) why = ::gai_strerror(error);
  return Addresses(error == 0 ? found : nullptr);
}

int Milliseconds(double seconds) { return static_cast<int>(seconds * 1000); }

// 0, or the errno of why not.
int Connect(const addrinfo& to, double patience_s, File& connected) {
  File socket(::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.ok()) return errno;
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    pollfd wanted{socket.get(), POLLOUT, 0};
    if (::poll(&wanted, 1, Milliseconds(patience_s)) != 1) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  // From here on calls wait, but not for ever.
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
  timeval bound{};
  bound.tv_sec = static_cast<time_t>(patience_s);
  bound.tv_usec = static_cast<suseconds_t>((patience_s - static_cast<double>(bound.tv_sec)) * 1e6);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  connected = std::move(socket);
  return 0;
}

JoinFacts::Reach ReachOf(int error) {
  if (error == ECONNREFUSED) return JoinFacts::Reach::kRefused;
  if (error == ETIMEDOUT) return JoinFacts::Reach::kSilent;
  return JoinFacts::Reach::kUnreachable;
}

// The first of the host's addresses that answers.
File Reach(const rpc::HostPort& address, JoinFacts& facts) {
  File connected;
  const Addresses found = Resolve(address, 0, facts.words);
  if (!found) {
    facts.reach = JoinFacts::Reach::kUnknownHost;
    return connected;
  }
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    const auto begin = SteadyClock::now();
    const int error = Connect(*each, facts.patience_s, connected);
    facts.reach = error == 0 ? JoinFacts::Reach::kReached : ReachOf(error);
    facts.words = error == 0 ? "" : std::generic_category().message(error);
    if (error != 0) continue;
    facts.milliseconds =
        std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
    break;
  }
  return connected;
}

// A controller without TLS greets with its settings, unasked.
JoinFacts::Speech ListenToPlain(int socket) {
  char head[kFrameHead] = {};
  const bool settings = ::send(socket, kGreeting.data(), kGreeting.size(), MSG_NOSIGNAL) > 0 &&
                        store::ReadAll(socket, head, sizeof head) && head[3] == kSettings;
  return settings ? JoinFacts::Speech::kPlainFederation : JoinFacts::Speech::kOther;
}

Context MakeContext(const rpc::TlsFiles& files) {
  Context context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);  // judged below, in words
  // Dates are judged by themselves.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_NO_CHECK_TIME);
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof kHttp2);
  if (!files.ca.empty()) {
    SSL_CTX_load_verify_locations(context.get(), files.ca.c_str(), nullptr);
  }
  // A key with a passphrase was complained about before: nobody is asked for it here.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  if (!files.certificate.empty()) {
    SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM);
  }
  ERR_clear_error();  // files were judged before
  return context;
}

JoinFacts::Peer PeerOf(SSL* session, const std::string& host) {
  JoinFacts::Peer peer;
  const X509Ptr certificate(SSL_get1_peer_certificate(session));
  if (!certificate) return peer;
  peer.subject = SubjectOf(certificate.get());
  peer.names = HostNames(certificate.get());
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(session);  // borrowed
  const int length = chain == nullptr ? 0 : sk_X509_num(chain);
  peer.fingerprint =
      FingerprintOf(length > 0 ? sk_X509_value(chain, length - 1) : certificate.get());
  const long verified = SSL_get_verify_result(session);
  if (verified != X509_V_OK) peer.distrust = X509_verify_cert_error_string(verified);
  peer.for_host = X509_check_host(certificate.get(), host.data(), host.size(), 0, nullptr) == 1 ||
                  X509_check_ip_asc(certificate.get(), host.c_str(), 0) == 1;
  peer.from = SecondsOf(X509_get0_notBefore(certificate.get()));
  peer.until = SecondsOf(X509_get0_notAfter(certificate.get()));
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(session, &chosen, &size);
  peer.http2 = size == 2 && chosen[0] == 'h' && chosen[1] == '2';
  return peer;
}

// Under TLS 1.3 a client hears of its refusal only when it reads.
std::string RefusalOf(SSL* session) {
  char head[kFrameHead] = {};
  SSL_write(session, kGreeting.data(), static_cast<int>(kGreeting.size()));
  ERR_clear_error();
  if (SSL_read(session, head, sizeof head) > 0) return "";
  const unsigned long error = ERR_peek_last_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  ERR_clear_error();
  return reason == nullptr ? "it hung up" : reason;
}

void ShakeHands(const rpc::TlsFiles& files, int socket, JoinFacts& facts) {
  const QuietPipes quiet;
  const Context context = MakeContext(files);
  const Session session(SSL_new(context.get()));
  SSL_set_tlsext_host_name(session.get(), facts.host.c_str());
  SSL_set_fd(session.get(), socket);
  facts.speech = JoinFacts::Speech::kOther;
  const bool shaken = SSL_connect(session.get()) == 1;
  ERR_clear_error();
  if (!shaken) return;
  facts.speech = JoinFacts::Speech::kTls;
  facts.peer = PeerOf(session.get(), facts.host);
  if (!facts.our_name.empty()) facts.refusal = RefusalOf(session.get());
}

}  // namespace

ListenFacts GatherListen(const std::string& address) {
  using State = ListenFacts::State;
  ListenFacts facts;
  facts.address = address;
  const Result<rpc::HostPort> parsed = rpc::ParseHostPort(address);
  if (!parsed) {
    facts.state = State::kMalformed;
    facts.words = parsed.error().message;
    return facts;
  }
  facts.port = parsed->port;
  facts.loopback = rpc::IsLoopback(parsed->host);
  const Addresses found = Resolve(*parsed, AI_PASSIVE, facts.words);
  if (!found) {
    facts.state = State::kElsewhere;
    return facts;
  }
  const File socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;  // as the server does: connections that linger are no hindrance
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (socket.ok() && ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
      ::listen(socket.get(), 1) == 0) {
    return facts;
  }
  facts.words = std::generic_category().message(errno);
  facts.state = errno == EADDRINUSE                 ? State::kTaken
                : errno == EACCES || errno == EPERM ? State::kDenied
                : errno == EADDRNOTAVAIL            ? State::kElsewhere
                                                    : State::kFailed;
  return facts;
}

JoinFacts GatherJoin(const std::string& address, const rpc::TlsFiles& files, bool insecure,
                     double patience_s) {
  JoinFacts facts;
  facts.address = address;
  facts.insecure = insecure;
  facts.patience_s = patience_s;
  const Result<rpc::HostPort> parsed = rpc::ParseHostPort(address);
  if (!parsed) {
    facts.reach = JoinFacts::Reach::kMalformed;
    facts.words = parsed.error().message;
    return facts;
  }
  facts.host = parsed->host;
  facts.ca_file = files.ca;
  if (!files.certificate.empty()) {
    std::string ignored;
    const Result<rpc::Credentials> ours = rpc::LoadCredentials(files, false, ignored);
    if (ours) facts.our_name = ours->names.front();
  }
  const File socket = Reach(*parsed, facts);
  if (!socket.ok()) return facts;
  if (insecure) {
    facts.speech = ListenToPlain(socket.get());
  } else {
    ShakeHands(files, socket.get(), facts);
  }
  return facts;
}

ClockFacts GatherClock(const std::string& address, const rpc::TlsFiles& files, bool insecure,
                       double patience_s) {
  const Result<rpc::HostPort> parsed = rpc::ParseHostPort(address);
  if (!parsed) return {parsed.error()};
  std::optional<rpc::Credentials> credentials;
  if (!insecure) {
    std::string ignored;
    Result<rpc::Credentials> loaded = rpc::LoadCredentials(files, false, ignored);
    if (!loaded) return {Unavailable("there is no certificate to ask it with")};
    credentials = *std::move(loaded);
  }
  return {rpc::AskClock(*parsed, credentials, Duration::FromSeconds(patience_s))};
}

}  // namespace metis::doctor
