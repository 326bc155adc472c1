// FedAsync, for comparison: every update is mixed into the community model at once, and its learner
// gets the result. How much of it, aggregator_mix.cc says.
#include "metis/policy/immediate_protocol.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::Settings;

federation::ProtocolPart Describe() {
  federation::ProtocolPart part;
  part.name = "fedasync";
  part.help = "as asynchronous, but mixed by staleness alone (FedAsync), for comparison";
  part.aggregator = "mix";
  part.proximal = 0.005;  // its rho
  part.make = [](const Settings&) { return std::make_unique<ImmediateProtocol>(); };
  part.expect = [](const Settings&) { return std::make_unique<ImmediateOracle>(); };
  return part;
}

}  // namespace

const federation::ProtocolPart& FedAsyncProtocol() {
  static const auto* part = new federation::ProtocolPart(Describe());
  return *part;
}

}  // namespace metis::policy
