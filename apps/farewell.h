// The end of a federation over the network, as the controller's program sees it: everybody who
// takes part hears of it before the program goes.
#pragma once

#include <functional>
#include <string>

#include "apps/interrupts.h"
#include "metis/core/time.h"
#include "metis/drivers/processes.h"
#include "metis/rpc/controller_server.h"

namespace metis::apps {

// Waits up to `silence` while somebody may not have heard of the end: who is away, or connected and
// has not hung up. An interrupt ends the wait; a longer one is said.
void SayFarewell(drivers::ControllerProcess& host, const rpc::ControllerServer& server,
                 Duration silence, const Interrupts& interrupts,
                 const std::function<void(const std::string&)>& say);

}  // namespace metis::apps
