// Which names a browser may use for the dashboard. A page of another site can make its own name
// point to 127.0.0.1 (DNS rebinding) and would then read the dashboard as if it were its own. It
// cannot do so with an address, nor with "localhost", nor with the name that the operator chose.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "metis/core/result.h"

namespace metis::dashboard {

// Where to listen: "127.0.0.1:7741", "[::1]:0", "dashboard.example.org:80".
struct ListenAddress {
  std::string host;  // an IPv6 address without its brackets
  uint16_t port = 0;
};
Result<ListenAddress> ParseListenAddress(std::string_view text);

// "http://127.0.0.1:7741/", with brackets where the host has colons.
std::string UrlOf(const ListenAddress& address);

// Whether only programs of this machine can reach it.
bool IsLoopback(const std::string& host);

// Whether a request with this Host header (with or without a port) came by a name that is ours.
// `own` is the host that is listened on.
bool IsOwnName(std::string_view host_header, std::string_view own);

}  // namespace metis::dashboard
