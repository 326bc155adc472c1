// What an operator gets of a controller: what is known about its federation and its models, and
// the answers of its server to `metis status` and `metis export`. Free functions; the hooks are
// called by any thread and wait for nobody: a status is the latest published, a model is looked up
// on the controller's loop.
#pragma once

#include "metis/drivers/controller_host.h"
#include "metis/operations/status_board.h"
#include "metis/rpc/controller_server.h"
#include "metis/service/controller_setup.h"
#include "metis/store/model_file.h"

namespace metis::service {

// What of a Status stays the same while a controller runs.
operations::Status FactsOfStatus(const ControllerSetup& setup, const std::string& run);

// Of every model that it writes.
store::ModelFacts FactsOfModels(const ControllerSetup& setup);

// What the network knows of a federation.
operations::Surroundings SurroundingsOf(const rpc::ControllerServer& server);

// All of them outlive the hooks.
rpc::OperatorHooks MakeOperatorHooks(const operations::StatusBoard& board,
                                     drivers::ControllerHost& host, const ControllerSetup& setup);

}  // namespace metis::service
