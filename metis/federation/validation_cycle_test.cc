#include "metis/federation/validation_cycle.h"

#include <gtest/gtest.h>

namespace metis::federation {
namespace {}  // namespace
}  // namespace metis::federation
