#include "metis/machine/disk.h"

#include "metis/core/testing.h"

namespace metis::machine {
namespace {

class DiskTest : public FileTest {};

TEST_F(DiskTest, TheNearestThatExistsIsItselfOrAboveIt) {
  EXPECT_EQ(NearestExisting(directory().string()), directory());
  EXPECT_EQ(NearestExisting(Path("not/made/yet")), directory());
  EXPECT_EQ(NearestExisting("/surely-not-there/nor/there"), "/");
  EXPECT_EQ(NearestExisting("").lexically_normal(),
            (std::filesystem::current_path() / ".").lexically_normal());
}

TEST_F(DiskTest, SpaceIsThatOfTheNearestDirectoryThatExists) {
  const Result<uint64_t> free = FreeSpace(Path("not/made/yet"));
  ASSERT_TRUE(free) << free.error().message;
  EXPECT_GT(*free, 0u);
}

}  // namespace
}  // namespace metis::machine
