#include "apps/user_directories.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace metis::apps {
namespace {

class UserDirectories : public testing::Test {
 protected:
  UserDirectories() : home_(Value("HOME")), states_(Value("XDG_STATE_HOME")) {}
  ~UserDirectories() override {
    Set("HOME", home_);
    Set("XDG_STATE_HOME", states_);
  }
  static std::string Value(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  }
  static void Set(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), /*overwrite=*/1);
  }

  const std::string home_, states_;
};

TEST_F(UserDirectories, AreInTheHomeUnlessTheEnvironmentNamesAnotherPlace) {
  Set("HOME", "/home/alice");
  Set("XDG_STATE_HOME", "");
  EXPECT_EQ(StatesOfUser(), "/home/alice/.local/state/metis");
  EXPECT_EQ(DefaultDataDirectory(), "/home/alice/.local/share/metis/data");
  Set("XDG_STATE_HOME", "/var/states");
  EXPECT_EQ(StatesOfUser(), "/var/states/metis");
}

TEST_F(UserDirectories, WithoutAHomeThereAreNoStatesAndDataAreHere) {
  Set("HOME", "");
  Set("XDG_STATE_HOME", "");
  EXPECT_EQ(StatesOfUser(), "");
  EXPECT_EQ(DefaultDataDirectory(), "metis-data");
}

}  // namespace
}  // namespace metis::apps
