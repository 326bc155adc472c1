#include "metis/rpc/client_channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <string_view>

#include "metis/core/text.h"

namespace metis::rpc {
namespace {

constexpr int kMiB = 1 << 20;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(20 * kMiB);
  arguments.SetMaxSendMessageSize(20 * kMiB);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  // A chunk is one frame, and the next one is on its way while it is read.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 2 * kMiB);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 * kMiB);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // it would let chunks pile up in memory
  arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 2 * kMiB);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);     // the streams know themselves where to go on
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // it would come from the environment
  arguments.SetServiceConfigJSON("{}");
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return arguments;
}

bool Says(const grpc::Status& status, std::string_view words) {
  return status.error_message().find(words) != std::string::npos;
}

}  // namespace

std::string AddressOf(const HostPort& controller) {
  const bool numeric6 = controller.host.find(':') != std::string::npos;
  return numeric6 ? Text("[", controller.host, "]:", controller.port)
                  : Text(controller.host, ":", controller.port);
}

std::shared_ptr<grpc::Channel> MakeChannel(const HostPort& controller,
                                           const std::optional<Credentials>& credentials) {
  std::shared_ptr<grpc::ChannelCredentials> how = grpc::InsecureChannelCredentials();
  if (credentials) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = credentials->ca;
    options.pem_cert_chain = credentials->certificate;
    options.pem_private_key = credentials->key;
    how = grpc::SslCredentials(options);
  }
  return grpc::CreateCustomChannel(AddressOf(controller), how, Arguments());
}

std::string AddressOfSocket(const std::string& path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~";
  std::string address = "unix:";
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    if (kPlain.find(letter) != std::string_view::npos) {
      address += letter;
    } else {
      address += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return address;
}

std::shared_ptr<grpc::Channel> MakeLocalChannel(const std::string& socket) {
  return grpc::CreateCustomChannel(AddressOfSocket(socket), grpc::InsecureChannelCredentials(),
                                   Arguments());
}

std::string WhyHopeless(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::INVALID_ARGUMENT:
      return status.error_message();
    case grpc::StatusCode::UNIMPLEMENTED:
      return Text("it is no controller of a federation (", status.error_message(), ")");
    default:
      break;
  }
  if (Says(status, "Peer name") || Says(status, "Hostname Verification Check failed")) {
    return "its certificate is for another host: dial it by a DNS name of its certificate";
  }
  // One that breaks off (SSL_ERROR_SYSCALL) may be a controller on its way up or down.
  constexpr std::string_view kBroken = "SSL_ERROR_SSL: ";
  const size_t broken = status.error_message().find(kBroken);
  if (broken != std::string::npos) {
    return Text(
        "the TLS handshake failed (", status.error_message().substr(broken + kBroken.size()),
        "): its certificate is not signed by the CA that was named here, or it speaks no TLS");
  }
  return {};
}

}  // namespace metis::rpc
