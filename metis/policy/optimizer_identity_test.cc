#include <gtest/gtest.h>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::Harness;
using federation::Values;

TEST(IdentityOptimizer, TheNextCommunityModelIsTheAggregateItself) {
  federation::Models models;
  const auto optimizer = IdentityOptimizer().make({}, models.pool());
  const ModelPtr aggregate = models.From(3);
  EXPECT_EQ(optimizer->Step(models.From(-8), aggregate), aggregate);
  EXPECT_EQ(IdentityOptimizer().expect({})->Step({1, 2}, {3, 5}), (std::vector<double>{3, 5}));
}

TEST(IdentityOptimizer, HasNoState) {
  federation::Models models;
  const auto optimizer = IdentityOptimizer().make({}, models.pool());
  BinaryWriter writer;
  optimizer->Save(writer);
  EXPECT_TRUE(writer.archived().bytes.empty());
}

// Otherwise every model would be in every snapshot twice.
TEST(IdentityOptimizer, ARestoredControllerTakesItsCommunityModelFromTheAggregate) {
  EXPECT_FALSE(IdentityOptimizer().keeps_model);
  for (const std::string_view policy : {"async-fedavg", "sync-fedavg", "fedasync"}) {
    SCOPED_TRACE(policy);
    Harness h(federation::SettingsFor(policy, 2));
    h.JoinAll();
    h.Update(0, 1, 3);
    h.Update(1, 1, -4);
    ASSERT_NE(Values(h.controller().community()), Values(h.initial()));
    Harness restored(h.settings());
    ASSERT_TRUE(restored.controller().Restore(h.controller().Snapshot()).ok());
    EXPECT_EQ(Values(restored.controller().community()), Values(h.controller().community()));
    EXPECT_EQ(restored.controller().StateHash(), h.controller().StateHash());
  }
}

}  // namespace
}  // namespace metis::policy
