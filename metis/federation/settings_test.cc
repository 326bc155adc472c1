#include "metis/federation/settings.h"

#include <gtest/gtest.h>

namespace metis::federation {
namespace {

TEST(Settings, EveryRowOfThePapersTableHasItsPolicy) {
  using P = ProtocolKind;
  using W = WeightingKind;
  using T = TriggerKind;
  EXPECT_EQ(PolicyNamed("sync-fedavg"),
            (Policy{P::kSynchronous, W::kTrainingExamples, T::kEpochs}));
  EXPECT_EQ(PolicyNamed("sync-dvw"), (Policy{P::kSynchronous, W::kValidation, T::kEpochs}));
  EXPECT_EQ(PolicyNamed("async-fedavg"),
            (Policy{P::kAsynchronous, W::kTrainingExamples, T::kEpochs}));
  EXPECT_EQ(PolicyNamed("fedasync"), (Policy{P::kFedAsync, W::kTrainingExamples, T::kEpochs}));
  EXPECT_EQ(PolicyNamed("async-dvw"), (Policy{P::kAsynchronous, W::kValidation, T::kEpochs}));
  EXPECT_EQ(PolicyNamed("async-dvw-adaptive"),
            (Policy{P::kAsynchronous, W::kValidation, T::kAdaptive}));
}

TEST(Settings, PolicyNamesReadBack) {
  for (std::string_view name : kPolicyNames) EXPECT_EQ(NameOf(*PolicyNamed(name)), name);
  EXPECT_EQ(PolicyNamed("sync-fedavgs"), std::nullopt);
  EXPECT_EQ(PolicyNamed(""), std::nullopt);
}

TEST(Settings, ACombinationWithoutARowIsCustom) {
  EXPECT_EQ(
      NameOf({ProtocolKind::kSynchronous, WeightingKind::kValidation, TriggerKind::kAdaptive}),
      "custom");
}

TEST(Settings, AValidationSetIsNeededByDvwAndByTheAdaptiveTrigger) {
  EXPECT_FALSE(NeedsValidationSet(*PolicyNamed("sync-fedavg")));
  EXPECT_FALSE(NeedsValidationSet(*PolicyNamed("fedasync")));
  EXPECT_TRUE(NeedsValidationSet(*PolicyNamed("sync-dvw")));
  EXPECT_TRUE(NeedsValidationSet(
      {ProtocolKind::kAsynchronous, WeightingKind::kTrainingExamples, TriggerKind::kAdaptive}));
}

TEST(Settings, DefaultsAreThePapers) {
  Settings settings;
  EXPECT_EQ(settings.trigger.local_epochs, 4u);
  EXPECT_EQ(settings.fedasync.alpha, 0.5);
  EXPECT_EQ(settings.fedasync.staleness_exponent, 0.5);
  EXPECT_EQ(settings.trigger.staleness_window, 20u);
  EXPECT_EQ(settings.validation.min_coverage, 2.0 / 3);
  EXPECT_TRUE(settings.validation.count_own);
  EXPECT_LT(settings.max_parameter * settings.membership.max_learners, 0x1p23);
}

}  // namespace
}  // namespace metis::federation
