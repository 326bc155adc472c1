#include "apps/participant_options.h"

#include <CLI/CLI.hpp>

#include "apps/tls_options.h"
#include "apps/user_directories.h"

namespace metis::apps {

void AddParticipantOptions(CLI::App& app, site::ParticipantOptions& options) {
  app.add_option("--join", options.join, "The controller's HOST:PORT");
  app.add_option("--name", options.name,
                 "Who this is in the federation; default: the certificate's DNS name");
  app.add_option(
         "--enrol", options.enrol,
         "TOKEN, of `metis ca invite`, or @FILE that holds it: gets a certificate and joins;\n"
         "later starts find it, with the same --enrol or without")
      ->type_name("TOKEN");
  AddTlsOptions(app, options.tls);
  options.state.of_user = StatesOfUser();
  app.add_option("--state", options.state.named,
                 "Directory that numbers the lives of this participant and holds what it enrolled\n"
                 "with; default: one for each name and controller below ~/.local/state/metis");
}

}  // namespace metis::apps
