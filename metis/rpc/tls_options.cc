#include "metis/rpc/tls_options.h"

#include <utility>

#include "metis/core/text.h"

namespace metis::rpc {

Result<std::optional<Credentials>> LoadTls(const TlsOptions& options, bool for_server,
                                           const std::string& host,
                                           const std::function<void(const std::string&)>& warn) {
  const TlsFiles& files = options.files;
  if (options.insecure) {
    if (options.any_file())
      return Invalid("--insecure and certificates exclude each other: leave one out");
    if (!IsLoopback(host)) {
      return Invalid(Text("--insecure is for this machine alone (127.0.0.1, localhost), and ", host,
                          " is another or can be reached from others: give ",
                          for_server ? "--authority" : "--enrol", ", or --ca, --certificate and ",
                          "--key"));
    }
    return std::optional<Credentials>();
  }
  if (!options.any_file()) {
    return Invalid(Text("a federation speaks TLS: give ",
                        for_server ? "--authority (a directory of `metis ca init`)"
                                   : "--enrol (a token of `metis ca invite`)",
                        ", or --ca, --certificate and --key, or --insecure on this machine alone"));
  }
  for (const auto& [option, file] :
       {std::pair{"--ca", &files.ca}, std::pair{"--certificate", &files.certificate},
        std::pair{"--key", &files.key}}) {
    if (file->empty()) {
      return Invalid(Text(option, " is missing: TLS needs all of --ca, --certificate and --key"));
    }
  }
  std::string warning;
  Result<Credentials> loaded = LoadCredentials(files, for_server, warning);
  if (!loaded) return loaded.error();
  if (!warning.empty()) warn(warning);
  return std::optional(*std::move(loaded));
}

}  // namespace metis::rpc
