#include "metis/dashboard/hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "metis/core/number.h"
#include "metis/core/text.h"

namespace metis::dashboard {
namespace {

bool IsV4(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool IsV6(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool EqualNames(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool IsPort(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  const std::string_view port = colon == text.npos ? "" : text.substr(colon + 1);
  std::string_view host = text.substr(0, colon == text.npos ? 0 : colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    host = "";  // which colon would be the port's?
  }
  const std::optional<uint16_t> number = ParseNumber<uint16_t>(port);
  if (host.empty() || !number) {
    return Invalid(Text("\"", text, "\" is no HOST:PORT with a port from 0 to 65535, ",
                        "e.g. \"127.0.0.1:7741\" or \"[::1]:7741\""));
  }
  return ListenAddress{std::string(host), *number};
}

std::string UrlOf(const ListenAddress& address) {
  const bool brackets = address.host.find(':') != std::string::npos;
  return Text("http://", brackets ? "[" : "", address.host, brackets ? "]:" : ":", address.port,
              "/");
}

bool IsLoopback(const std::string& host) {
  if (IsV4(host)) return host.starts_with("127.");
  return host == "::1" || EqualNames(host, "localhost");
}

bool IsOwnName(std::string_view host_header, std::string_view own) {
  std::string_view host = host_header;
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == host.npos) return false;
    const std::string_view rest = host.substr(end + 1);
    if (!rest.empty() && (rest.front() != ':' || !IsPort(rest.substr(1)))) return false;
    return IsV6(std::string(host.substr(1, end - 1)));
  }
  if (const size_t colon = host.find(':'); colon != host.npos) {
    if (!IsPort(host.substr(colon + 1))) return false;
    host = host.substr(0, colon);
  }
  if (host.empty()) return false;
  return IsV4(std::string(host)) || EqualNames(host, "localhost") || EqualNames(host, own);
}

}  // namespace metis::dashboard
