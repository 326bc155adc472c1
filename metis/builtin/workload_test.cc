#include "metis/builtin/workload.h"

#include <gtest/gtest.h>

#include <numeric>

#include "metis/builtin/testing.h"

namespace metis::builtin {
namespace {

TEST(BuiltinWorkload, AllExamplesTrainWhereNoValidationSetIsNeeded) {
  auto workload = SmallWorkload(4, false);
  uint64_t all = 0;
  for (uint32_t k = 0; k < 4; ++k) {
    LearnerId learner(k);
    EXPECT_EQ(workload->MakeEvaluator(learner), nullptr);
    auto trainer = workload->MakeTrainer(learner);
    EXPECT_EQ(trainer->training_examples(),
              workload->partition().shares[learner.value()].examples.size());
    all += trainer->training_examples();
  }
  EXPECT_EQ(all, 180u);
}

TEST(BuiltinWorkload, AValidationSetIsTakenOutOfTheTrainingSet) {
  auto workload = SmallWorkload(4, true);
  uint64_t previous = 1000;
  for (uint32_t k = 0; k < 4; ++k) {
    LearnerId learner(k);
    auto evaluator = workload->MakeEvaluator(learner);
    ASSERT_NE(evaluator, nullptr);
    std::vector<uint64_t> validation = evaluator->declared().class_counts();
    std::vector<uint64_t> all = workload->class_counts(learner);
    uint64_t validated = std::accumulate(validation.begin(), validation.end(), uint64_t{0});
    uint64_t held = std::accumulate(all.begin(), all.end(), uint64_t{0});
    EXPECT_EQ(workload->MakeTrainer(learner)->training_examples() + validated, held);
    EXPECT_NEAR(static_cast<double>(validated), 0.2 * static_cast<double>(held), 2);
    EXPECT_LT(held, previous) << "learners are numbered from the largest share down";
    previous = held;
  }
}

TEST(BuiltinWorkload, TheTestSetIsCommon) {
  auto workload = SmallWorkload(3, false);
  std::vector<uint64_t> counts = workload->MakeTesters().front()->declared().class_counts();
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), 60u);
}

// The learner's model after one epoch.
uint64_t Trained(const BuiltinWorkload& workload, uint32_t learner) {
  auto trainer = workload.MakeTrainer(LearnerId(learner));
  EXPECT_TRUE(trainer->Load(workload.initial()).ok());
  EXPECT_TRUE(trainer->TrainEpoch({1, 1}, std::stop_token()).ok());
  return trainer->Snapshot().value()->Fingerprint();
}

TEST(BuiltinWorkload, TheSameSeedGivesTheSameTaskAndTraining) {
  auto once = SmallWorkload(3, true, 7);
  auto again = SmallWorkload(3, true, 7);
  auto other = SmallWorkload(3, true, 8);
  EXPECT_EQ(once->initial()->Fingerprint(), again->initial()->Fingerprint());
  EXPECT_NE(once->initial()->Fingerprint(), other->initial()->Fingerprint());
  for (uint32_t k = 0; k < 3; ++k) {
    EXPECT_EQ(once->class_counts(LearnerId(k)), again->class_counts(LearnerId(k)));
    EXPECT_EQ(Trained(*once, k), Trained(*again, k));
    EXPECT_NE(Trained(*once, k), Trained(*other, k));
  }
}

TEST(BuiltinWorkload, APartitionThatCannotBeMadeIsAnError) {
  data::PartitionSettings partition;
  partition.classes = data::ClassDistribution::kNonIid;
  partition.class_runs = {{.classes = 4, .learners = 0}};
  BuiltinData data{.classes = 3, .features = 2, .training_examples = 30, .test_examples = 3};
  EXPECT_FALSE(BuiltinWorkload::Create(data, partition, {}, 2, false, 1).ok());
}

}  // namespace
}  // namespace metis::builtin
