#include "apps/tls_options.h"

#include <CLI/CLI.hpp>

namespace metis::apps {

void AddTlsOptions(CLI::App& app, rpc::TlsOptions& options) {
  app.add_option("--ca", options.files.ca, "PEM file: whom to believe");
  app.add_option("--certificate", options.files.certificate,
                 "PEM file: who this is (its DNS name is the name in the federation)");
  app.add_option("--key", options.files.key, "PEM file: the certificate's private key");
  app.add_flag("--insecure", options.insecure,
               "No certificates, everything in the clear: on this machine alone");
}

}  // namespace metis::apps
