#include "metis/federation/learner_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "metis/federation/testing.h"
#include "metis/policy/policy.h"

namespace metis::federation {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using State = LearnerSession::State;

constexpr LearnerId kMe{3};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A learner with two epochs a cycle and a retry of 5 s.
class LearnerSessionTest : public testing::Test {
 protected:
  static Settings MakeSettings() {
    Settings settings = SettingsFor("async-dvw", 4);
    policy::Set(settings, "trigger.local_epochs", 2);
    return settings;
  }
  static LearnerJoined Declared(Incarnation life) {
    LearnerJoined declared;
    declared.learner = kMe;
    declared.incarnation = life;
    return declared;
  }

  SendCommunity Community(uint64_t version, uint64_t answers, uint64_t steps = 0,
                          bool restart = false) {
    return {kMe,   kSecondLife,       Version(version), models_.From(static_cast<float>(version)),
            steps, Sequence(answers), restart};
  }
  UpdateId Id(uint64_t sequence) const { return {kMe, kSecondLife, Sequence(sequence)}; }

  template <typename Message>
  void Receive(const Message& message) {
    out_.clear();
    session_.Handle(now_, message, out_);
  }
  void Start() {
    out_.clear();
    session_.Start(now_, out_);
  }
  // Loads, trains both epochs and sends the update.
  void TrainAndSend(uint64_t cycle, uint64_t steps = 10) {
    out_.clear();
    session_.ModelLoaded(now_, cycle, 1, out_);
    session_.EpochTrained(now_, cycle, 1, steps, 0.9, out_);
    session_.EpochTrained(now_, cycle, 2, steps, 0.8, out_);
    out_.clear();
    session_.ModelTaken(now_, cycle, models_.From(50), CountsOf({2, 3}, 4), out_);
  }
  void JoinAndReceiveFirst() {
    Start();
    Receive(AcceptJoin{kMe, kSecondLife});
    Receive(Community(4, 0, 100));
  }
  void Retry() {
    now_ = One<StartRetry>().due;
    out_.clear();
    session_.RetryDue(now_, out_);
  }

  template <typename T>
  T One() const {
    std::vector<T> found;
    for (const SessionAction& action : out_) {
      if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
    }
    return OnlyOne(found);
  }
  template <typename T>
  T Message() const {
    return std::get<T>(One<SendToController>().message);
  }

  Models models_;
  Instant now_;
  LearnerSession session_{MakeSettings(), Declared(kSecondLife), 1990};
  LearnerSession::Out out_;
};

TEST_F(LearnerSessionTest, JoinsAndAsksAgainUntilItIsAccepted) {
  Start();
  EXPECT_EQ(Message<LearnerJoined>().incarnation, kSecondLife);
  Retry();
  EXPECT_EQ(Message<LearnerJoined>().learner, kMe);
  Receive(AcceptJoin{kMe, kSecondLife});
  EXPECT_EQ(session_.state(), State::kWaiting);
  Retry();
  EXPECT_EQ(Message<CommunityRequested>().last_sent, Sequence(0));
}

TEST_F(LearnerSessionTest, PausesGrowUpToSixteenfoldAndAreJittered) {
  Start();
  double expected = 5;
  std::vector<double> pauses;
  for (int attempt = 0; attempt < 8; ++attempt) {
    double pause = (One<StartRetry>().due - now_).seconds();
    EXPECT_GE(pause, 0.75 * expected);
    EXPECT_LE(pause, 1.25 * expected);
    pauses.push_back(pause / expected);
    expected = std::min(80.0, 2 * expected);
    Retry();
  }
  EXPECT_NE(pauses[0], pauses[1]);
  Receive(AcceptJoin{kMe, kSecondLife});  // an answer makes them small again
  EXPECT_LE((One<StartRetry>().due - now_).seconds(), 1.25 * 5);
}

TEST_F(LearnerSessionTest, ARefusedJoinEndsIt) {
  Start();
  Receive(RefuseJoin{kMe, kSecondLife, "another schema"});
  EXPECT_EQ(One<Ended>().reason, "another schema");
  EXPECT_EQ(session_.state(), State::kEnded);
  Receive(Community(0, 0));
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LearnerSessionTest, ACycleGoesFromAModelToAnUpdate) {
  JoinAndReceiveFirst();
  EXPECT_EQ(One<LoadModel>().cycle, 1u);
  out_.clear();
  session_.ModelLoaded(now_, 1, 1.0, out_);
  EXPECT_EQ(One<TrainEpoch>().epoch, 1u);
  out_.clear();
  session_.EpochTrained(now_, 1, 1, 12, 0.9, out_);
  EXPECT_EQ(Message<EpochReported>().epoch, 1u);
  EXPECT_EQ(One<TrainEpoch>().epoch, 2u);
  Receive(ReportSteps{kMe, kSecondLife, 130});
  session_.EpochTrained(now_, 1, 2, 12, 0.8, out_);
  EXPECT_EQ(Message<EpochReported>().epoch, 2u);
  EXPECT_EQ(One<TakeModel>().cycle, 1u);
  out_.clear();
  session_.ModelTaken(now_, 1, models_.From(7), CountsOf({2, 3}, 4), out_);
  auto update = Message<UpdateReceived>();
  EXPECT_EQ(update.id, Id(1));
  EXPECT_EQ(update.base, Version(4));
  EXPECT_EQ(update.steps, 24u);
  EXPECT_EQ(update.model->parameters()[0], 7);
  EXPECT_EQ(update.own_counts.AsConfusion().correct(), 4u);
  EXPECT_EQ(update.cycle.epochs, 2u);
  EXPECT_EQ(update.cycle.losses, (std::vector<double>{1.0, 0.9, 0.8}));
  EXPECT_EQ(update.cycle.staleness, 130 - 100 + 24u);
}

TEST_F(LearnerSessionTest, SendsItsUpdateAgainUntilItIsAcknowledged) {
  JoinAndReceiveFirst();
  TrainAndSend(1);
  Retry();
  EXPECT_EQ(Message<UpdateReceived>().id, Id(1));
  Receive(AcknowledgeUpdate{Id(1)});
  EXPECT_EQ(session_.state(), State::kWaiting);
  Retry();
  EXPECT_EQ(Message<CommunityRequested>().last_sent, Sequence(1));
  Receive(Community(5, 1, 120));
  EXPECT_EQ(One<LoadModel>().cycle, 2u);
  TrainAndSend(2);
  EXPECT_EQ(Message<UpdateReceived>().id, Id(2));
  EXPECT_EQ(Message<UpdateReceived>().base, Version(5));
}

TEST_F(LearnerSessionTest, GoesOnFromAnyModelWhenTheControllerHasForgottenWhatItSent) {
  JoinAndReceiveFirst();  // version 4
  uint64_t cycle = 0;
  uint64_t version = 4;
  for (RejectReason forgotten : {RejectReason::kUnknownUpdate, RejectReason::kUnknownBase}) {
    TrainAndSend(++cycle);
    Receive(Community(--version, cycle));
    EXPECT_EQ(session_.state(), State::kSending);  // older than what it has: a repeated message
    Receive(RejectUpdate{Id(cycle), forgotten, "the controller is older"});
    EXPECT_EQ(session_.state(), State::kWaiting);
    Receive(Community(version, cycle));
    EXPECT_EQ(session_.state(), State::kTraining);
  }
}

TEST_F(LearnerSessionTest, AnOlderModelThatAnswersItIsTakenOnceTheVerdictIsKnown) {
  JoinAndReceiveFirst();  // version 4
  TrainAndSend(1);
  Receive(AcknowledgeUpdate{Id(1)});
  Receive(Community(3, 0));  // answers an earlier question
  EXPECT_EQ(session_.state(), State::kWaiting);
  Receive(Community(3, 1));  // of a controller that was put back, and whose refusal was lost
  EXPECT_EQ(session_.state(), State::kTraining);
}

TEST_F(LearnerSessionTest, TheModelMayComeBeforeTheAcknowledgement) {
  JoinAndReceiveFirst();
  TrainAndSend(1);
  Receive(Community(5, 1));
  EXPECT_EQ(session_.state(), State::kTraining);
  Receive(AcknowledgeUpdate{Id(1)});
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_EQ(session_.state(), State::kTraining);
}

TEST_F(LearnerSessionTest, TheModelMayComeBeforeTheAcceptance) {
  Start();
  Receive(Community(4, 0));
  EXPECT_EQ(One<LoadModel>().cycle, 1u);
  Receive(AcceptJoin{kMe, kSecondLife});
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LearnerSessionTest, RepeatedAndOvertakenModelsAreIgnored) {
  JoinAndReceiveFirst();
  Receive(Community(4, 0));  // repeated while it trains
  EXPECT_THAT(out_, IsEmpty());
  TrainAndSend(1);
  Receive(Community(4, 0));  // answers an earlier question
  EXPECT_THAT(out_, IsEmpty());
  Receive(Community(3, 1));  // older than what it trained from
  EXPECT_THAT(out_, IsEmpty());
  Receive(AcknowledgeUpdate{Id(7)});
  EXPECT_EQ(session_.state(), State::kSending);
}

TEST_F(LearnerSessionTest, ARestartIsAdoptedWhateverItIsDoing) {
  JoinAndReceiveFirst();
  out_.clear();
  session_.ModelLoaded(now_, 1, 1, out_);
  Receive(Community(6, 0, 200, true));
  EXPECT_EQ(One<LoadModel>().cycle, 2u);
  out_.clear();
  session_.EpochTrained(now_, 1, 1, 12, 0.9, out_);  // of the abandoned cycle
  EXPECT_THAT(out_, IsEmpty());
  TrainAndSend(2);
  EXPECT_EQ(Message<UpdateReceived>().base, Version(6));
  Receive(Community(6, 0, 200, true));  // the same restart again
  EXPECT_THAT(out_, IsEmpty());
  Receive(Community(7, 0, 210, true));  // drops the unacknowledged update
  EXPECT_EQ(session_.state(), State::kTraining);
  out_.clear();
  session_.RetryDue(now_, out_);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LearnerSessionTest, ARefusedUpdateIsNotSentAgainAndTheNextModelAdopted) {
  JoinAndReceiveFirst();
  TrainAndSend(1);
  Receive(RejectUpdate{Id(1), RejectReason::kGate, "diverged"});
  EXPECT_EQ(session_.state(), State::kWaiting);
  Receive(Community(4, 1));
  EXPECT_EQ(One<LoadModel>().cycle, 2u);
}

TEST_F(LearnerSessionTest, AReplacedLifeEnds) {
  JoinAndReceiveFirst();
  TrainAndSend(1);
  Receive(RejectUpdate{Id(1), RejectReason::kStaleIncarnation, "running twice"});
  EXPECT_THAT(One<Ended>().reason, HasSubstr("twice"));
}

TEST_F(LearnerSessionTest, AnUnknownLearnerJoinsAgainAndSendsItsUpdateAgain) {
  JoinAndReceiveFirst();
  TrainAndSend(1);
  Receive(RejectUpdate{Id(1), RejectReason::kUnknownLearner, "join first"});
  EXPECT_EQ(Message<LearnerJoined>().incarnation, kSecondLife);
  Receive(AcceptJoin{kMe, kSecondLife});
  EXPECT_EQ(Message<UpdateReceived>().id, Id(1));
  EXPECT_EQ(session_.state(), State::kSending);
}

// With its learner's id and sequence number only, a late message to an earlier life would pass for
// this one's.
TEST_F(LearnerSessionTest, MessagesToAnEarlierLifeAreIgnored) {
  Start();
  Receive(AcceptJoin{kMe, kFirstLife});
  Receive(RefuseJoin{kMe, kFirstLife, "full"});
  EXPECT_EQ(session_.state(), State::kJoining);
  SendCommunity old = Community(4, 0);
  old.incarnation = kFirstLife;
  Receive(old);
  EXPECT_THAT(out_, IsEmpty());
  Receive(AcceptJoin{kMe, kSecondLife});
  Receive(Community(4, 0));
  TrainAndSend(1);
  Receive(AcknowledgeUpdate{{kMe, kFirstLife, Sequence(1)}});
  Receive(RejectUpdate{{kMe, kFirstLife, Sequence(1)}, RejectReason::kStaleIncarnation, "twice"});
  Receive(Dismiss{kMe, kFirstLife, "replaced"});
  EXPECT_EQ(session_.state(), State::kSending);
}

TEST_F(LearnerSessionTest, ADismissalEndsItOnce) {
  JoinAndReceiveFirst();
  Receive(Dismiss{kMe, kSecondLife, "the federation has finished"});
  EXPECT_THAT(One<Ended>().reason, HasSubstr("finished"));
  Receive(Dismiss{kMe, kSecondLife, "the federation has finished"});
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LearnerSessionTest, RepeatedAnswersOfItsDriverAreIgnored) {
  JoinAndReceiveFirst();
  out_.clear();
  session_.ModelLoaded(now_, 1, 1, out_);
  session_.EpochTrained(now_, 1, 1, 10, 0.9, out_);
  session_.EpochTrained(now_, 1, 2, 10, 0.8, out_);
  out_.clear();
  session_.ModelLoaded(now_, 1, 1, out_);
  session_.EpochTrained(now_, 1, 1, 10, 0.9, out_);
  session_.EpochTrained(now_, 1, 2, 10, 0.8, out_);
  EXPECT_THAT(out_, IsEmpty());
  session_.ModelTaken(now_, 1, models_.From(1), ConfusionCounts(), out_);
  EXPECT_EQ(Message<UpdateReceived>().steps, 20u);
  out_.clear();
  session_.ModelTaken(now_, 1, models_.From(1), ConfusionCounts(), out_);
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(LearnerSessionTest, AnOldReportOfStepsDoesNotMakeItFresher) {
  JoinAndReceiveFirst();
  out_.clear();
  session_.ModelLoaded(now_, 1, 1, out_);
  Receive(ReportSteps{kMe, kSecondLife, 150});
  Receive(ReportSteps{kMe, kSecondLife, 90});  // from before its model
  session_.EpochTrained(now_, 1, 1, 10, 0.9, out_);
  EXPECT_EQ(session_.cycle().record().staleness, 60u);
}

TEST(LearnerSession, ItsGroupsThresholdsDecideWhenItAsks) {
  Settings settings = SettingsFor("async-dvw-adaptive", 4);
  policy::Set(settings, "trigger.vc_loss_pct", 0.0);
  policy::Set(settings, "trigger.vc_tombstones", 4);
  policy::SetOfGroup(settings, "slow", "trigger.vc_loss_pct", 1.0);
  policy::SetOfGroup(settings, "slow", "trigger.vc_tombstones", 1);
  Models models;
  for (const auto& [group, asks_at] : std::map<std::string, uint64_t>{{"fast", 6}, {"slow", 2}}) {
    LearnerJoined declared;
    declared.incarnation = kFirstLife;
    declared.group = group;
    LearnerSession session(settings, declared, 1);
    LearnerSession::Out out;
    session.Start({}, out);
    session.Handle({}, SendCommunity{{}, kFirstLife, {}, models.From(1), 0, {}, false}, out);
    session.ModelLoaded({}, 1, 100, out);
    // Half a per cent better, then worse and worse.
    const double losses[] = {99.5, 99.6, 99.7, 99.8, 99.9, 100};
    uint64_t epoch = 0;
    while (!std::holds_alternative<TakeModel>(out.back())) {
      ASSERT_LT(epoch, 6u);
      session.EpochTrained({}, 1, epoch + 1, 10, losses[epoch], out);
      ++epoch;
    }
    EXPECT_EQ(epoch, asks_at) << group;
  }
}

TEST(LearnerSession, WithoutAValidationSetItStillTrains) {
  Settings settings = SettingsFor("async-fedavg", 2);
  policy::Set(settings, "trigger.local_epochs", 1);
  Models models;
  LearnerSession session(settings, {}, 1);
  LearnerSession::Out out;
  session.Start({}, out);
  session.Handle({}, SendCommunity{{}, {}, {}, models.From(1), 0, {}, false}, out);
  session.ModelLoaded({}, 1, kNan, out);
  session.EpochTrained({}, 1, 1, 10, kNan, out);
  EXPECT_TRUE(std::holds_alternative<TakeModel>(out.back()));
  EXPECT_THAT(session.cycle().record().losses, IsEmpty());
}

}  // namespace
}  // namespace metis::federation
