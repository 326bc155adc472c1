#include "metis/federation/settings.h"

#include "metis/federation/part.h"

namespace metis::federation {

bool NeedsValidationSet(const Policy& policy) {
  return policy.weighting->evaluation != nullptr || policy.trigger->watches_loss;
}

}  // namespace metis::federation
