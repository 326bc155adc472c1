#include "metis/doctor/x509_facts.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include <array>

#include "metis/rpc/openssl.h"

namespace metis::doctor {
namespace {

std::string FormatAddress(const ASN1_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(bytes) != 16) return "?";
  return ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof text) ? text : "?";
}

}  // namespace

std::vector<std::string> HostNames(X509* certificate) {
  std::vector<std::string> names;
  const std::unique_ptr<GENERAL_NAMES, rpc::Freed<GENERAL_NAMES_free>> all(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  const int count = all ? sk_GENERAL_NAME_num(all.get()) : 0;
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type == GEN_DNS) {
      const ASN1_STRING* text = name->d.dNSName;
      names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                         static_cast<size_t>(ASN1_STRING_length(text)));
    } else if (name->type == GEN_IPADD) {
      names.push_back(FormatAddress(name->d.iPAddress));
    }
  }
  return names;
}

std::string SubjectOf(X509* certificate) {
  std::array<char, 256> text{};
  X509_NAME_oneline(X509_get_subject_name(certificate), text.data(), static_cast<int>(text.size()));
  return text.data();
}

std::string FingerprintOf(X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return "?";
  return rpc::Hexadecimal({digest.data(), size});
}

}  // namespace metis::doctor
