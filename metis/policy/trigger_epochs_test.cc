#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "metis/federation/validation_cycle.h"
#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

using federation::CycleReason;
using federation::Settings;
using federation::ValidationCycle;
using testing::IsEmpty;

ValidationCycle After(uint32_t epochs) {
  Settings settings;
  Set(settings, "trigger.local_epochs", epochs);
  return ValidationCycle(EpochsTrigger().make(settings, ""));
}

TEST(EpochsTrigger, AsksAfterExactlyUfEpochs) {
  ValidationCycle cycle = After(3);
  for (uint64_t number : {1u, 2u}) {
    EXPECT_EQ(AsksAt(cycle, {1, 5, 0.1, 7, 9}), 3u);  // whatever the losses do
    EXPECT_EQ(cycle.record().cycle, number);
    EXPECT_EQ(cycle.record().epochs, 3u);
    EXPECT_EQ(cycle.record().reason, CycleReason::kEpochs);
  }
}

TEST(EpochsTrigger, WithoutAValidationSetNoLossesAreRecorded) {
  ValidationCycle cycle = After(2);
  EXPECT_EQ(AsksAt(cycle, {kNan, kNan, kNan}), 2u);
  EXPECT_THAT(cycle.record().losses, IsEmpty());
}

TEST(EpochsTrigger, IgnoresStaleness) {
  ValidationCycle cycle = After(2);
  EXPECT_EQ(AsksAt(cycle, {1, 1, 1}), 2u);
  cycle.Begin(1);
  EXPECT_FALSE(cycle.EpochEnded(1, 1'000'000));
}

TEST(EpochsTrigger, ItsOracleExpectsTheSame) {
  Settings settings;
  Set(settings, "trigger.local_epochs", 3);
  federation::CycleFacts facts;
  for (uint32_t epochs : {1u, 2u, 3u}) {
    facts.record.epochs = epochs;
    EXPECT_EQ(EpochsTrigger().expect(settings, facts).has_value(), epochs == 3);
  }
}

TEST(EpochsTrigger, SaysWhatItDoesInWords) {
  Settings settings;
  EXPECT_EQ(EpochsTrigger().in_words(settings), "after 4 local epochs");
  Set(settings, "trigger.local_epochs", 1);
  EXPECT_EQ(EpochsTrigger().in_words(settings), "after 1 local epoch");
  EXPECT_EQ(EpochsTrigger().fixed_epochs(settings), 1u);
}

}  // namespace
}  // namespace metis::policy
