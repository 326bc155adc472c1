#include "metis/authority/certificates.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/rpc/openssl.h"

namespace metis::authority {
namespace {

using rpc::Freed;

using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Request = std::unique_ptr<X509_REQ, Freed<X509_REQ_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;

constexpr int64_t kDay = 24 * 3600;
constexpr int64_t kClocksDiffer = 10 * 60;  // so much may a site's clock be behind
constexpr size_t kMaxRequestBytes = 16 << 10;

std::string TextOf(const Bio& bio) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(length)};
}

Key ReadKey(const std::string& pem) {
  const Bio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  Key key(PEM_read_bio_PrivateKey(in.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  return key;
}

Certificate ReadCertificate(const std::string& pem) {
  const Bio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

std::string PemOf(X509* certificate) {
  const Bio out(BIO_new(BIO_s_mem()));
  METIS_CHECK(PEM_write_bio_X509(out.get(), certificate) == 1);
  return TextOf(out);
}

bool IsP256(EVP_PKEY* key) {
  char group[32] = {};
  size_t length = 0;
  return key != nullptr && EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, group, sizeof group, &length) == 1 &&
         std::string_view(group, length) == "prime256v1";
}

void SetCommonName(X509_NAME* subject, const std::string& name) {
  METIS_CHECK(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                         reinterpret_cast<const unsigned char*>(name.data()),
                                         static_cast<int>(name.size()), -1, 0) == 1);
}

void Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  METIS_CHECK_MSG(extension != nullptr, value);
  METIS_CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// 127 random bits: nobody else's, and positive in 16 bytes.
std::string SetSerial(X509* certificate) {
  unsigned char bytes[16];
  METIS_CHECK(RAND_bytes(bytes, sizeof bytes) == 1);
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // no leading zero
  const Number number(BN_bin2bn(bytes, sizeof bytes, nullptr));
  METIS_CHECK(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr);
  return rpc::Hexadecimal(bytes);
}

struct Plan {
  std::string common_name;
  std::string names;  // subjectAltName; empty: none
  std::string usage;  // keyUsage
  std::string extended_usage;
  bool authority = false;
};

// Signs a certificate for the public key; `issuer` null: by itself.
Issued Sign(const Plan& plan, EVP_PKEY* public_key, X509* issuer, EVP_PKEY* signer,
            Validity validity) {
  const Certificate made(X509_new());
  X509* certificate = made.get();
  METIS_CHECK(certificate != nullptr && X509_set_version(certificate, X509_VERSION_3) == 1);
  Issued issued;
  issued.serial = SetSerial(certificate);
  issued.not_after_s = validity.now_s + validity.days * kDay;
  METIS_CHECK(ASN1_TIME_set(X509_getm_notBefore(certificate), validity.now_s - kClocksDiffer));
  METIS_CHECK(ASN1_TIME_set(X509_getm_notAfter(certificate), issued.not_after_s));
  METIS_CHECK(X509_set_pubkey(certificate, public_key) == 1);
  SetCommonName(X509_get_subject_name(certificate), plan.common_name);
  if (issuer == nullptr) issuer = certificate;
  METIS_CHECK(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1);
  Extend(certificate, issuer, NID_basic_constraints,
         plan.authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE");
  Extend(certificate, issuer, NID_key_usage, plan.usage);
  Extend(certificate, issuer, NID_subject_key_identifier, "hash");
  if (!plan.authority) Extend(certificate, issuer, NID_authority_key_identifier, "keyid");
  if (!plan.extended_usage.empty()) {
    Extend(certificate, issuer, NID_ext_key_usage, plan.extended_usage);
  }
  if (!plan.names.empty()) Extend(certificate, issuer, NID_subject_alt_name, plan.names);
  METIS_CHECK(X509_sign(certificate, signer, EVP_sha256()) > 0);
  issued.pem = PemOf(certificate);
  return issued;
}

struct Signer {
  Certificate certificate;
  Key key;
};

Result<Signer> ReadSigner(const std::string& authority_pem, const std::string& key_pem) {
  Signer signer{ReadCertificate(authority_pem), ReadKey(key_pem)};
  if (!signer.certificate) return Invalid("the authority's certificate can't be read");
  if (!signer.key) return Invalid("the authority's key can't be read");
  if (X509_check_private_key(signer.certificate.get(), signer.key.get()) != 1) {
    ERR_clear_error();
    return Invalid("the authority's key belongs to another certificate");
  }
  return signer;
}

Result<Request> OpenRequest(std::string_view der) {
  const auto wrong = [](std::string_view why) {
    ERR_clear_error();
    return Invalid(Text("the request for a certificate ", why));
  };
  if (der.size() > kMaxRequestBytes) return wrong(Text("has ", der.size(), " bytes: too many"));
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const unsigned char* at = bytes;
  Request request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  if (!request || at != bytes + der.size()) return wrong("can't be read (PKCS#10 in DER)");
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (!IsP256(key)) return wrong("is for a key of another kind than P-256");
  if (X509_REQ_verify(request.get(), key) != 1) {
    return wrong("does not prove that its sender has the key");
  }
  return request;
}

bool IsAddress(const std::string& host) {
  unsigned char address[16];
  return ::inet_pton(AF_INET, host.c_str(), address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address) == 1;
}

}  // namespace

std::string MakeKey() {
  const Key key(EVP_EC_gen("P-256"));
  METIS_CHECK(key != nullptr);
  const Bio out(BIO_new(BIO_s_mem()));
  METIS_CHECK(
      PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return TextOf(out);
}

Result<void> CheckKey(const std::string& key_pem) {
  const Key key = ReadKey(key_pem);
  if (!key) return Invalid("holds no private key in PEM form");
  if (!IsP256(key.get())) return Invalid("holds a private key of another kind than P-256");
  return {};
}

Result<std::string> MakeRequest(const std::string& key_pem, const std::string& name) {
  const Key key = ReadKey(key_pem);
  if (!key) return Invalid("the private key can't be read");
  const Request request(X509_REQ_new());
  METIS_CHECK(request && X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) == 1);
  SetCommonName(X509_REQ_get_subject_name(request.get()), name);
  METIS_CHECK(X509_REQ_set_pubkey(request.get(), key.get()) == 1);
  METIS_CHECK(X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0);
  unsigned char* der = nullptr;
  const int length = i2d_X509_REQ(request.get(), &der);
  METIS_CHECK(length > 0);
  std::string bytes(reinterpret_cast<const char*>(der), static_cast<size_t>(length));
  OPENSSL_free(der);
  return bytes;
}

Result<RequestFacts> ReadRequest(std::string_view request_der) {
  Result<Request> request = OpenRequest(request_der);
  if (!request) return request.error();
  unsigned char* der = nullptr;
  const int length = i2d_PUBKEY(X509_REQ_get0_pubkey(request->get()), &der);
  METIS_CHECK(length > 0);
  const RequestFacts facts{
      Sha256Of({reinterpret_cast<const char*>(der), static_cast<size_t>(length)})};
  OPENSSL_free(der);
  return facts;
}

Issued MakeAuthority(const std::string& key_pem, Validity validity) {
  const Key key = ReadKey(key_pem);
  METIS_CHECK(key != nullptr);
  // The date keeps the names of two authorities apart in what programs say of them.
  const Plan plan{.common_name = Text("Metis federation ", validity.now_s),
                  .names = "",
                  .usage = "critical,keyCertSign",
                  .extended_usage = "",
                  .authority = true};
  return Sign(plan, key.get(), nullptr, key.get(), validity);
}

Result<Issued> IssueFor(const std::string& authority_pem, const std::string& authority_key_pem,
                        std::string_view request_der, const std::string& name, Role role,
                        Validity validity) {
  Result<Request> request = OpenRequest(request_der);
  if (!request) return request.error();
  Result<Signer> signer = ReadSigner(authority_pem, authority_key_pem);
  if (!signer) return signer.error();
  // Nothing of the request but its key goes into the certificate.
  const Plan plan{.common_name = name,
                  .names = Text("DNS:", name, ",URI:", kRoleUri, NameOf(role)),
                  .usage = "critical,digitalSignature",
                  .extended_usage = "clientAuth"};
  return Sign(plan, X509_REQ_get0_pubkey(request->get()), signer->certificate.get(),
              signer->key.get(), validity);
}

Result<Issued> IssueController(const std::string& authority_pem,
                               const std::string& authority_key_pem, const std::string& key_pem,
                               const std::vector<std::string>& hosts, Validity validity) {
  Result<Signer> signer = ReadSigner(authority_pem, authority_key_pem);
  if (!signer) return signer.error();
  const Key key = ReadKey(key_pem);
  if (!key) return Invalid("the controller's key can't be read");
  std::string names = "DNS:controller";
  for (const std::string& host : hosts) {
    if (Result<void> good = CheckHost(host); !good) return good.error();
    names += Text(IsAddress(host) ? ",IP:" : ",DNS:", host);
  }
  const Plan plan{.common_name = "controller",
                  .names = names,
                  .usage = "critical,digitalSignature",
                  .extended_usage = "serverAuth"};
  return Sign(plan, key.get(), signer->certificate.get(), signer->key.get(), validity);
}

Result<Sha256> FingerprintOf(const std::string& pem) {
  const Certificate certificate = ReadCertificate(pem);
  if (!certificate) return Invalid("holds no certificate in PEM form");
  Sha256 fingerprint;
  unsigned length = 0;
  METIS_CHECK(X509_digest(certificate.get(), EVP_sha256(), fingerprint.data(), &length) == 1);
  return fingerprint;
}

Result<void> CheckHost(const std::string& host) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
  if (IsAddress(host)) return {};
  const bool good = !host.empty() && host.size() <= 253 && host.front() != '-' &&
                    host.front() != '.' && host.find_first_not_of(kAllowed) == host.npos;
  if (good) return {};
  return Invalid(Text("\"", host, "\" is no host: a name such as fed.example.org, or an address ",
                      "such as 192.0.2.7 or 2001:db8::7, without a port"));
}

}  // namespace metis::authority
