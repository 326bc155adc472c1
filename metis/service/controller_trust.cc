#include "metis/service/controller_trust.h"

#include <utility>

#include "metis/core/text.h"

namespace metis::service {

Result<ControllerTrust> OpenTrust(const rpc::TlsOptions& options, const std::string& authority,
                                  const std::string& host,
                                  const std::function<void(const std::string&)>& warn) {
  ControllerTrust trust;
  rpc::TlsOptions tls = options;
  if (!authority.empty()) {
    if (tls.insecure || tls.any_file()) {
      return Invalid(
          "--authority has the controller's certificate: leave --ca, --certificate, --key and "
          "--insecure out");
    }
    Result<std::unique_ptr<authority::Authority>> opened = authority::Authority::Open(authority);
    if (!opened) return opened.error().In("--authority");
    trust.authority = *std::move(opened);
    tls.files = {Text(authority, "/", authority::kAuthorityFile),
                 Text(authority, "/", authority::kControllerFile),
                 Text(authority, "/", authority::kControllerKeyFile)};
  }
  Result<std::optional<rpc::Credentials>> credentials =
      rpc::LoadTls(tls, /*for_server=*/true, host, warn);
  if (!credentials) {
    return authority.empty()
               ? credentials.error()
               : credentials.error().In(Text("`metis ca init ", authority,
                                             " --host HOST` makes the controller's certificate "
                                             "anew, for all hosts that are named"));
  }
  trust.credentials = *std::move(credentials);
  return trust;
}

}  // namespace metis::service
