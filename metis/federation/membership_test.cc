#include "metis/federation/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kSchema = 4711;

LearnerJoined Joining(uint32_t learner, uint32_t life = 1) {
  LearnerJoined event;
  event.learner = LearnerId(learner);
  event.incarnation = Incarnation(life);
  event.training_examples = TrainingExamples(learner);
  event.validation_counts = ValidationCounts(learner);
  event.schema_hash = kSchema;
  return event;
}

class MembershipTest : public testing::Test {
 protected:
  Membership::Joined Join(const LearnerJoined& event) { return *membership_.Join(event); }
  void ExpectRefused(const LearnerJoined& event, std::string_view message) {
    size_t before = membership_.all().size();
    Result<Membership::Joined> joined = membership_.Join(event);
    ASSERT_FALSE(joined.ok());
    EXPECT_THAT(joined.error().message, HasSubstr(std::string(message)));
    EXPECT_EQ(membership_.all().size(), before);
  }
  Membership membership_{4, kSchema};
};

TEST_F(MembershipTest, TellsNewReturnedRepeatedAndNewLivesApart) {
  EXPECT_EQ(Join(Joining(2)), Membership::Joined::kNew);
  EXPECT_EQ(Join(Joining(2)), Membership::Joined::kRepeated);
  membership_.Find(LearnerId(2))->presence = Presence::kLost;
  EXPECT_EQ(Join(Joining(2)), Membership::Joined::kReturned);
  membership_.Find(LearnerId(2))->verdict.sequence = Sequence(8);
  EXPECT_EQ(Join(Joining(2, 5)), Membership::Joined::kNewLife);
  EXPECT_EQ(membership_.Find(LearnerId(2))->verdict.sequence, Sequence(0));
  ExpectRefused(Joining(2, 4), "running twice");
}

TEST_F(MembershipTest, FindsAMemberInItsPresentLifeOnly) {
  Join(Joining(2, 3));
  EXPECT_NE(membership_.Find(LearnerId(2), Incarnation(3)), nullptr);
  EXPECT_EQ(membership_.Find(LearnerId(2), Incarnation(2)), nullptr);
  EXPECT_EQ(membership_.Find(LearnerId(1), Incarnation(3)), nullptr);
}

TEST_F(MembershipTest, RefusesAnotherSchemaNamingBoth) {
  LearnerJoined event = Joining(1);
  event.schema_hash = 4712;
  ExpectRefused(event, "another model");
}

TEST_F(MembershipTest, RefusesAValidationSetOfOtherClasses) {
  Join(Joining(0));
  EXPECT_EQ(membership_.form().parts, 2u);
  LearnerJoined event = Joining(1);
  event.validation_counts = {3, 4, 5};
  ExpectRefused(event, "3 classes");
  event.validation_counts = {};  // none at all is fine
  EXPECT_EQ(Join(event), Membership::Joined::kNew);
}

TEST_F(MembershipTest, ALearnerWithoutAValidationSetLeavesTheClassesOpen) {
  LearnerJoined event = Joining(0);
  event.validation_counts = {};
  Join(event);
  EXPECT_FALSE(membership_.form().known());
  event = Joining(1);
  event.validation_counts = {1, 2, 3};
  Join(event);
  EXPECT_EQ(membership_.form().parts, 3u);
}

TEST_F(MembershipTest, RefusesAnotherKindOfValidationSetNamingBothAndTheWayOut) {
  Join(Joining(0));
  LearnerJoined event = Joining(1);
  event.validation_counts = RegressionSums::Declaration{9};
  ExpectRefused(event,
                "participant 1 declares a validation set of regression, participant 0 one of "
                "classification: a federation has one task");
  event.role = Role::kObserver;
  ExpectRefused(event, "regression");
  ExpectRefused(
      [] {
        LearnerJoined later = Joining(0, 2);  // alone, but the others' statistics are of classes
        later.validation_counts = RegressionSums::Declaration{9};
        return later;
      }(),
      "learner 0 has a validation set of regression, the others have one of classification");
}

TEST_F(MembershipTest, ALearnerIsRefusedWhereAnObserverHasDeclaredAnotherKind) {
  LearnerJoined observer = Joining(3);
  observer.role = Role::kObserver;
  Join(observer);
  LearnerJoined event = Joining(1);
  event.validation_counts = RegressionSums::Declaration{9};
  ExpectRefused(event, "participant 3 one of classification");
}

TEST_F(MembershipTest, AFederationOfRegressionHasItsOwnForm) {
  for (uint32_t k : {2u, 0u}) {
    LearnerJoined event = Joining(k);
    event.validation_counts = RegressionSums::Declaration{ValidationExamples(k)};
    Join(event);
  }
  EXPECT_EQ(membership_.form().kind, "regression");
  ExpectRefused(Joining(1), "classification");
  LearnerJoined huge = Joining(1);
  huge.validation_counts = RegressionSums::Declaration{(uint64_t{1} << 32) + 1};
  ExpectRefused(huge, "2^32");
}

TEST_F(MembershipTest, RefusesNumbersOfExamplesThatNobodyHas) {
  LearnerJoined event = Joining(1);
  event.training_examples = (uint64_t{1} << 30) + 1;
  ExpectRefused(event, "2^30");
  event = Joining(1);
  event.validation_counts = {uint64_t{1} << 31, (uint64_t{1} << 31) + 1};
  ExpectRefused(event, "2^32");
  event.validation_counts = {UINT64_MAX, 2};  // which wraps around to 1
  ExpectRefused(event, "2^32");
}

TEST_F(MembershipTest, RefusesOneMoreThanItHasRoomForButNotANewLife) {
  for (uint32_t k = 0; k < 4; ++k) Join(Joining(k));
  ExpectRefused(Joining(4), "max_learners = 4");
  EXPECT_EQ(Join(Joining(3, 2)), Membership::Joined::kNewLife);
}

// A learner that could become an observer would hold its round for ever.
TEST_F(MembershipTest, RefusesAChangeOfRole) {
  Join(Joining(1));
  LearnerJoined event = Joining(1, 2);
  event.role = Role::kObserver;
  ExpectRefused(event, "role");
}

TEST_F(MembershipTest, CountsLiveLearnersAndTheLargestTrainingSet) {
  for (uint32_t k : {3u, 0u, 2u}) Join(Joining(k));
  LearnerJoined observer = Joining(1);
  observer.role = Role::kObserver;
  observer.training_examples = 1'000'000;  // it does not train
  Join(observer);
  membership_.Find(LearnerId(3))->presence = Presence::kLeft;
  EXPECT_THAT(membership_.LiveLearners(), ElementsAre(LearnerId(0), LearnerId(2)));
  EXPECT_EQ(membership_.live_learners(), 2u);
  EXPECT_EQ(membership_.learners(), 3u);
  EXPECT_EQ(membership_.LiveObserver(), LearnerId(1));
  EXPECT_EQ(membership_.largest_training_set(), TrainingExamples(3));
}

}  // namespace
}  // namespace metis::federation
