#include "metis/site/participant.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "metis/core/testing.h"

namespace metis::site {
namespace {

class LivesTest : public FileTest {
 protected:
  // The number of a life that begins then, in a process of its own.
  uint32_t Begin(uint32_t now_s) {
    return Lives::Open(directory_).value()->Begin(now_s).value().value();
  }

  const std::string directory_ = Path("participant");
};

TEST_F(LivesTest, EveryLifeIsGreaterThanAllBeforeAndAtLeastTheCalendar) {
  EXPECT_EQ(Begin(1000), 1000u);
  EXPECT_EQ(Begin(1000), 1001u) << "twice in a second";
  EXPECT_EQ(Begin(7), 1002u) << "a clock that was set back";
  EXPECT_EQ(Begin(5000), 5000u);
  std::filesystem::remove_all(directory_);
  EXPECT_EQ(Begin(5003), 5003u) << "a lost file does no harm";
}

TEST_F(LivesTest, AreLivedOneAtATime) {
  std::unique_ptr<Lives> first = Lives::Open(directory_).value();
  Result<std::unique_ptr<Lives>> second = Lives::Open(directory_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(directory_), std::string::npos);
  first.reset();
  EXPECT_TRUE(Lives::Open(directory_));
}

TEST_F(LivesTest, ADamagedFileIsNamed) {
  Begin(10);
  for (const char* damaged : {"", "12x", "-1", "4294967295", "99999999999"}) {
    std::ofstream(directory_ + "/incarnation") << damaged << "\n";
    Result<Incarnation> next = Lives::Open(directory_).value()->Begin(10);
    ASSERT_FALSE(next) << damaged;
    EXPECT_NE(next.error().message.find("/incarnation"), std::string::npos);
  }
}

TEST(SchemaDifference, NamesTheTensorsThatDiffer) {
  const auto schema = [](std::vector<TensorSpec> tensors) {
    return ModelSchema::Create(std::move(tensors)).value();
  };
  const SchemaPtr one = schema({{"weight", {10, 20}}, {"bias", {10}}});
  EXPECT_EQ(SchemaDifference(*one, *schema({{"weight", {10, 20}}, {"bias", {10}}})), "");
  EXPECT_EQ(SchemaDifference(*one, *schema({{"weight", {10, 20}}, {"bias", {7}}, {"scale", {3}}})),
            "  tensor 1: the federation's is bias 10, this one's bias 7\n"
            "  tensor 2: the federation's is nothing, this one's scale 3");
}

}  // namespace
}  // namespace metis::site
