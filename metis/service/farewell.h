// The end of a federation over the network, as the controller's process sees it: everybody who
// takes part hears of it before the process goes. Any thread but the controller's loop.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "metis/core/time.h"
#include "metis/drivers/processes.h"
#include "metis/rpc/controller_server.h"

namespace metis::service {

// Waits up to `silence` while somebody may not have heard of the end: who is away, or connected and
// has not hung up. `stop` ends the wait; a longer one is said. Blocks.
void SayFarewell(drivers::ControllerProcess& host, const rpc::ControllerServer& server,
                 Duration silence, const std::stop_token& stop,
                 const std::function<void(const std::string&)>& say);

}  // namespace metis::service
