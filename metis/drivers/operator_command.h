// What an operator asks of a federation, in words either way: whether there is anything to do, and
// what came of it. Pure functions of the controller's state; the loop that owns it calls them.
#pragma once

#include <optional>
#include <string>

#include "metis/core/ids.h"
#include "metis/core/result.h"
#include "metis/federation/controller.h"
#include "metis/federation/event.h"

namespace metis::drivers {

// What came of a command.
struct Commanded {
  std::string message;
  Version version;  // of the community, afterwards
};

struct CommandPlan {
  std::optional<federation::OperatorCommand> command;  // empty: it is so already
  std::string message;                                 // then: what is so
};

// `name` is the learner's of a withdrawal. An error: nobody has that name, or the protocol keeps no
// learner's model apart.
Result<CommandPlan> PlanCommand(const federation::Controller& controller,
                                federation::OperatorCommand::Kind kind, const std::string& name);

// Once the command of a plan was handled. An error: a model that cannot be read cannot be taken
// out.
Result<Commanded> OutcomeOf(const federation::Controller& controller,
                            const federation::OperatorCommand& command);

}  // namespace metis::drivers
