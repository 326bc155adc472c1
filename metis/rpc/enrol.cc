#include "metis/rpc/enrol.h"

#include <grpcpp/client_context.h>
#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <system_error>

#include "metis/core/text.h"
#include "metis/rpc/client_channel.h"
#include "metis/rpc/openssl.h"
#include "metis/store/posix_file.h"
#include "proto/metis/v1/operations.grpc.pb.h"

namespace metis::rpc {
namespace {

constexpr int kPatience_s = 20;  // for every step of the way
constexpr std::chrono::seconds kAnswer{60};

using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freed<SSL_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Addresses = std::unique_ptr<addrinfo, Freed<::freeaddrinfo>>;

Result<store::File> ConnectTo(const HostPort& controller) {
  const std::string where = AddressOf(controller);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      ::getaddrinfo(controller.host.c_str(), Text(controller.port).c_str(), &wanted, &found);
  if (failed != 0) {
    return Unavailable(Text("the controller's host ", controller.host,
                            " can't be found: ", ::gai_strerror(failed)));
  }
  const Addresses addresses(found);
  int error = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    store::File file(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, 0));
    const timeval patience{kPatience_s, 0};
    ::setsockopt(file.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(file.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (file.ok() && ::connect(file.get(), each->ai_addr, each->ai_addrlen) == 0) return file;
    error = errno;
  }
  return Unavailable(Text("the controller at ", where,
                          " can't be reached: ", std::generic_category().message(error)));
}

// What OpenSSL wants to say goes out, what comes is given to it: through memory, because a write of
// its own to a connection that broke would end the process.
bool Exchange(int socket, BIO* outgoing, BIO* incoming, bool wants_more) {
  char buffer[16 << 10];
  for (int got = 0; (got = BIO_read(outgoing, buffer, sizeof buffer)) > 0;) {
    for (int sent = 0; sent < got;) {
      const ssize_t now =
          ::send(socket, buffer + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
      if (now <= 0) return false;
      sent += static_cast<int>(now);
    }
  }
  if (!wants_more) return true;
  const ssize_t came = ::recv(socket, buffer, sizeof buffer, 0);
  return came > 0 && BIO_write(incoming, buffer, static_cast<int>(came)) == came;
}

bool ShakeHands(SSL* session, int socket) {
  BIO* incoming = BIO_new(BIO_s_mem());
  BIO* outgoing = BIO_new(BIO_s_mem());
  SSL_set_bio(session, incoming, outgoing);  // which owns them now
  for (int round = 0; round < 100; ++round) {
    const int result = SSL_connect(session);
    const bool wants_more = result != 1 && SSL_get_error(session, result) == SSL_ERROR_WANT_READ;
    if (result != 1 && !wants_more) return false;
    if (!Exchange(socket, outgoing, incoming, wants_more)) return false;
    if (result == 1) return true;
  }
  return false;
}

std::string PemOf(X509* certificate) {
  const Bio out(BIO_new(BIO_s_mem()));
  char* text = nullptr;
  if (PEM_write_bio_X509(out.get(), certificate) != 1) return {};
  const long length = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(length)};
}

}  // namespace

Result<std::string> FetchAuthority(const HostPort& controller,
                                   const std::array<unsigned char, 32>& fingerprint) {
  const std::string where = AddressOf(controller);
  Result<store::File> socket = ConnectTo(controller);
  if (!socket) return socket.error();
  const Context context(SSL_CTX_new(TLS_client_method()));
  // Nobody is believed yet, and nothing is said: the fingerprint decides.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  const Session session(SSL_new(context.get()));
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(session.get(), kHttp2, sizeof kHttp2);
  const bool shaken = ShakeHands(session.get(), socket->get());
  ERR_clear_error();
  if (!shaken) {
    return Unavailable(Text("no TLS connection with ", where,
                            " comes about: is it the port of a controller with --authority?"));
  }
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(session.get());
  const int count = chain == nullptr ? 0 : sk_X509_num(chain);
  for (int i = 0; i < count; ++i) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    X509* each = sk_X509_value(chain, i);
    if (X509_digest(each, EVP_sha256(), digest, &length) == 1 && length == fingerprint.size() &&
        std::equal(fingerprint.begin(), fingerprint.end(), digest)) {
      return PemOf(each);
    }
  }
  return Invalid(Text("the controller at ", where,
                      " is not of the federation that the token invites to: none of its ", count,
                      " certificates has the authority's fingerprint ", Hexadecimal(fingerprint),
                      ". Is the address right, and was its authority made anew since? If both "
                      "are as they should be, somebody stands between: do not go on"));
}

Result<std::string> CallEnrol(const EnrolmentCall& call, std::stop_token stop) {
  const Credentials believed{call.authority, "", "", {}};
  const std::unique_ptr<v1::Enrolment::Stub> stub =
      v1::Enrolment::NewStub(MakeChannel(call.controller, believed));
  v1::EnrolRequest request;
  request.set_name(call.name);
  request.set_secret(call.secret);
  request.set_request(call.request);
  request.set_program(call.program);
  v1::EnrolReply reply;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswer);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const grpc::Status status = stub->Enrol(&context, request, &reply);
  const std::string where = AddressOf(call.controller);
  if (status.ok()) return reply.certificate();
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return Invalid(Text("the controller at ", where,
                        " takes no invitations: it must be started with --authority"));
  }
  const std::string hopeless = WhyHopeless(status);
  if (!hopeless.empty()) {
    return Invalid(
        Text("the controller at ", where, " gives \"", call.name, "\" no certificate: ", hopeless));
  }
  return Unavailable(Text("the controller at ", where,
                          " gives no certificate just now: ", status.error_message()));
}

}  // namespace metis::rpc
