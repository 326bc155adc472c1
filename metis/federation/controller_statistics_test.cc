// A federation whose task is not classification: the controller pools, checks and scores what it
// does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/part.h"
#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

using testing::HasSubstr;

class WeighedByR2 final : public Weighting {
 public:
  std::optional<double> Weigh(const Candidate& candidate) const override {
    return *candidate.evaluation.pooled.Score(Metric::kR2);
  }
  double LargestContribution(const Membership&) const override { return 1; }
  Result<void> Suits(const Declared& validation_set) const override {
    return validation_set.CheckMetric(Metric::kR2);
  }
};

// As the weighting by validation, with a metric of its own.
Settings Regression(std::string_view policy, uint32_t learners) {
  Settings settings = SettingsFor(policy, learners);
  static const WeightingPart& part = [&]() -> const WeightingPart& {
    auto* made = new WeightingPart(*settings.policy.weighting);
    made->make = [](const Settings&) { return std::make_unique<WeighedByR2>(); };
    return *made;
  }();
  settings.policy.weighting = &part;
  return settings;
}

// Targets 0, 1, 2, ... and an error in each: unequal for every learner.
RegressionSums SumsOf(uint64_t examples, double error) {
  RegressionSums sums;
  for (uint64_t i = 0; i < examples; ++i) {
    EXPECT_TRUE(sums.Count(static_cast<double>(i), static_cast<double>(i) + error));
  }
  return sums;
}

class RegressionFederation : public testing::Test {
 protected:
  explicit RegressionFederation(std::string_view policy = "async-dvw") : h_(Regression(policy, 3)) {
    for (uint32_t k = 0; k < 3; ++k) h_.Send(Joining(k));
  }
  LearnerJoined Joining(uint32_t learner, Incarnation life = kFirstLife) const {
    LearnerJoined event = h_.Joining(learner, life);
    event.validation_counts = RegressionSums::Declaration{ValidationExamples(learner)};
    return event;
  }
  void Update(uint32_t learner, uint64_t sequence, float value) {
    UpdateReceived update = h_.Updating(learner, sequence, value);
    update.own_counts = SumsOf(ValidationExamples(learner), 0.5);
    h_.Send(update);
  }
  void Answer(uint32_t evaluator, const UpdateId& update, const Statistics& statistics) {
    h_.Send(CountsReceived{LearnerId(evaluator), kFirstLife, update, statistics});
  }
  Statistics Pool(std::initializer_list<RegressionSums> parts) {
    Statistics pool;
    for (const RegressionSums& part : parts) EXPECT_TRUE(pool.Add(part));
    return pool;
  }

  Harness h_;
};

TEST_F(RegressionFederation, WeighsUpdatesByThePooledSums) {
  Update(1, 1, 2);
  EXPECT_EQ(h_.Count<RequestEvaluation>(), 2u);
  Answer(0, h_.IdOf(1, 1), SumsOf(5, 1));
  Answer(2, h_.IdOf(1, 1), SumsOf(11, -0.75));
  const CommittedUpdate committed = h_.One<CommunityCommitted>().updates[0];
  EXPECT_EQ(committed.coverage, 1);
  EXPECT_EQ(committed.contribution,
            Pool({SumsOf(8, 0.5), SumsOf(5, 1), SumsOf(11, -0.75)}).Headline());
  EXPECT_GT(committed.contribution, 0.9);
  EXPECT_LT(committed.contribution, 1);
}

TEST_F(RegressionFederation, RefusesAForgedNumberOfExamples) {
  Update(1, 1, 2);
  Answer(0, h_.IdOf(1, 1), SumsOf(500, 0));
  EXPECT_THAT(h_.One<RefuseCounts>().message,
              HasSubstr("evaluator 0: regression sums of 500 examples, but 5 validation examples"));
  Answer(2, h_.IdOf(1, 1), SumsOf(11, 1));
  const CommittedUpdate committed = h_.One<CommunityCommitted>().updates[0];
  EXPECT_EQ(committed.coverage, 11.0 / 16);
  EXPECT_EQ(committed.contribution, Pool({SumsOf(8, 0.5), SumsOf(11, 1)}).Headline());
  UpdateReceived forged = h_.Updating(0, 1, 3);
  forged.own_counts = SumsOf(6, 0);
  h_.Send(forged);
  EXPECT_EQ(h_.One<RejectUpdate>().reason, RejectReason::kForgedCounts);
}

TEST_F(RegressionFederation, RefusesStatisticsOfAnotherKind) {
  Update(1, 1, 2);
  Answer(0, h_.IdOf(1, 1), CountsOf(ValidationCounts(0), 5));
  EXPECT_THAT(h_.One<RefuseCounts>().message,
              HasSubstr("statistics of classification, but a regression validation set"));
  Answer(2, h_.IdOf(1, 1), Statistics());
  EXPECT_THAT(h_.One<RefuseCounts>().message, HasSubstr("no statistics, but a regression"));
  EXPECT_EQ(h_.One<CommunityCommitted>().updates[0].coverage, 0);
}

TEST_F(RegressionFederation, RefusesALearnerOfClassificationWithTheWayOut) {
  const uint64_t before = h_.controller().StateHash();
  h_.Join(4);
  EXPECT_THAT(h_.One<RefuseJoin>().message,
              HasSubstr("participant 4 declares a validation set of classification, participant 0 "
                        "one of regression: a federation has one task; check the data"));
  h_.JoinObserver(9);
  EXPECT_THAT(h_.One<RefuseJoin>().message,
              HasSubstr("participant 9 declares a validation set of classification, participant 0 "
                        "one of regression: a federation has one task"));
  EXPECT_EQ(h_.controller().StateHash(), before);
}

TEST(ControllerStatistics, AMetricOfAnotherTaskIsRefusedAtJoiningAndNotWhereNobodyIsWeighedByIt) {
  Harness weighed(SettingsFor("async-dvw", 2));
  LearnerJoined event = weighed.Joining(0);
  event.validation_counts = RegressionSums::Declaration{7};
  weighed.Send(event);
  EXPECT_THAT(weighed.One<RefuseJoin>().message,
              HasSubstr("learner 0 cannot be weighed by this federation's metric: statistics of "
                        "regression have no metric \"micro-f1\": choose from r2"));
  Harness unweighed(SettingsFor("async-fedavg", 2));
  unweighed.Send(event);
  EXPECT_EQ(unweighed.Count<AcceptJoin>(), 1u);
}

TEST_F(RegressionFederation, TestsAreScoredByTheKindsOwnHeadline) {
  LearnerJoined observer = Joining(9);
  observer.role = Role::kObserver;
  observer.validation_counts = RegressionSums::Declaration{20};
  h_.Send(observer);
  Update(1, 1, 2);
  h_.Fire(TimerId::Kind::kEvaluation, 1);
  Settings settings = Regression("async-dvw", 1);
  settings.stop.target_accuracy = 0.9;
  Harness h(settings);
  h.Send(observer);
  h.Send(Joining(0));
  const auto request = h.One<RequestTest>();
  const auto tested = [&](const Statistics& statistics) {
    h.Send(CommunityTested{LearnerId(9), kFirstLife, request.version, statistics, 0.25});
  };
  tested(SumsOf(20, 1));
  EXPECT_EQ(h.controller().tests().best_accuracy(), SumsOf(20, 1).Headline());
  EXPECT_EQ(h.One<Finished>().reason, StopReason::kTargetAccuracy);
}

// With own sums, pooled ones and an evaluator that is still awaited in it.
TEST_F(RegressionFederation, SnapshotAndRestoreKeepTheSums) {
  Update(1, 1, 2);
  Answer(0, h_.IdOf(1, 1), SumsOf(5, 1));
  const Archived snapshot = h_.controller().Snapshot();
  MemoryModelStore store;
  Controller restored(h_.settings(), h_.initial(), h_.models().pool(), store);
  Result<void> read = restored.Restore(snapshot);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(restored.StateHash(), h_.controller().StateHash());
  EXPECT_EQ(restored.membership().form().kind, "regression");
  const CountsReceived last{LearnerId(2), kFirstLife, h_.IdOf(1, 1), SumsOf(11, -0.75)};
  std::vector<Action> out;
  restored.Handle(h_.now(), last, out);
  h_.Send(last);
  EXPECT_EQ(DescribeAll(out), DescribeAll(h_.actions()));
  EXPECT_EQ(h_.Count<CommunityCommitted>(), 1u);
  EXPECT_EQ(restored.StateHash(), h_.controller().StateHash());

  for (size_t size = 0; size < snapshot.bytes.size(); ++size) {
    MemoryModelStore other;
    Controller cut(h_.settings(), h_.initial(), h_.models().pool(), other);
    EXPECT_FALSE(cut.Restore({snapshot.bytes.substr(0, size), snapshot.models}));
  }
}

}  // namespace
}  // namespace metis::federation
