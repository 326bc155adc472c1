#include "metis/policy/policy.h"

#include <gtest/gtest.h>

#include <set>

#include "metis/core/text.h"

namespace metis::policy {
namespace {

using federation::Part;
using federation::PartKey;
using federation::Policy;
using federation::Settings;

std::string InWords(std::string_view name) {
  const Policy policy = *PolicyNamed(name);
  return Text(policy.protocol->name, " ", policy.weighting->name, " ", policy.trigger->name);
}

TEST(Policy, EveryRowOfThePapersTableHasItsName) {
  EXPECT_EQ(InWords("sync-fedavg"), "synchronous training-examples epochs");
  EXPECT_EQ(InWords("sync-dvw"), "synchronous validation epochs");
  EXPECT_EQ(InWords("async-fedavg"), "asynchronous training-examples epochs");
  EXPECT_EQ(InWords("fedasync"), "fedasync training-examples epochs");
  EXPECT_EQ(InWords("async-dvw"), "asynchronous validation epochs");
  EXPECT_EQ(InWords("async-dvw-adaptive"), "asynchronous validation adaptive");
}

TEST(Policy, NamesReadBack) {
  for (std::string_view name : kPolicyNames) EXPECT_EQ(NameOf(*PolicyNamed(name)), name);
  EXPECT_EQ(PolicyNamed("sync-fedavgs"), std::nullopt);
  EXPECT_EQ(PolicyNamed(""), std::nullopt);
}

TEST(Policy, ACombinationWithoutARowIsCustom) {
  EXPECT_EQ(NameOf(With(*PolicyNamed("sync-dvw"), "trigger", "adaptive")), "custom");
}

TEST(Policy, AProtocolBringsItsAggregator) {
  const Policy sums = *PolicyNamed("async-fedavg");
  EXPECT_EQ(sums.aggregator->name, "sums");
  EXPECT_EQ(With(sums, "protocol", "fedasync").aggregator->name, "mix");
}

TEST(Policy, AValidationSetIsNeededByDvwAndByTheAdaptiveTrigger) {
  EXPECT_FALSE(NeedsValidationSet(*PolicyNamed("sync-fedavg")));
  EXPECT_FALSE(NeedsValidationSet(*PolicyNamed("fedasync")));
  EXPECT_TRUE(NeedsValidationSet(*PolicyNamed("sync-dvw")));
  EXPECT_TRUE(NeedsValidationSet(With(*PolicyNamed("async-fedavg"), "trigger", "adaptive")));
}

TEST(Policy, DefaultsAreThePapers) {
  const Settings settings;
  const auto value = [&](std::string_view path) { return settings.values.Find(KeyNamed(path)); };
  EXPECT_EQ(value("trigger.local_epochs"), ValueOf(4));
  EXPECT_EQ(value("fedasync.alpha"), ValueOf(0.5));
  EXPECT_EQ(value("fedasync.staleness_exponent"), ValueOf(0.5));
  EXPECT_EQ(value("trigger.staleness_window"), ValueOf(20));
  EXPECT_EQ(value("validation.min_coverage"), ValueOf(2.0 / 3));
  EXPECT_EQ(value("validation.count_own_validation"), ValueOf(true));
  EXPECT_LT(settings.max_parameter * settings.membership.max_learners, 0x1p23);
}

// --- What holds for every part of the list

TEST(Parts, HaveNamesOfTheirOwnAndHelp) {
  for (const Kind& kind : Kinds()) {
    std::set<std::string_view> names;
    ASSERT_FALSE(kind.parts.empty()) << kind.key;
    EXPECT_TRUE(kind.documentation.ends_with('.'));
    for (const Part* part : kind.parts) {
      EXPECT_TRUE(names.insert(part->name).second) << part->name << " is in the list twice";
      EXPECT_FALSE(part->help.empty()) << part->name;
      EXPECT_EQ(part->help.find_first_of("|;"), part->help.npos) << part->help;
      EXPECT_FALSE(part->help.ends_with('.')) << part->help;
      EXPECT_EQ(kind.Find(part->name), part);
    }
  }
}

TEST(Parts, CanBeMadeAndJudged) {
  const Parts& parts = AllParts();
  for (const auto* part : parts.protocols) {
    EXPECT_TRUE(part->make && part->expect) << part->name;
    EXPECT_NE(KindNamed("aggregator").Find(part->aggregator), nullptr) << part->name;
  }
  for (const auto* part : parts.aggregators) {
    EXPECT_TRUE(part->make && part->expect) << part->name;
    const bool chosen = part->protocol.empty() || KindNamed("protocol").Find(part->protocol);
    EXPECT_TRUE(chosen) << part->name << " comes with a protocol that is not in the list";
  }
  for (const auto* part : parts.optimizers) EXPECT_TRUE(part->make && part->expect) << part->name;
  for (const auto* part : parts.weightings) EXPECT_TRUE(part->make && part->expect) << part->name;
  for (const auto* part : parts.triggers) {
    EXPECT_TRUE(part->make && part->expect && part->in_words && part->fixed_epochs) << part->name;
  }
  for (const auto* part : parts.trainers) EXPECT_TRUE(part->make && part->expect) << part->name;
  for (const auto* part : parts.evaluators) EXPECT_TRUE(part->make && part->expect) << part->name;
}

TEST(Parts, KeysAllowTheirDefaultsAndWhatTheSwarmDraws) {
  for (const Kind& kind : Kinds()) {
    for (const Part* part : kind.parts) {
      EXPECT_TRUE(part->keys.empty() || part->draw) << part->name << ": the swarm never sets it";
      for (const PartKey& key : part->keys) {
        EXPECT_TRUE(key.Allows(key.Default())) << key.Path();
        EXPECT_TRUE(key.documentation.ends_with('.')) << key.Path();
        EXPECT_EQ(FindKey(key.Path())->documentation, key.documentation)
            << key.Path() << " is declared twice, differently";
        EXPECT_FALSE(SectionHelp(key.section).empty());
        for (const PartKey::OfGroup& own : key.group_defaults) {
          EXPECT_TRUE(key.Allows(PartKey::Value(own.value))) << key.Path();
        }
      }
      for (uint64_t seed = 0; part->draw && seed < 50; ++seed) {
        Random random({.seed = seed});
        Settings settings;
        part->draw(random, settings);  // checked as it is set
      }
    }
  }
}

TEST(PartValues, EqualSettingsAreEqualHoweverTheyWereWritten) {
  Settings settings;
  Set(settings, "trigger.local_epochs", 7);
  EXPECT_NE(settings, Settings());
  Set(settings, "trigger.local_epochs", 4);
  EXPECT_EQ(settings, Settings());
}

TEST(PartValues, AGroupMayHaveAValueOfItsOwn) {
  Settings settings;
  const PartKey& key = KeyNamed("trigger.vc_tombstones");
  SetOfGroup(settings, "slow", "trigger.vc_tombstones", 4);
  EXPECT_NE(settings, Settings()) << "also where it is everybody's";
  Set(settings, "trigger.vc_tombstones", 2);
  EXPECT_EQ(settings.values.Get<uint32_t>(key, "slow"), 4u);
  EXPECT_EQ(settings.values.Get<uint32_t>(key, "fast"), 2u);
}

}  // namespace
}  // namespace metis::policy
