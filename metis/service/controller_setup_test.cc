#include "metis/service/controller_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "metis/core/fingerprint.h"
#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/report/controller_files.h"

namespace metis::service {
namespace {

using testing::HasSubstr;

class ControllerSetupTest : public FileTest {
 protected:
  ControllerSetupTest() { options_.run = Path("run"); }

  void Touch(const char* name) const { std::ofstream(options_.run + "/" + name); }
  // As a start leaves the directory.
  ControllerSetup Begin() {
    ControllerSetup setup = ReadSetup(options_).value();
    std::filesystem::create_directory(options_.run);
    EXPECT_TRUE(WriteSetup(setup, options_.run));
    EXPECT_TRUE(report::WriteRunFile(std::filesystem::path(options_.run) / report::kConfigFile,
                                     setup.config_toml()));
    Touch(report::kStateFile);
    return setup;
  }

  ControllerOptions options_;
};

TEST_F(ControllerSetupTest, ALaterStartGoesOnWithTheSameFederation) {
  const ControllerSetup first = Begin();
  EXPECT_FALSE(first.goes_on);
  Result<ControllerSetup> later = ReadSetup(options_);
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_TRUE(later->goes_on);
  EXPECT_EQ(later->federation, first.federation);
  EXPECT_EQ(later->identity(), first.identity());
  options_.record = report::Record::kReplayable;
  EXPECT_THAT(ReadSetup(options_).error().message, HasSubstr("--record replayable"));
}

// As a program wrote it that knew fewer keys, and a section less.
TEST_F(ControllerSetupTest, KeysThatCameLaterLeaveTheIdentity) {
  const std::string whole = Begin().config_toml();
  std::string older = whole;
  for (const std::string cut : {"evaluators = \"all-others\"\n", "sample_size = 3\n",
                                "[fedasync]\nalpha = 0.5\nstaleness_exponent = 0.5\n\n"}) {
    ASSERT_NE(older.find(cut), std::string::npos) << cut;
    older.erase(older.find(cut), cut.size());
  }
  const std::filesystem::path path = std::filesystem::path(options_.run) / report::kConfigFile;
  ASSERT_TRUE(report::WriteRunFile(path, older));
  ControllerSetup setup = ReadSetup(options_).value();
  setup.config.network.listen = "127.0.0.1:7741";  // no part of it
  const std::string of_older = setup.identity();
  setup.begun_with = whole;
  EXPECT_NE(setup.identity(), of_older);
  // What the older program would have computed: it wrote exactly these lines.
  EXPECT_EQ(of_older, Text("configuration ", Hex(Fingerprint(older)), ", initial model ",
                           Hex(setup.initial.model->Fingerprint())));
  options_.overrides = {config::ParseAssignment("validation.sample_size=4").value()};
  EXPECT_NE(ReadSetup(options_).value().identity(), of_older);
}

TEST_F(ControllerSetupTest, FederationsWithTheSameSettingsHaveNamesOfTheirOwn) {
  const ControllerSetup one = ReadSetup(options_).value(), other = ReadSetup(options_).value();
  EXPECT_EQ(one.identity(), other.identity());
  EXPECT_NE(one.federation, other.federation);
}

TEST_F(ControllerSetupTest, HowItIsReachedIsNoPartOfAFederationsIdentity) {
  const ControllerSetup one = ReadSetup(options_).value();
  options_.overrides = {config::ParseAssignment("network.listen=127.0.0.1:7741").value()};
  EXPECT_EQ(ReadSetup(options_).value().identity(), one.identity());
  options_.overrides = {config::ParseAssignment("federation.seed=7").value()};
  EXPECT_NE(ReadSetup(options_).value().identity(), one.identity());
}

TEST_F(ControllerSetupTest, RealDataNeedAModelToBeginWith) {
  options_.overrides = {config::ParseAssignment("data.dataset=mnist").value()};
  EXPECT_THAT(ReadSetup(options_).error().message, HasSubstr("metis model init"));
}

TEST_F(ControllerSetupTest, AStartThatDiedBeforeItNamedItsFederationIsRecognised) {
  std::filesystem::create_directory(options_.run);
  EXPECT_FALSE(NeverNamed(options_.run)) << "nothing is there";
  Touch(report::kEventsFile);
  Touch(report::kConfigFile);
  EXPECT_TRUE(NeverNamed(options_.run));
  Touch(report::kFederationFile);
  EXPECT_FALSE(NeverNamed(options_.run));
}

}  // namespace
}  // namespace metis::service
