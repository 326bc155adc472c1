#include "metis/config/checks.h"

#include <gtest/gtest.h>

#include "metis/config/testing.h"
#include "metis/policy/policy.h"

namespace metis::config {
namespace {

// The only complaint about `text`; "" if there is none.
TEST(Conflicts, TheDefaultsHaveNone) { EXPECT_TRUE(FindConflicts(DefaultConfig()).empty()); }

TEST(Conflicts, TrainingStartsWithNoMoreThanAreExpected) {
  EXPECT_EQ(
      Complaint("[federation]\nstart_with = 11\n"),
      "federation.toml:2: start_with = 11 is more than learners = 10: training would never start; "
      "use 0 to wait for all");
  EXPECT_EQ(Complaint("[federation]\nstart_with = 10\n"), "");
}

TEST(Conflicts, TheQuorumIsNoMoreThanAreExpected) {
  EXPECT_EQ(Complaint("[federation]\nlearners = 4\nquorum = 5\n"),
            "federation.toml:3: quorum = 5 is more than learners = 4: the federation would always "
            "be paused");
}

TEST(Conflicts, AllThatAreExpectedAndAnObserverMayJoin) {
  EXPECT_EQ(
      Complaint("[federation]\nlearners = 40\nmax_learners = 30\n"),
      "federation.toml:2: learners = 40 and an observer are more than max_learners = 30: raise "
      "max_learners to 41");
  EXPECT_NE(Complaint("[federation]\nlearners = 40\nmax_learners = 40\n"), "");
  EXPECT_EQ(Complaint("[federation]\nlearners = 40\nmax_learners = 41\n"), "");
}

TEST(Conflicts, SumsOfAllLearnersCannotOverflow) {
  EXPECT_EQ(Complaint("[federation]\nmax_learners = 2000\n"),
            "federation.toml:2: max_parameter = 8192 times max_learners = 2000 must stay below "
            "2^23 = 8388608, "
            "or sums could overflow: for 2000 learners max_parameter must be below 4194.304");
  EXPECT_EQ(Complaint("[federation]\nmax_learners = 2000\nmax_parameter = 4194.3\n"), "");
  EXPECT_NE(Complaint("[federation]\nmax_learners = 1024\n"), "") << "2^23 itself is too much";
}

TEST(Conflicts, HeartbeatsAreMoreFrequentThanLossesAndLossesThanLeases) {
  EXPECT_EQ(Complaint("[membership]\nsilence = \"10s\"\n"),
            "federation.toml:2: heartbeat = \"10s\" must be shorter than silence = \"10s\", "
            "or learners are lost between two heartbeats");
  EXPECT_EQ(Complaint("[membership]\nlease = \"60s\"\n"),
            "federation.toml:2: lease = \"1min\" must be longer than silence = \"1min\"");
}

TEST(Conflicts, ASingleLearnerMustCountItsOwnValidation) {
  EXPECT_EQ(
      Complaint("[federation]\nlearners = 1\n[validation]\ncount_own_validation = false\n"),
      "federation.toml:4: count_own_validation = false leaves no evaluator for a single learner");
  EXPECT_EQ(Complaint("[federation]\nlearners = 1\npolicy = \"async-fedavg\"\n"
                      "[validation]\ncount_own_validation = false\n"),
            "");
}

TEST(Conflicts, RoundsAreSynchronous) {
  EXPECT_EQ(Complaint("[stop]\nrounds = 200\n"),
            "federation.toml:2: rounds = 200 is for the protocol \"synchronous\": use requests to "
            "bound commits");
  EXPECT_EQ(Complaint("[federation]\npolicy = \"sync-dvw\"\n[stop]\nrounds = 200\n"), "");
}

TEST(Conflicts, AccuracyEndsARunOnlyIfItIsTestedBefore) {
  EXPECT_EQ(Complaint("[stop]\nduration = \"1min\"\npatience = 2\n[test]\nevery = \"2min\"\n"),
            "federation.toml:5: every = \"2min\" is longer than the duration \"1min\": "
            "target_accuracy and patience would never be tested");
  Config config = DefaultConfig();
  config.federation.stop.target_accuracy = 0.9;
  config.federation.test = {};
  ASSERT_EQ(FindConflicts(config).size(), 1u);
  EXPECT_EQ(FindConflicts(config)[0].message,
            "target_accuracy and patience need tests: set every or every_commits in [test]");
}

TEST(Conflicts, GroupsAddUpToTheLearners) {
  EXPECT_EQ(Complaint("[federation]\nlearners = 9\n[[group]]\nname = \"fast\"\nlearners = 4\n"
                      "[[group]]\nname = \"slow\"\nlearners = 3\n"),
            "federation.toml:5: the groups have 7 learners (4 fast, 3 slow), but [federation] "
            "learners = 9: "
            "change one, or leave out a group's learners to give it the rest");
}

TEST(Conflicts, GroupsHaveDifferentNames) {
  EXPECT_EQ(Complaint("[[group]]\nname = \"fast\"\n[[group]]\nname = \"fast\"\n"),
            "federation.toml:4: there are two groups with the name \"fast\": rename one");
}

TEST(Conflicts, ThresholdsAreOfGroupsThatExist) {
  Config config = DefaultConfig();
  policy::SetOfGroup(config.federation, "fats", "trigger.vc_tombstones", 1);
  ASSERT_EQ(FindConflicts(config).size(), 1u);
  EXPECT_EQ(
      FindConflicts(config)[0].message,
      "there are thresholds for a group \"fats\", which does not exist: did you mean \"fast\"? "
      "(groups: fast, slow)");
}

TEST(Conflicts, ClassListsAreForAllLearners) {
  EXPECT_EQ(Complaint("[data]\nclasses = \"noniid:8x1,4x1,3x7\"\n"),
            "federation.toml:2: classes = \"noniid:8x1,4x1,3x7\" is for 9 learners, but "
            "[federation] learners "
            "= 10: the numbers after the x must add up to it");
  EXPECT_EQ(Complaint("[data]\nclasses = \"noniid:8x1,4x1,3x8\"\n"), "");
  EXPECT_EQ(Complaint("[data]\nclasses = \"noniid:3\"\n"), "");
}

TEST(Conflicts, NoLearnerHoldsMoreClassesThanThereAre) {
  EXPECT_EQ(
      Complaint("[data]\nclasses = \"noniid:11\"\n"),
      "federation.toml:2: classes = \"noniid:11\" gives a learner 11 classes, but the data has 10");
  EXPECT_EQ(Complaint("[data]\ndataset = \"cifar100\"\nclasses = \"noniid:50\"\n"), "");
  EXPECT_EQ(
      Complaint("[data]\ndataset = \"emnist-byclass\"\nclasses = \"noniid:63\"\n"),
      "federation.toml:3: classes = \"noniid:63\" gives a learner 63 classes, but the data has 62");
  EXPECT_EQ(Complaint("[data]\ndataset = \"own.npz\"\nclasses = \"noniid:63\"\n"), "")
      << "a file says how many classes it has once it is read";
}

TEST(Conflicts, EveryLearnerHasAnExample) {
  EXPECT_EQ(Complaint("[builtin]\ntraining_examples = 9\n"),
            "federation.toml:2: training_examples = 9 is fewer than learners = 10: "
            "every learner needs at least one (or name real data: dataset)");
}

TEST(Conflicts, BuiltInDataAreJudgedOnlyWhereTheyAreUsed) {
  constexpr const char* kMany =
      "[federation]\nlearners = 7000\nmax_learners = 7001\nmax_parameter = 1000\n";
  EXPECT_NE(Complaint(kMany), "");
  EXPECT_EQ(Complaint(std::string(kMany) + "[data]\ndataset = \"emnist-byclass\"\n"), "");
}

TEST(Conflicts, AnEpochEndsWithinACentury) {
  EXPECT_EQ(Complaint("[training]\nbatch_size = 1\n[[group]]\nname = \"slow\"\n"
                      "batch_time = \"365d\"\n"),
            "federation.toml:5: batch_time = \"8760h\" of the group \"slow\" and batch_size = 1: "
            "an epoch "
            "over all 6000 examples would be longer than 100 years: lower batch_time, or raise "
            "batch_size");
  EXPECT_EQ(Complaint("[training]\nbatch_size = 2\n[[group]]\nname = \"slow\"\n"
                      "evaluation_batch_time = \"13d\"\n"),
            "federation.toml:5: evaluation_batch_time = \"312h\" of the group \"slow\" and "
            "batch_size = 2: "
            "an epoch over all 6000 examples would be longer than 100 years: lower "
            "evaluation_batch_time, or raise batch_size");
  EXPECT_EQ(Complaint("[training]\nbatch_size = 1\n[[group]]\nname = \"slow\"\n"
                      "batch_time = \"6d\"\n"),
            "");
  EXPECT_EQ(Complaint("[data]\ndataset = \"mnist\"\nexamples = 100\n[training]\nbatch_size = 1\n"
                      "[[group]]\nname = \"slow\"\nbatch_time = \"365d\"\n"),
            "");
}

}  // namespace
}  // namespace metis::config
