// Certificates for mutual TLS: read, checked before anything is dialled or served, and said in
// words what is wrong with them. Identity is the DNS name of the certificate's subject alternative
// names, never its common name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metis/core/result.h"

namespace metis::rpc {

struct TlsFiles {
  std::string ca;           // PEM: whom to believe
  std::string certificate;  // PEM: who we are
  std::string key;          // PEM: proves it; should not be readable by others
};

struct Credentials {
  std::string ca;  // PEM text
  std::string certificate;
  std::string key;
  std::vector<std::string> names;  // DNS names of the certificate, the first is ours
};

// Reads and checks: files are there and PEM, the certificate is valid now, is signed by the CA, has
// a DNS name, allows the use (`for_server`: TLS server, else TLS client), and the key belongs to
// it. The error names file, what is wrong, and the way out. A key that others can read is said in
// `warning`.
Result<Credentials> LoadCredentials(const TlsFiles& files, bool for_server, std::string& warning);

// What a verified certificate says of its owner beside its names.
struct PeerFacts {
  std::string serial;              // lower-case hexadecimal
  std::vector<std::string> roles;  // of its URIs urn:metis:role:ROLE
};
// Of the first certificate of a PEM text; empty if it holds none.
PeerFacts ReadPeer(const std::string& pem);

// "localhost", "127.0.0.1", "::1" (and all of 127/8): where plaintext is allowed.
bool IsLoopback(const std::string& host);

struct HostPort {
  std::string host;
  uint16_t port = 0;
};
// Reads "host:port", "[::1]:port". The error names the text and the form.
Result<HostPort> ParseHostPort(const std::string& text);

}  // namespace metis::rpc
