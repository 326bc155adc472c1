#include "metis/data/load_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/data/testing.h"

namespace metis::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LoadDataTest : public FileTest {
 protected:
  std::string ErrorOf(const std::string& what) {
    Result<LoadedData> loaded = LoadData({.what = what, .directory = Path("sets")});
    return loaded ? "none" : loaded.error().message;
  }
};

TEST_F(LoadDataTest, AFileIsOneSetWithoutATestPart) {
  Result<LoadedData> loaded =
      LoadData({.what = Write("points.csv", "x,label\n1,0\n2,1\n3,1\n"), .directory = ""});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->train.size(), 3u);
  EXPECT_FALSE(loaded->test);
}

TEST_F(LoadDataTest, ErrorsSayTheWayOut) {
  EXPECT_THAT(ErrorOf("mnits"), HasSubstr("did you mean \"mnist\"?"));
  EXPECT_THAT(ErrorOf("cifar100"), AllOf(HasSubstr(Path("sets")), HasSubstr("metis data import")));
  EXPECT_THAT(ErrorOf(directory().string()), HasSubstr("is a directory"));
  EXPECT_THAT(ErrorOf(Path("absent.csv")), HasSubstr("absent.csv"));
}

}  // namespace
}  // namespace metis::data
