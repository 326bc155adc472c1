#include "metis/rpc/credentials.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>

#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/rpc/openssl.h"

namespace metis::rpc {
namespace {

using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;

constexpr uintmax_t kMaxFileBytes = uintmax_t{1} << 20;

Result<std::string> ReadFile(const std::string& path, std::string_view what) {
  if (path.empty()) return Invalid(Text("no file is named for ", what));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const std::string why = std::strerror(errno);
    return NotFound(Text(path, ": can't read ", what, ": ", why));
  }
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return Invalid(Text(path, ": is larger than 1 MiB: is this ", what, "?"));
  }
  if (text.empty()) return Invalid(Text(path, ": is empty or no file; it should hold ", what));
  return text;
}

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// All of a file, in its order; what stands between them is skipped.
std::vector<Certificate> ReadCertificates(const std::string& text) {
  std::vector<Certificate> found;
  const Bio reader = Reader(text);
  while (Certificate next{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    found.push_back(std::move(next));
  }
  ERR_clear_error();  // the end of the file is one
  return found;
}

Error NotPem(const std::string& path, std::string_view what, std::string_view label) {
  return Invalid(Text(path, ": holds no ", what, " in PEM form (-----BEGIN ", label,
                      "-----): a file of another form is converted with `openssl x509` or `openssl "
                      "pkey`"));
}

// "2026-03-01 12:00 UTC".
std::string FormatTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable date";
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts)};
}

std::string SubjectOf(X509* certificate) {
  const Bio out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long length = BIO_get_mem_data(out.get(), &text);
  return length > 0 ? std::string(text, static_cast<size_t>(length)) : "(without a name)";
}

Result<void> CheckValidity(const std::string& path, X509* certificate) {
  const ASN1_TIME* from = X509_get0_notBefore(certificate);
  const ASN1_TIME* until = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(until) <= 0) {
    return Invalid(
        Text(path, ": the certificate expired on ", FormatTime(until), ": have a new one issued"));
  }
  if (X509_cmp_current_time(from) >= 0) {
    return Invalid(Text(path, ": the certificate is not valid before ", FormatTime(from),
                        ": is this machine's clock right?"));
  }
  return {};
}

bool IsSelfSigned(X509* certificate) {
  return X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) ==
             0 &&
         X509_verify(certificate, X509_get0_pubkey(certificate)) == 1;
}

Result<void> CheckUsage(const std::string& path, X509* certificate, bool for_server) {
  const int purpose = for_server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT;
  if (X509_check_purpose(certificate, purpose, 0) == 1) return {};
  const std::string_view wanted = for_server ? "server" : "client";
  return Invalid(Text(path, ": the certificate is not for a TLS ", wanted,
                      ": issue one with extendedKeyUsage=", wanted,
                      "Auth and keyUsage=digitalSignature"));
}

Error NotTrusted(const TlsFiles& files, X509_STORE_CTX* context) {
  const int code = X509_STORE_CTX_get_error(context);
  X509* at = X509_STORE_CTX_get_current_cert(context);
  switch (code) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return Invalid(Text(files.certificate, ": the certificate is not signed by the CA of ",
                          files.ca, ": do both come from the same CA?"));
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Invalid(Text(files.ca, ": the CA's certificate ", at ? SubjectOf(at) : "",
                          " expired on ", at ? FormatTime(X509_get0_notAfter(at)) : "",
                          ": have a new CA set up"));
    case X509_V_ERR_INVALID_CA:
      return Invalid(Text(files.ca, ": ", at ? SubjectOf(at) : "its certificate",
                          " is no CA (basicConstraints=CA:TRUE is missing): name the CA's "
                          "certificate, not that of a peer"));
    default:
      return Invalid(Text(files.certificate, ": can't be verified with the CA of ", files.ca, ": ",
                          X509_verify_cert_error_string(code)));
  }
}

// `chain` begins with our own certificate; what follows may stand between it and the CA.
Result<void> CheckSignedBy(const TlsFiles& files, const std::vector<Certificate>& authorities,
                           const std::vector<Certificate>& chain) {
  const Store store(X509_STORE_new());
  for (const Certificate& authority : authorities)
    X509_STORE_add_cert(store.get(), authority.get());
  STACK_OF(X509)* between = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(between, chain[i].get());
  const StoreContext context(X509_STORE_CTX_new());
  bool good = X509_STORE_CTX_init(context.get(), store.get(), chain[0].get(), between) == 1 &&
              X509_verify_cert(context.get()) == 1;
  Result<void> result;
  if (!good) result = NotTrusted(files, context.get());
  sk_X509_free(between);  // not its certificates
  return result;
}

// The subject alternative names of one kind.
std::vector<std::string> NamesOfKind(X509* certificate, int kind) {
  std::vector<std::string> names;
  const Names all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  const int count = all ? sk_GENERAL_NAME_num(all.get()) : 0;
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != kind) continue;
    const ASN1_STRING* text = name->d.ia5;  // as DNS names and URIs are
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<size_t>(ASN1_STRING_length(text)));
  }
  return names;
}

Result<std::vector<std::string>> DnsNames(const std::string& path, X509* certificate) {
  std::vector<std::string> names = NamesOfKind(certificate, GEN_DNS);
  if (names.empty()) {
    return Invalid(Text(path,
                        ": the certificate has no DNS name among its subject alternative names: "
                        "issue one with subjectAltName=DNS:NAME (the common name does not count)"));
  }
  return names;
}

int NoPassphrase(char*, int, int, void*) { return -1; }

Result<void> CheckKey(const TlsFiles& files, const std::string& text, X509* certificate) {
  const Bio reader = Reader(text);
  const Key key(PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (!key && text.find("ENCRYPTED") != std::string::npos) {
    return Invalid(Text(files.key,
                        ": the private key is encrypted and nobody can be asked for the "
                        "passphrase: `openssl pkey -in ... -out ...` removes it"));
  }
  if (!key) return NotPem(files.key, "private key", "PRIVATE KEY");
  const bool fits = X509_check_private_key(certificate, key.get()) == 1;
  ERR_clear_error();
  if (fits) return {};
  return Invalid(Text(files.key, ": this private key belongs to another certificate than ",
                      files.certificate));
}

std::string PermissionWarning(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || (found.st_mode & (S_IRGRP | S_IROTH)) == 0) return {};
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(found.st_mode & 07777));
  return Text(path, ": the private key can be read by others (mode ", mode, "): `chmod 600 ", path,
              "`");
}

}  // namespace

Result<Credentials> LoadCredentials(const TlsFiles& files, bool for_server, std::string& warning) {
  warning.clear();
  Result<std::string> ca = ReadFile(files.ca, "the CA's certificate");
  if (!ca) return ca.error();
  Result<std::string> own = ReadFile(files.certificate, "the certificate");
  if (!own) return own.error();
  Result<std::string> key = ReadFile(files.key, "the private key");
  if (!key) return key.error();

  const std::vector<Certificate> authorities = ReadCertificates(*ca);
  if (authorities.empty()) return NotPem(files.ca, "certificate", "CERTIFICATE");
  const std::vector<Certificate> chain = ReadCertificates(*own);
  if (chain.empty()) return NotPem(files.certificate, "certificate", "CERTIFICATE");

  X509* leaf = chain[0].get();
  if (Result<void> valid = CheckValidity(files.certificate, leaf); !valid) return valid.error();
  if (IsSelfSigned(leaf)) {
    return Invalid(Text(files.certificate,
                        ": the certificate is self-signed, so that no peer can believe it: have it "
                        "signed by the federation's CA"));
  }
  if (Result<void> trusted = CheckSignedBy(files, authorities, chain); !trusted) {
    return trusted.error();
  }
  if (Result<void> usage = CheckUsage(files.certificate, leaf, for_server); !usage) {
    return usage.error();
  }
  Result<std::vector<std::string>> names = DnsNames(files.certificate, leaf);
  if (!names) return names.error();
  if (Result<void> fits = CheckKey(files, *key, leaf); !fits) return fits.error();
  warning = PermissionWarning(files.key);
  return Credentials{*std::move(ca), *std::move(own), *std::move(key), *std::move(names)};
}

PeerFacts ReadPeer(const std::string& pem) {
  PeerFacts facts;
  const std::vector<Certificate> chain = ReadCertificates(pem);
  if (chain.empty()) return facts;
  X509* leaf = chain.front().get();
  const std::unique_ptr<BIGNUM, Freed<BN_free>> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(leaf), nullptr));
  char* hex = number ? BN_bn2hex(number.get()) : nullptr;
  if (hex != nullptr) facts.serial = hex;
  OPENSSL_free(hex);
  for (char& digit : facts.serial) {
    if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit - 'A' + 'a');
  }
  constexpr std::string_view kRole = "urn:metis:role:";
  for (const std::string& uri : NamesOfKind(leaf, GEN_URI)) {
    if (uri.starts_with(kRole)) facts.roles.push_back(uri.substr(kRole.size()));
  }
  return facts;
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost" || host == "::1") return true;
  // 127/8, in full: a name such as 127.example.org can lead anywhere.
  const std::vector<std::string_view> parts = Split(host, '.');
  return parts.size() == 4 && ParseNumber<uint8_t>(parts[0]) == 127 &&
         std::all_of(parts.begin(), parts.end(), ParseNumber<uint8_t>);
}

Result<HostPort> ParseHostPort(const std::string& text) {
  const auto wrong = [&text](std::string_view why) {
    return Invalid(Text("\"", text, "\" is no address: ", why,
                        "; the form is HOST:PORT, e.g. controller.example.org:7740 or [::1]:7740"));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong("the port is missing");
  HostPort parsed{text.substr(0, colon), 0};
  if (parsed.host.size() >= 2 && parsed.host.front() == '[' && parsed.host.back() == ']') {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  } else if (parsed.host.find_first_of(":[]") != std::string::npos) {
    return wrong("an IPv6 host stands in brackets");
  }
  if (parsed.host.empty()) return wrong("the host is missing");
  if (parsed.host.find_first_of(" \t\r\n/") != std::string::npos) {
    return wrong("a host has no spaces or slashes");
  }
  const std::string_view digits = std::string_view(text).substr(colon + 1);
  const std::optional<uint16_t> port = ParseNumber<uint16_t>(digits);
  if (!port) return wrong(Text("\"", digits, "\" is no port (0 to 65535)"));
  parsed.port = *port;
  return parsed;
}

}  // namespace metis::rpc
