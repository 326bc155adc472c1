// What tests of the network share: a CA and certificates made on the spot (P-256, OpenSSL), and
// files of their own. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/rpc/credentials.h"

namespace metis::rpc {

using KeyPtr = std::shared_ptr<EVP_PKEY>;
using CertificatePtr = std::shared_ptr<X509>;

// A certificate and the key that belongs to it.
struct Identity {
  CertificatePtr certificate;
  KeyPtr key;
};

struct CertificateSpec {
  std::string name;  // DNS name, and the common name; no subject alternative name if `dns` is off
  bool dns = true;
  long days = 30;                               // valid until so many days from now
  long from_days = -1;                          // valid since
  std::string usage = "serverAuth,clientAuth";  // extendedKeyUsage; empty: none
  bool authority = false;
  std::string also = "";  // further subject alternative names: "IP:10.0.0.9"
};

// A certificate for the spec, signed by `ca`, or by itself where that is null.
inline Identity MakeCertificate(const CertificateSpec& spec, const Identity* ca) {
  Identity made;
  made.key = KeyPtr(EVP_EC_gen("P-256"), EVP_PKEY_free);
  made.certificate = CertificatePtr(X509_new(), X509_free);
  X509* certificate = made.certificate.get();
  METIS_CHECK(made.key != nullptr && certificate != nullptr);
  static long serial = 1;
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  constexpr long kDay = 24 * 3600;
  X509_gmtime_adj(X509_getm_notBefore(certificate), spec.from_days * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), spec.days * kDay);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(spec.name.c_str()), -1, -1, 0);
  X509* issuer = ca == nullptr ? certificate : ca->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  const auto extend = [&](int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    METIS_CHECK_MSG(extension != nullptr, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, spec.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!spec.authority && spec.dns) {
    extend(NID_subject_alt_name, Text("DNS:", spec.name, spec.also.empty() ? "" : ",", spec.also));
  }
  if (!spec.authority && !spec.usage.empty()) extend(NID_ext_key_usage, spec.usage);
  EVP_PKEY* signer = ca == nullptr ? made.key.get() : ca->key.get();
  METIS_CHECK(X509_sign(certificate, signer, EVP_sha256()) > 0);
  return made;
}

inline Identity MakeCa(const std::string& name = "test CA", long days = 30) {
  return MakeCertificate({.name = name, .days = days, .authority = true}, nullptr);
}

inline std::string PemOf(BIO* out) {
  char* text = nullptr;
  const long length = BIO_get_mem_data(out, &text);
  std::string pem(text, static_cast<size_t>(length));
  BIO_free(out);
  return pem;
}

inline std::string CertificatePem(const Identity& identity) {
  BIO* out = BIO_new(BIO_s_mem());
  METIS_CHECK(PEM_write_bio_X509(out, identity.certificate.get()) == 1);
  return PemOf(out);
}

inline std::string KeyPem(const Identity& identity) {
  BIO* out = BIO_new(BIO_s_mem());
  METIS_CHECK(PEM_write_bio_PrivateKey(out, identity.key.get(), nullptr, nullptr, 0, nullptr,
                                       nullptr) == 1);
  return PemOf(out);
}

// As LoadCredentials would give them, without files.
inline Credentials MakeCredentials(const Identity& ca, const CertificateSpec& spec) {
  const Identity own = MakeCertificate(spec, &ca);
  return {CertificatePem(ca), CertificatePem(own), KeyPem(own), {spec.name}};
}
inline Credentials MakeCredentials(const Identity& ca, const std::string& name) {
  return MakeCredentials(ca, CertificateSpec{.name = name});
}

// With what is written into its directory.
class FileTest : public metis::FileTest {
 protected:
  std::string Write(std::string_view name, std::string_view text, mode_t mode = 0600) const {
    std::ofstream file(Path(name), std::ios::binary);
    file << text;
    EXPECT_TRUE(file.flush().good());
    EXPECT_EQ(::chmod(Path(name).c_str(), mode), 0);
    return Path(name);
  }
  std::string Read(std::string_view name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
};

}  // namespace metis::rpc
