#include "metis/site/site.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "metis/core/testing.h"
#include "metis/federation/settings.h"
#include "metis/policy/policy.h"

namespace metis::site {
namespace {

TEST(ParseShare, IsAPartOfSoManyFromZero) {
  Result<ShareOfData> share = ParseShare("3/10");
  ASSERT_TRUE(share);
  EXPECT_EQ(share->index, 3u);
  EXPECT_EQ(share->of, 10u);
  for (const char* wrong : {"", "3", "/", "3/", "/10", "10/10", "-1/3", "1/2/3", "1 /2", "a/b"}) {
    EXPECT_FALSE(ParseShare(wrong)) << wrong;
  }
}

config::Config Skewed(std::string_view policy) {
  config::Config config = config::DefaultConfig();
  config.federation.policy = *policy::PolicyNamed(policy);
  config.federation.membership.learners = 3;
  config.data.sizes = data::SizeDistribution::kSkewed;
  config.simulation.builtin.training_examples = 300;
  config.simulation.builtin.test_examples = 70;
  return config;
}

TEST(BuiltinSite, TheSharesAreAllOfTheData) {
  const config::Config config = Skewed("async-dvw");
  uint64_t examples = 0;
  uint64_t largest = UINT64_MAX;
  for (uint32_t k = 0; k < 3; ++k) {
    SiteOptions options;
    options.data.what = "builtin";
    options.share = ShareOfData{k, 3};
    Result<LearnerSite> site = OpenLearnerSite(options, config, LearnerId(9));
    ASSERT_TRUE(site) << site.error().message;
    const uint64_t own = site->tools.trainer->training_examples();
    EXPECT_LT(own, largest) << "largest first";
    largest = own;
    ASSERT_TRUE(site->tools.own != nullptr && site->tools.of_others != nullptr);
    EXPECT_GT(site->validation_counts.examples(), 0u);
    examples += own + site->validation_counts.examples();
  }
  EXPECT_EQ(examples, 300u);
}

TEST(BuiltinSite, HasNoValidationSetWhereThePolicyNeedsNone) {
  SiteOptions options;
  options.data.what = "builtin";
  options.share = ShareOfData{1, 3};
  Result<LearnerSite> site = OpenLearnerSite(options, Skewed("async-fedavg"), LearnerId(1));
  ASSERT_TRUE(site);
  EXPECT_TRUE(site->validation_counts.none());
  EXPECT_EQ(site->tools.own, nullptr);
}

TEST(BuiltinSite, MustBeAShareAndHasNoFaultyLabels) {
  SiteOptions options;
  options.data.what = "builtin";
  Result<LearnerSite> whole = OpenLearnerSite(options, Skewed("async-dvw"), LearnerId(0));
  ASSERT_FALSE(whole);
  EXPECT_NE(whole.error().message.find("--share 0/3"), std::string::npos);
  options.share = ShareOfData{0, 3};
  options.faulty = "labels=random";
  EXPECT_FALSE(OpenLearnerSite(options, Skewed("async-dvw"), LearnerId(0)));
}

TEST(BuiltinSite, IsDealtByTheTableOfTheFederation) {
  const TemporaryDirectory directory;
  const std::string file = directory / "table.csv";
  config::Config config = Skewed("async-fedavg");
  config.data = {};
  ASSERT_TRUE(data::ParseClasses("table:" + file, config.data));
  SiteOptions options;
  options.data.what = "builtin";
  options.share = ShareOfData{1, 3};
  Result<LearnerSite> nowhere = OpenLearnerSite(options, config, LearnerId(1));
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find(file), std::string::npos) << nowhere.error().message;
  EXPECT_FALSE(OpenObserverSite({.what = "builtin"}, false, config));
  std::ofstream(file) << "10,5\n9,4\n3,7\n";
  Result<LearnerSite> site = OpenLearnerSite(options, config, LearnerId(1));
  ASSERT_TRUE(site) << site.error().message;
  EXPECT_EQ(site->tools.trainer->training_examples(), 13u);
  EXPECT_TRUE(OpenObserverSite({.what = "builtin"}, false, config));
}

TEST(ObserverSite, TestsOnAllOfTheTestExamples) {
  Result<ObserverSite> site = OpenObserverSite({.what = "builtin"}, false, Skewed("sync-dvw"));
  ASSERT_TRUE(site);
  EXPECT_EQ(site->test_set.examples(), 70u);
  EXPECT_NE(site->description.find("70 test examples"), std::string::npos);
}

}  // namespace
}  // namespace metis::site
