// What the laws expect of synchronous rounds, by hand-made commits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::policy {
namespace {

using testing::HasSubstr;

class SynchronousOracleTest : public testing::Test {
 protected:
  static federation::CommunityCommitted Commit(std::vector<uint32_t> learners, uint64_t version) {
    federation::CommunityCommitted commit;
    commit.version = Version(version);
    for (uint32_t k : learners) {
      commit.updates.emplace_back().id = {LearnerId(k), Incarnation(1), Sequence(1)};
    }
    return commit;
  }
  std::string Closed(std::vector<uint32_t> learners, uint64_t version) {
    return oracle()
        .Committed(Commit(learners, version), {LearnerId(0), LearnerId(1), LearnerId(2)}, now_)
        .value_or("");
  }
  static federation::RejectUpdate Rejected(uint32_t learner, federation::RejectReason reason,
                                           uint64_t sequence = 1) {
    return {{LearnerId(learner), Incarnation(1), Sequence(sequence)}, reason, ""};
  }

  // Made when it is first asked for: with the settings as they are then.
  federation::ProtocolOracle& oracle() {
    if (!oracle_) oracle_ = SynchronousProtocol().expect(settings_);
    return *oracle_;
  }

  federation::Settings settings_ = federation::SettingsFor("sync-fedavg", 3);
  std::unique_ptr<federation::ProtocolOracle> oracle_;
  Instant now_ = Instant() + Duration::Seconds(7);
};

TEST_F(SynchronousOracleTest, EveryLiveLearnerMustHaveReported) {
  EXPECT_EQ(Closed({0, 1, 2}, 1), "");
  EXPECT_THAT(Closed({0, 2}, 2), HasSubstr("round 2 closed without the live learner 1"));
}

TEST_F(SynchronousOracleTest, OnlyItsOwnDeadlineClosesARoundEarly) {
  policy::Set(settings_, "sync.round_deadline", Duration::Seconds(30));
  oracle().Runs({}, now_);
  now_ = now_ + Duration::Seconds(30);
  oracle().Fired({federation::TimerId::Kind::kRound, 1}, now_);
  EXPECT_EQ(Closed({2}, 1), "");
  oracle().Fired({federation::TimerId::Kind::kRound, 1}, now_ + Duration::Seconds(30));
  oracle().Fired({federation::TimerId::Kind::kEvaluation, 2}, now_ + Duration::Seconds(30));
  EXPECT_NE(Closed({2}, 2), "");
}

TEST_F(SynchronousOracleTest, ADeadlineThatComesTooEarlyClosesNothing) {
  policy::Set(settings_, "sync.round_deadline", Duration::Seconds(30));
  oracle().Runs({}, now_);
  oracle().Runs({}, Instant());  // after a pause
  oracle().Fired({federation::TimerId::Kind::kRound, 1}, now_ + Duration::Seconds(29));
  EXPECT_THAT(Closed({2}, 1), HasSubstr("round 1 closed without the live learner 1"));
}

TEST_F(SynchronousOracleTest, OneRefusedForItsContentIsNotWaitedFor) {
  oracle().Refused(Rejected(1, federation::RejectReason::kGate));
  EXPECT_EQ(Closed({0, 2}, 1), "");
  oracle().Refused(Rejected(1, federation::RejectReason::kLate));
  EXPECT_NE(Closed({0, 2}, 2), "");
  oracle().Refused(Rejected(1, federation::RejectReason::kForgedCounts, 2));
  oracle().NewLife(LearnerId(1));
  EXPECT_NE(Closed({0, 2}, 3), "");
}

TEST_F(SynchronousOracleTest, ARefusalThatIsSaidAgainExcusesNobodyFromALaterRound) {
  oracle().Refused(Rejected(1, federation::RejectReason::kGate));
  oracle().Refused(Rejected(1, federation::RejectReason::kGate));
  EXPECT_EQ(Closed({0, 2}, 1), "");
  oracle().Refused(Rejected(1, federation::RejectReason::kGate));
  EXPECT_THAT(Closed({0, 2}, 2), HasSubstr("round 2 closed without the live learner 1"));
  oracle().Refused(Rejected(1, federation::RejectReason::kLate, 2));
  oracle().Refused(Rejected(1, federation::RejectReason::kGate, 2));
  EXPECT_EQ(Closed({0, 2}, 3), "") << "it was the first for its content";
}

TEST_F(SynchronousOracleTest, ALateUpdateIsTakenUpOnlyWhereThatIsSet) {
  federation::UpdateReceived update;
  EXPECT_FALSE(oracle().Accepted(update));
  EXPECT_EQ(Closed({0, 1, 2}, 2), "");
  EXPECT_THAT(oracle().Accepted(update).value_or(""), HasSubstr("trained on version 0"));
  oracle_.reset();
  policy::Set(settings_, "sync.late_updates", "keep");
  EXPECT_EQ(Closed({0, 1, 2}, 2), "");
  EXPECT_FALSE(oracle().Accepted(update));
}

TEST_F(SynchronousOracleTest, ARoundNeedsAQuorum) {
  settings_.membership.quorum = 2;
  oracle().Refused(Rejected(1, federation::RejectReason::kGate));
  oracle().Refused(Rejected(2, federation::RejectReason::kGate));
  EXPECT_THAT(Closed({0}, 1), HasSubstr("a round closed with 1 updates, quorum is 2"));
}

}  // namespace
}  // namespace metis::policy
