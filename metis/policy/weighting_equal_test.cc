#include <gtest/gtest.h>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::CommunityCommitted;
using federation::Harness;
using federation::Settings;
using federation::Values;

TEST(EqualWeighting, WeighsEveryLearnerTheSameAndAsksNobody) {
  const MadeUpCandidate made_up;
  const auto weighting = EqualWeighting().make({});
  EXPECT_EQ(EqualWeighting().evaluation, nullptr);
  for (uint64_t examples : {0u, 137u, 5000u}) EXPECT_EQ(weighting->Weigh(made_up.Of(examples)), 1);
  EXPECT_EQ(weighting->LargestContribution(made_up.membership()), 1);
  EXPECT_EQ(EqualWeighting().expect({}, {}), 1);
}

TEST(EqualWeighting, ARoundIsThePlainMeanOfUnequalLearners) {
  Settings settings = federation::SettingsFor("sync-fedavg", 2);
  settings.policy = With(settings.policy, "weighting", "equal");
  Harness h(settings);
  h.JoinAll();
  h.Update(0, 1, -1);
  h.Update(1, 1, 4);
  const auto commit = h.One<CommunityCommitted>();
  EXPECT_EQ(commit.total_contribution, 2);
  EXPECT_EQ(Values(commit.model), Values(h.models().From(1.5f)));
}

}  // namespace
}  // namespace metis::policy
