#include "metis/federation/protocol.h"

#include "metis/core/check.h"

namespace metis::federation {

std::unique_ptr<Protocol> MakeProtocol(const ProtocolParts& parts) {
  switch (parts.settings.policy.protocol) {
    case ProtocolKind::kSynchronous:
      return MakeSyncProtocol(parts);
    case ProtocolKind::kAsynchronous:
      return MakeAsyncProtocol(parts);
    case ProtocolKind::kFedAsync:
      return MakeFedAsyncProtocol(parts);
  }
  METIS_CHECK(false);
}

}  // namespace metis::federation
