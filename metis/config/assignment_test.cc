// What the command line says, against what the file says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metis/config/testing.h"
#include "metis/core/text.h"
#include "metis/policy/policy.h"

namespace metis::config {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Assignment, WinsOverTheFile) {
  Config config = Parsed("[federation]\nlearners = 4\n[stop]\nduration = \"1h\"\n",
                         {Set("federation.learners=6"), Set("stop.duration=none"),
                          Set("stop.requests = 12"), Set("validation.metric=\"accuracy\"")});
  EXPECT_EQ(config.federation.membership.learners, 6u);
  EXPECT_EQ(config.federation.stop.duration, std::nullopt);
  EXPECT_EQ(config.federation.stop.requests, 12u);
  EXPECT_EQ(ValueOf(config, "validation.metric"), "accuracy");
  EXPECT_EQ(config.simulation.groups[1].learners, 3u);
}

TEST(Assignment, OfAPolicyWinsOverAllThatAResolvedFileSaysOfOne) {
  for (std::string_view before : policy::kPolicyNames) {
    for (std::string_view after : policy::kPolicyNames) {
      const std::string file = Text("[federation]\nseed = 7\npolicy = \"", before, "\"\n");
      const Assignment policy{"federation.policy", std::string(after), "--policy"};
      EXPECT_EQ(Parsed(FormatConfig(Parsed(file)), {policy}), Parsed(file, {policy}))
          << before << " " << after;
    }
  }
}

TEST(Assignment, OfAPolicyYieldsToItsPartsOnTheSameCommandLineInAnyOrder) {
  const std::string resolved = FormatConfig(DefaultConfig());
  const Assignment policy = Set("federation.policy=sync-fedavg");
  const Assignment trigger = Set("federation.trigger=adaptive");
  for (const std::vector<Assignment>& both : {std::vector{policy, trigger}, {trigger, policy}}) {
    const federation::Policy its = Parsed(resolved, both).federation.policy;
    EXPECT_EQ(its.protocol->name, "synchronous");
    EXPECT_EQ(its.weighting->name, "training-examples");
    EXPECT_EQ(its.trigger->name, "adaptive");
  }
}

TEST(Assignment, OfThePolicyCustomLeavesTheFileItsParts) {
  const std::string file =
      "[federation]\nprotocol = \"synchronous\"\nweighting = \"training-examples\"\n"
      "trigger = \"adaptive\"\n";
  EXPECT_EQ(Parsed(file, {Set("federation.policy=custom")}), Parsed(file));
}

TEST(Assignment, OfAnotherProtocolHasThatOnesProximalTermUnlessOneWasChosen) {
  const std::vector<Assignment> mixing = {Set("federation.policy=fedasync")};
  const std::string resolved = FormatConfig(Parsed("[federation]\npolicy = \"async-fedavg\"\n"));
  EXPECT_EQ(Parsed(resolved, mixing).training.proximal, 0.005);
  EXPECT_EQ(Parsed(resolved, {Set("federation.protocol=fedasync")}).training.proximal, 0.005);
  EXPECT_EQ(Parsed(resolved, {mixing[0], Set("training.proximal=0")}).training.proximal, 0.0);
  EXPECT_EQ(Parsed("[training]\nproximal = 0\n", mixing).training.proximal, 0.0);
  const std::string chosen = FormatConfig(Parsed("[training]\nproximal = 0.3\n"));
  EXPECT_EQ(Parsed(chosen, mixing).training.proximal, 0.3);
}

TEST(Assignment, OfAPolicyTakesTheFilesPartsOutOfBlame) {
  EXPECT_THAT(Complaint("[federation]\nweighting = \"validation\"\n",
                        {Set("federation.policy=async-dvw"), Set("federation.protocol=fedasync")}),
              StartsWith("--set federation.protocol=fedasync: weighting = \"validation\" has no "));
}

TEST(Assignment, ReplacesAllOfAnEarlierPartition) {
  EXPECT_EQ(Parsed("[data]\nsizes = \"powerlaw:2\"\nclasses = \"noniid:3\"\n",
                   {Set("data.sizes=uniform"), Set("data.classes=iid")}),
            DefaultConfig());
}

TEST(Assignment, ReachesAGroupByItsNameAlsoADefaultOne) {
  Config config = Parsed("", {Set("group.slow.batch_time=3s"), Set("group.fast.learners=8")});
  EXPECT_EQ(config.simulation.groups[1].batch_time, Duration::Seconds(3));
  EXPECT_EQ(config.simulation.groups[0].learners, 8u);
  EXPECT_EQ(config.simulation.groups[1].learners, 2u);
}

TEST(Assignment, IsCheckedLikeTheFile) {
  EXPECT_EQ(Complaint("", {{"federation.learners", "zero", "--learners"}}),
            "--learners: learners = \"zero\": expected a whole number, between 1 and 1000000");
  EXPECT_EQ(Complaint("", {Set("federation.quorum=12")}),
            "--set federation.quorum=12: quorum = 12 is more than learners = 10: "
            "the federation would always be paused");
  EXPECT_THAT(Complaint("", {Set("stop.round=12")}),
              StartsWith("--set stop.round=12: unknown key \"round\" in [stop]: did you mean "
                         "\"rounds\"?"));
  EXPECT_THAT(Complaint("", {Set("stpo.rounds=12")}),
              StartsWith("--set stpo.rounds=12: unknown section \"stpo\": did you mean [stop]?"));
}

TEST(Assignment, IsTextThatARecordCanHold) {
  EXPECT_EQ(Complaint("", {{"data.dataset", "caf\xe9.npz", "--dataset"}}),
            "--dataset: data.dataset = \"caf\\xe9.npz\": must be text in UTF-8; a file with such a "
            "name: rename it, or link to it");
  EXPECT_THAT(Complaint("", {Set("data.classes=table:\xff")}),
              StartsWith("--set data.classes=table:\\xff: data.classes = "));
  EXPECT_THAT(Complaint("", {Set("dat\xe4.dataset=x")}), HasSubstr("dat\\xe4.dataset = "));
  EXPECT_EQ(Parsed("", {Set("data.dataset=caf\u00e9.npz")}).source.dataset, "caf\u00e9.npz");
}

TEST(Assignment, ExplainsHowAKeyIsWritten) {
  EXPECT_EQ(Complaint("", {Set("rounds=12")}),
            "--set rounds=12: \"rounds\" names no section: did you mean stop.rounds?");
  EXPECT_EQ(Complaint("", {Set("zzz=12")}),
            "--set zzz=12: \"zzz\" names no section: write section.key, e.g. federation.learners");
  EXPECT_EQ(Complaint("", {Set("group.latency=1s")}),
            "--set group.latency=1s: a key of a group is written group.NAME.key, "
            "e.g. group.slow.batch_time");
  EXPECT_EQ(Complaint("", {Set("group.slwo.latency=1s")}),
            "--set group.slwo.latency=1s: there is no group \"slwo\": did you mean \"slow\"? "
            "(groups: fast, slow)");
  for (std::string text : {"stop.rounds", "=3", ""}) {
    EXPECT_EQ(ParseAssignment(text).error().message,
              "--set " + text + ": write section.key=value, e.g. --set stop.duration=30s");
  }
}

}  // namespace
}  // namespace metis::config
