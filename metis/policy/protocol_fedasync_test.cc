#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FedAsyncProtocol, MixesWithAWeightThatFallsWithStaleness) {
  Settings settings = SettingsFor("fedasync", 3);
  policy::Set(settings, "fedasync.alpha", 0.6);
  policy::Set(settings, "fedasync.staleness_exponent", 0.5);
  Harness h(settings);
  h.JoinAll();
  double community = -1;  // the initial model's first parameter
  struct Step {
    uint32_t learner;
    uint64_t sequence;
    double value, staleness;
  };
  const Step script[] = {{0, 1, 2, 0}, {0, 2, 3, 0}, {1, 1, 7, 2}, {2, 1, -4, 3}, {0, 3, 1, 2}};
  for (const Step& step : script) {
    h.Update(step.learner, step.sequence, static_cast<float>(step.value));
    double alpha = 0.6 * std::pow(step.staleness + 1, -0.5);
    community = (1 - alpha) * community + alpha * step.value;
    auto note = h.One<CommunityCommitted>();
    EXPECT_NEAR(note.updates[0].contribution, alpha, 1e-12);
    EXPECT_EQ(note.updates[0].version_staleness, step.staleness);
    EXPECT_NEAR(note.model->parameters()[0], community, 1e-5);
    EXPECT_THAT(h.Receivers(), ElementsAre(step.learner));
  }
}

TEST(FedAsyncProtocol, WithExponentZeroEveryUpdateWeighsAlpha) {
  Settings settings = SettingsFor("fedasync", 2);
  policy::Set(settings, "fedasync.alpha", 0.25);
  policy::Set(settings, "fedasync.staleness_exponent", 0.0);
  Harness h(settings);
  h.JoinAll();
  h.Update(0, 1, 3);
  EXPECT_EQ(Values(h.controller().community()), Values(h.models().From(0)));
  h.Update(1, 1, 4);
  EXPECT_EQ(Values(h.controller().community()), Values(h.models().From(1)));
  EXPECT_EQ(h.controller().aggregator().contribution(LearnerId(1)), 0.25);
}

TEST(FedAsyncProtocol, AsksNoEvaluatorsWhateverTheWeighting) {
  Settings settings = SettingsFor("fedasync", 2);
  settings.policy = policy::With(settings.policy, "weighting", "validation");
  Harness h(settings);
  h.JoinAll();
  h.Update(0, 1, 3);
  EXPECT_EQ(h.Count<RequestEvaluation>(), 0u);
  EXPECT_EQ(h.Count<CommunityCommitted>(), 1u);
}

TEST(FedAsyncProtocol, NothingCanBeWithdrawnFromAMix) {
  Harness h(SettingsFor("fedasync", 2));
  h.JoinAll();
  h.Update(0, 1, 3);
  uint64_t before = h.controller().StateHash();
  h.Command(OperatorCommand::Kind::kWithdraw, 0);
  EXPECT_THAT(h.One<StateChanged>().reason, HasSubstr("none can be taken out"));
  EXPECT_EQ(h.controller().StateHash(), before);
}

TEST(FedAsyncProtocol, AnUpdateThatTheGateRefusesLeavesTheMix) {
  Harness h(SettingsFor("fedasync", 2));
  h.JoinAll();
  h.Update(0, 1, 1e30f);
  EXPECT_EQ(h.One<RejectUpdate>().reason, RejectReason::kGate);
  EXPECT_EQ(h.controller().community(), h.initial());
}

}  // namespace
}  // namespace metis::federation
