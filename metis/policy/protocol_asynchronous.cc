// The asynchronous protocol: every update renews the community at once, through the cache of latest
// models, and its learner gets the result. The other learners go on with what they have.
#include "metis/policy/immediate_protocol.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::Settings;

federation::ProtocolPart Describe() {
  federation::ProtocolPart part;
  part.name = "asynchronous";
  part.help =
      "every update renews the community model at once, and its learner continues from the result";
  part.aggregator = "sums";
  part.make = [](const Settings&) { return std::make_unique<ImmediateProtocol>(); };
  part.expect = [](const Settings&) { return std::make_unique<ImmediateOracle>(); };
  return part;
}

}  // namespace

const federation::ProtocolPart& AsynchronousProtocol() {
  static const auto* part = new federation::ProtocolPart(Describe());
  return *part;
}

}  // namespace metis::policy
