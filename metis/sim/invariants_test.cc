// The oracles notice: a correct script passes, and each doctored one is called by its name.
#include "metis/sim/invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "metis/policy/policy.h"
#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

using federation::Action;
using federation::CommunityCommitted;
using federation::Harness;
using federation::UpdateReceived;
using testing::HasSubstr;

// Three unequal learners, several commits, an evaluation.
void Play(Script& script) {
  script.JoinAll();
  script.Update(0, 1, 0.5f, 7);
  script.Update(1, 1, -2, 12);
  script.Update(2, 1, 1.5f, 3);
  script.Update(0, 2, 0.25f, 8);
}

TEST(Invariants, ACorrectScriptBreaksNoLaw) {
  for (std::string_view policy : {"async-fedavg", "fedasync", "sync-fedavg"}) {
    Script script(federation::SettingsFor(policy, 3));
    Play(script);
    EXPECT_EQ(script.Violation(), "") << policy;
    EXPECT_GT(script.invariants.commits(), 0u) << policy;
    EXPECT_EQ(script.invariants.latest_commit(), script.harness.now());
  }
}

TEST(Invariants, NoticeAVersionGap) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.Doctor([](CommunityCommitted& commit) { commit.version = commit.version.Next(); });
  Play(script);
  EXPECT_THAT(script.Violation(), HasSubstr("version 2 was committed after version 0"));
}

TEST(Invariants, NoticeAWrongContribution) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.Doctor([](CommunityCommitted& commit) { commit.updates[0].contribution += 1; });
  Play(script);
  EXPECT_THAT(script.Violation(), HasSubstr("p of learner 0 is 31"));
}

TEST(Invariants, NoticeAWrongContributionOfDvwAndAWrongCoverage) {
  for (bool coverage : {false, true}) {
    Script script(federation::SettingsFor("async-dvw", 3));
    script.JoinAll();
    script.Update(0, 1, 0.5f, 7);
    script.Answer(1, script.harness.IdOf(0, 1), 3);
    script.Doctor([&](CommunityCommitted& commit) {
      (coverage ? commit.updates[0].coverage : commit.updates[0].contribution) -= 0.125;
    });
    EXPECT_EQ(script.Violation(), "");
    script.Answer(2, script.harness.IdOf(0, 1), 5);
    EXPECT_THAT(script.Violation(), HasSubstr(coverage ? "with coverage 0.875, those who answered"
                                                       : "its evaluations give"));
  }
}

TEST(Invariants, NoticeAWrongStaleness) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.Doctor([](CommunityCommitted& commit) { ++commit.updates[0].staleness; });
  Play(script);
  EXPECT_THAT(script.Violation(), HasSubstr("has staleness 8, the ledger says 7"));
}

TEST(Invariants, NoticeAWrongAgeInVersions) {
  for (std::string_view policy : {"async-fedavg", "fedasync"}) {
    Script script(federation::SettingsFor(policy, 3));
    script.JoinAll();
    script.Update(0, 1, 0.5f, 7);
    script.Doctor([](CommunityCommitted& commit) { --commit.updates[0].version_staleness; });
    script.Update(1, 1, -2, 12);
    EXPECT_NE(script.Violation(), "") << policy;
  }
}

TEST(Invariants, NoticeOtherStepsOrAnotherCycleThanWereSent) {
  Script steps(federation::SettingsFor("async-fedavg", 3));
  steps.Doctor([](CommunityCommitted& commit) {
    ++commit.updates[0].steps;
    ++commit.updates[0].staleness;
  });
  Play(steps);
  EXPECT_THAT(steps.Violation(), HasSubstr("has other steps or another cycle"));

  Script cycle(federation::SettingsFor("async-fedavg", 3));
  cycle.Doctor([](CommunityCommitted& commit) { ++commit.updates[0].cycle.epochs; });
  Play(cycle);
  EXPECT_THAT(cycle.Violation(), HasSubstr("has other steps or another cycle"));

  Script no_number(federation::SettingsFor("async-fedavg", 3));
  no_number.JoinAll();
  UpdateReceived update = no_number.Updating(0, 1, 0.5f, 7);
  update.cycle.losses = {2.5, std::nan(""), 1.25};
  no_number.harness.Send(update);
  no_number.Hear();
  EXPECT_EQ(no_number.Violation(), "") << "it is the same record";
}

TEST(Invariants, NoticeAStalenessThatItsLearnerCannotHaveSeen) {
  for (uint64_t seen : {6u, 8u}) {
    Script script(federation::SettingsFor("async-fedavg", 3));
    script.JoinAll();
    UpdateReceived update = script.Updating(0, 1, 0.5f, 7);
    update.cycle.staleness = seen;
    script.harness.Send(update);
    script.Hear();
    EXPECT_THAT(script.Violation(), HasSubstr("with 7 steps of its own; the ledger says 7"));
  }
}

TEST(Invariants, NoticeAWrongCommunityModelAndAWrongTotal) {
  Script wrong_model(federation::SettingsFor("async-fedavg", 3));
  wrong_model.Doctor(
      [&](CommunityCommitted& commit) { commit.model = wrong_model.harness.models().From(0.51f); });
  Play(wrong_model);
  EXPECT_THAT(wrong_model.Violation(), HasSubstr("parameter 0 of version 1"));

  Script wrong_total(federation::SettingsFor("async-fedavg", 3));
  wrong_total.Doctor([](CommunityCommitted& commit) { commit.total_contribution *= 2; });
  Play(wrong_total);
  EXPECT_THAT(wrong_total.Violation(), HasSubstr("P is 60"));
}

TEST(Invariants, NoticeACommitTwice) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.doctor = [](std::vector<Action>& actions) {
    for (size_t i = 0; i < actions.size(); ++i) {
      const auto* commit = std::get_if<CommunityCommitted>(&actions[i]);
      if (commit == nullptr) continue;
      CommunityCommitted again = *commit;
      again.version = again.version.Next();
      actions.push_back(again);
      return;
    }
  };
  Play(script);
  EXPECT_THAT(script.Violation(), HasSubstr("update 1 of learner 0 in life 1 was committed twice"));

  // And one that is in two commits.
  Script later(federation::SettingsFor("async-fedavg", 3));
  later.JoinAll();
  later.Update(0, 1, 0.5f, 7);
  later.Doctor(
      [&](CommunityCommitted& commit) { commit.updates[0].id = later.harness.IdOf(0, 1); });
  later.Update(1, 1, -2, 12);
  EXPECT_THAT(later.Violation(), HasSubstr("update 1 of learner 0 in life 1 was committed twice"));
}

TEST(Invariants, NoticeARefusalForTheDisksSake) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.JoinAll();
  script.doctor = [&](std::vector<Action>& actions) {
    actions.push_back(federation::RejectUpdate{
        script.harness.IdOf(0, 1), federation::RejectReason::kStorage, "the disk is gone"});
  };
  script.Update(0, 1, 0.5f, 7);
  EXPECT_THAT(script.Violation(), HasSubstr("was refused for the disk's sake"));
}

TEST(Invariants, NoticeALostUpdate) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.JoinAll();
  script.doctor = [](std::vector<Action>& actions) {
    Drop<CommunityCommitted>(actions);
    Drop<federation::SendCommunity>(actions);
  };
  script.Update(2, 1, 1.5f, 3);
  EXPECT_THAT(script.Violation(),
              HasSubstr("update 1 of learner 2 in life 1 was acknowledged and is lost"));
}

TEST(Invariants, NoticeAnUpdateThatWasNeverAcknowledged) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.doctor = Drop<federation::AcknowledgeUpdate>;
  Play(script);
  EXPECT_THAT(script.Violation(), HasSubstr("was committed without being acknowledged"));
}

TEST(Invariants, NoticeACommitOutOfTurn) {
  Script script(federation::SettingsFor("async-dvw", 3));
  script.JoinAll();
  script.Update(0, 1, 0.5f, 7);
  script.Update(1, 1, -2, 12);
  script.Doctor(
      [&](CommunityCommitted& commit) { commit.updates[0].id = script.harness.IdOf(1, 1); });
  script.Answer(1, script.harness.IdOf(0, 1), 3);
  script.Answer(2, script.harness.IdOf(0, 1), 4);
  EXPECT_THAT(script.Violation(), HasSubstr("was committed before update 1 of learner 0"));
}

// A controller that runs by one set of settings and is judged by another, stricter one.
class Lenient {
 public:
  Lenient(const federation::Settings& actual, const federation::Settings& strict)
      : script(actual),
        strict_(strict),
        invariants_(strict_, script.harness.initial(), script.harness.models().pool()) {
    for (uint32_t k = 0; k < 3; ++k) Send(script.harness.Joining(k));
  }
  void Send(const federation::Event& event) {
    script.harness.Send(event);
    invariants_.Handled(script.harness.now(), event, script.harness.actions(),
                        script.harness.controller());
  }
  std::string Violation() const { return invariants_.violation().value_or(""); }

  Script script;

 private:
  const federation::Settings strict_;
  Invariants invariants_;
};

TEST(Invariants, NoticeAModelThatMustNotPass) {
  federation::Settings settings = federation::SettingsFor("async-fedavg", 3);
  federation::Settings strict = settings;
  strict.max_parameter = 100;
  Lenient lenient(settings, strict);
  lenient.Send(lenient.script.Updating(0, 1, 500, 3));
  EXPECT_THAT(lenient.Violation(), HasSubstr("was accepted with the value 500"));
}

TEST(Invariants, NoticeACommitWithoutQuorum) {
  federation::Settings settings = federation::SettingsFor("async-fedavg", 3);
  federation::Settings strict = settings;
  strict.membership.quorum = 3;
  Lenient lenient(settings, strict);
  lenient.Send(federation::LearnerLost{LearnerId(2), Incarnation(1)});
  lenient.Send(lenient.script.Updating(0, 1, 0.5f, 7));
  EXPECT_THAT(lenient.Violation(), HasSubstr("a commit with 2 live learners, quorum is 3"));
}

TEST(Invariants, NoticeALateUpdateThatIsTakenUp) {
  federation::Settings settings = federation::SettingsFor("sync-fedavg", 3);
  policy::Set(settings, "sync.late_updates", "keep");
  federation::Settings strict = settings;
  policy::Set(strict, "sync.late_updates", "refuse");
  Lenient lenient(settings, strict);
  UpdateReceived late = lenient.script.Updating(2, 1, 1.5f, 3);
  lenient.Send(federation::LearnerLost{LearnerId(2), Incarnation(1)});
  lenient.Send(lenient.script.Updating(0, 1, 0.5f, 7));
  lenient.Send(lenient.script.Updating(1, 1, -2, 12));
  EXPECT_EQ(lenient.Violation(), "");
  lenient.Send(late);
  EXPECT_THAT(lenient.Violation(), HasSubstr("round 2 took up an update of learner 2"));
}

TEST(Invariants, NoticeAWrongSending) {
  auto violation = [](std::function<void(federation::SendCommunity&)> change) {
    Script script(federation::SettingsFor("async-fedavg", 3));
    script.JoinAll();
    script.Update(0, 1, 0.5f, 7);
    script.doctor = [change](std::vector<Action>& actions) {
      for (Action& action : actions) {
        if (auto* sent = std::get_if<federation::SendCommunity>(&action)) change(*sent);
      }
    };
    script.Update(1, 1, -2, 12);
    return script.Violation();
  };
  EXPECT_THAT(violation([](auto& sent) { sent.version = Version(1); }),
              HasSubstr("was sent version 1 when version 2 was current"));
  EXPECT_THAT(violation([](auto& sent) { sent.committed_steps = 7; }),
              HasSubstr("was told S_c = 7, it is 19"));
  federation::Models models;
  EXPECT_THAT(violation([&](auto& sent) { sent.model = models.From(3); }),
              HasSubstr("version 2 was sent with two different models"));
}

TEST(Invariants, NoticeARoundThatClosesWithoutALiveLearner) {
  Script script(federation::SettingsFor("sync-fedavg", 3));
  script.JoinAll();
  script.Update(0, 1, 0.5f, 7);
  script.Update(1, 1, -2, 12);
  script.Doctor([](CommunityCommitted& commit) { commit.updates.pop_back(); });
  script.Update(2, 1, 1.5f, 3);
  EXPECT_THAT(script.Violation(), HasSubstr("round 1 closed without the live learner 2"));
}

TEST(Invariants, NoticeAnEndThatComesEarlyOrNotAtAll) {
  federation::Settings settings = federation::SettingsFor("async-fedavg", 3);
  settings.stop.requests = 2;
  Script correct(settings);
  correct.JoinAll();
  correct.Update(0, 1, 0.5f, 7);
  correct.Update(1, 1, -2, 12);
  EXPECT_EQ(correct.Violation(), "");
  EXPECT_EQ(correct.harness.controller().phase(), federation::Phase::kFinished);

  Script deaf(settings);
  deaf.doctor = Drop<federation::Finished>;
  deaf.JoinAll();
  deaf.Update(0, 1, 0.5f, 7);
  deaf.Update(1, 1, -2, 12);
  EXPECT_THAT(deaf.Violation(), HasSubstr("it goes on after 0 rounds, 2 requests and 0 tests"));

  Script early(settings);
  early.doctor = [](std::vector<Action>& actions) {
    actions.push_back(federation::Finished{federation::StopReason::kRequests, Version(1)});
  };
  early.JoinAll();
  EXPECT_THAT(early.Violation(), HasSubstr("it finished by requests after 0 rounds, 0 requests"));
}

TEST(Invariants, NoticeARestartInAnotherState) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  Play(script);
  script.invariants.Restarted(script.harness.controller());
  EXPECT_EQ(script.Violation(), "");
  script.harness.Lose(1);  // handled, and never heard of
  script.invariants.Restarted(script.harness.controller());
  EXPECT_THAT(script.Violation(), HasSubstr("restarted in another state"));
}

TEST(Invariants, NoticeALearnerThatAsksAtTheWrongEpoch) {
  Script script(federation::SettingsFor("async-fedavg", 3));
  script.invariants.LifeBegins(LearnerId(1), "fast");
  federation::CycleRecord record;
  record.cycle = 1;
  record.epochs = 3;
  script.invariants.EpochDecided(LearnerId(1), record, false);
  EXPECT_EQ(script.Violation(), "");
  script.invariants.EpochDecided(LearnerId(1), record, true);
  EXPECT_THAT(script.Violation(), HasSubstr("learner 1 asked after epoch 3 of cycle 1"));
}

}  // namespace
}  // namespace metis::sim
