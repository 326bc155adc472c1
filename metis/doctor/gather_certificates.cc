#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "metis/authority/authority.h"
#include "metis/core/text.h"
#include "metis/doctor/gather.h"
#include "metis/doctor/x509_facts.h"
#include "metis/store/inspect_log.h"

namespace metis::doctor {
namespace {

namespace fs = std::filesystem;

struct Closed {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The first of the file; null if it can't be read, which was found out before.
X509Ptr ReadFirst(const std::string& path) {
  const std::unique_ptr<std::FILE, Closed> file(std::fopen(path.c_str(), "r"));
  if (!file) return nullptr;
  return X509Ptr(PEM_read_X509(file.get(), nullptr, nullptr, nullptr));
}

uint32_t ModeOf(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777u : 0600u;
}

std::string WhyNotWritable(const std::string& path) {
  if (::access(path.c_str(), W_OK) == 0) return "";
  return Text(path, ": ", std::generic_category().message(errno));
}

}  // namespace

int64_t SecondsOf(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<int64_t>(::timegm(&parts)) : 0;
}

rpc::TlsFiles FilesOfAuthority(const std::string& directory) {
  using namespace authority;
  return {Text(directory, "/", kAuthorityFile), Text(directory, "/", kControllerFile),
          Text(directory, "/", kControllerKeyFile)};
}

rpc::TlsFiles FilesOfState(const std::string& directory) {
  return {directory + "/ca.pem", directory + "/certificate.pem", directory + "/key.pem"};
}

Result<CertificateFacts> GatherCertificate(const rpc::TlsFiles& files, bool for_server) {
  std::string warning;  // about the key's mode, which is judged with the rest
  Result<rpc::Credentials> loaded = rpc::LoadCredentials(files, for_server, warning);
  if (!loaded) return loaded.error();
  const X509Ptr own = ReadFirst(files.certificate);
  const X509Ptr authority = ReadFirst(files.ca);
  if (!own || !authority)
    return Unavailable(Text(files.certificate, ": changed while it was read"));
  CertificateFacts facts;
  facts.file = files.certificate;
  facts.names = HostNames(own.get());
  facts.until = SecondsOf(X509_get0_notAfter(own.get()));
  facts.ca_file = files.ca;
  facts.ca_until = SecondsOf(X509_get0_notAfter(authority.get()));
  facts.key_file = files.key;
  facts.key_mode = ModeOf(files.key);
  return facts;
}

AuthorityFacts GatherAuthority(const std::string& directory) {
  AuthorityFacts facts;
  facts.directory = directory;
  facts.key_file = directory + "/ca.key";
  std::error_code error;
  for (const char* file :
       {"ca.pem", "ca.key", "controller.pem", "controller.key", "authority.db"}) {
    if (facts.missing.empty() && !fs::exists(directory + "/" + file, error)) facts.missing = file;
  }
  facts.key_mode = ModeOf(facts.key_file);
  if (!facts.missing.empty()) return facts;
  facts.read_only = WhyNotWritable(Text(directory, "/", authority::kLedgerFile));
  if (facts.read_only.empty()) facts.read_only = WhyNotWritable(directory);
  return facts;
}

StateFacts GatherState(const std::string& directory) {
  StateFacts facts;
  facts.directory = directory;
  std::error_code error;
  facts.enrolled = fs::exists(FilesOfState(directory).certificate, error);
  facts.holder = store::LockHolder(directory + "/incarnation.lock").value_or("");
  facts.read_only = GatherDisk(directory).read_only;
  return facts;
}

}  // namespace metis::doctor
