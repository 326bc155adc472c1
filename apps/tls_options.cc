#include "apps/tls_options.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <utility>

#include "metis/core/text.h"

namespace metis::apps {

void AddTlsOptions(CLI::App& app, TlsOptions& options) {
  app.add_option("--ca", options.files.ca, "PEM file: whom to believe");
  app.add_option("--certificate", options.files.certificate,
                 "PEM file: who this is (its DNS name is the name in the federation)");
  app.add_option("--key", options.files.key, "PEM file: the certificate's private key");
  app.add_flag("--insecure", options.insecure,
               "No certificates, everything in the clear: on this machine alone");
}

Result<std::optional<rpc::Credentials>> LoadTls(const TlsOptions& options, bool for_server,
                                                const std::string& host) {
  const rpc::TlsFiles& files = options.files;
  const bool any = !files.ca.empty() || !files.certificate.empty() || !files.key.empty();
  if (options.insecure) {
    if (any) return Invalid("--insecure and certificates exclude each other: leave one out");
    if (!rpc::IsLoopback(host)) {
      return Invalid(Text("--insecure is for this machine alone (127.0.0.1, localhost), and ", host,
                          " is another or can be reached from others: give ",
                          for_server ? "--authority" : "--enrol", ", or --ca, --certificate and ",
                          "--key"));
    }
    return std::optional<rpc::Credentials>();
  }
  if (!any) {
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
  Result<rpc::Credentials> loaded = rpc::LoadCredentials(files, for_server, warning);
  if (!loaded) return loaded.error();
  if (!warning.empty()) std::cerr << "metis: " << warning << "\n";
  return std::optional(*std::move(loaded));
}

}  // namespace metis::apps
