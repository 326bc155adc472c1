#include "metis/drivers/operator_command.h"

#include <vector>

#include "metis/core/enum_name.h"
#include "metis/core/text.h"

namespace metis::drivers {
namespace {

using federation::Controller;
using federation::Member;
using federation::OperatorCommand;
using federation::Phase;

constexpr size_t kNamesListed = 20;

std::string Standing(const Controller& controller) {
  const auto phase = NameOf(controller.phase());
  const std::string& reason = controller.phase_reason();
  return Text("the federation is ", phase, reason.empty() ? "" : ": ", reason);
}

std::string AfterTheEnd(const Controller& controller) {
  return Text("the federation has finished (", controller.phase_reason(),
              "), and its community stays version ", controller.version());
}

Error Unknown(const Controller& controller, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [learner, member] : controller.membership().all()) {
    if (member.trains()) names.push_back(member.declared.name);
  }
  const std::string nearest = Nearest(name, names);
  std::string known = names.empty() ? "nobody has joined" : "those who ever joined: ";
  if (names.size() > kNamesListed) {
    const size_t rest = names.size() - kNamesListed;
    names.resize(kNamesListed);
    names.push_back(Text("and ", rest, " more (`metis status` lists them)"));
  }
  return NotFound(Text("no learner is called \"", name, "\"",
                       nearest.empty() ? Text(" (", known, Join(names), ")")
                                       : Text(": did you mean ", nearest, "?")));
}

Result<CommandPlan> PlanWithdrawal(const Controller& controller, const std::string& name) {
  if (Result<void> able = controller.Withdrawable(); !able) return able.error();
  for (const auto& [learner, member] : controller.membership().all()) {
    if (member.declared.name != name || !member.trains()) continue;
    if (controller.aggregator().contribution(learner)) {
      return CommandPlan{OperatorCommand{OperatorCommand::Kind::kWithdraw, learner}, {}};
    }
    return CommandPlan{
        std::nullopt,
        Text(name, " has no model in the community, which stays version ", controller.version())};
  }
  return Unknown(controller, name);
}

std::string Withdrawn(const Controller& controller, LearnerId learner) {
  const Member& member = *controller.membership().Find(learner);
  const std::string& name = member.declared.name;
  return Text(name, "'s model is out of the community: version ", controller.version(),
              member.live() ? Text(". ", name,
                                   " still takes part, and its next update puts a model "
                                   "in again: stop it, or revoke its certificate, to "
                                   "keep it out")
                            : "");
}

}  // namespace

Result<CommandPlan> PlanCommand(const Controller& controller, OperatorCommand::Kind kind,
                                const std::string& name) {
  const bool withdraws = kind == OperatorCommand::Kind::kWithdraw;
  if (controller.phase() == Phase::kFinished) {
    return CommandPlan{std::nullopt, AfterTheEnd(controller)};
  }
  if (withdraws) return PlanWithdrawal(controller, name);
  const bool paused = controller.operator_paused();
  if (kind == OperatorCommand::Kind::kPause && paused) {
    return CommandPlan{std::nullopt, Text("it was paused already; ", Standing(controller))};
  }
  if (kind == OperatorCommand::Kind::kResume && !paused) {
    return CommandPlan{std::nullopt, Text("no operator had paused it; ", Standing(controller))};
  }
  return CommandPlan{OperatorCommand{kind, LearnerId()}, {}};
}

Result<Commanded> OutcomeOf(const Controller& controller, const OperatorCommand& command) {
  Commanded outcome{{}, controller.version()};
  switch (command.kind) {
    case OperatorCommand::Kind::kPause:
      outcome.message = controller.phase() == Phase::kWaiting
                            ? "paused: it will not begin before it is resumed"
                            : "paused: updates are still taken in, their commits wait";
      break;
    case OperatorCommand::Kind::kResume:
      outcome.message = Text("resumed; ", Standing(controller));
      break;
    case OperatorCommand::Kind::kStop:
      outcome.message = Text("stopped: the federation has finished with version ",
                             controller.version(), "; its participants are told and end");
      break;
    case OperatorCommand::Kind::kWithdraw:
      if (controller.aggregator().contribution(command.learner)) {
        return Unavailable(Text("the model of ",
                                controller.membership().Find(command.learner)->declared.name,
                                " could not be taken out, and the community stays as it is: what "
                                "the controller says (`metis status`) has the reason"));
      }
      outcome.message = Withdrawn(controller, command.learner);
      break;
  }
  return outcome;
}

}  // namespace metis::drivers
