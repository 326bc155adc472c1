// --join, --name, --enrol, --state and the certificates: the same for learners and observers.
#pragma once

#include "metis/site/participant.h"

namespace CLI {
class App;
}

namespace metis::apps {

void AddParticipantOptions(CLI::App& app, site::ParticipantOptions& options);

}  // namespace metis::apps
