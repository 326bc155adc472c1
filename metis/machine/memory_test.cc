#include "metis/machine/memory.h"

#include <fstream>

#include "metis/core/testing.h"

namespace metis::machine {
namespace {

class MemoryTest : public FileTest {
 protected:
  MemoryTest() {
    std::filesystem::create_directories(Path("self"));
    std::filesystem::create_directories(Path("unit"));
    Write("meminfo", "MemTotal: 4000 kB\nMemFree: 7 kB\nMemAvailable:   3000 kB\n");
    Write("self/cgroup", "0::/unit\n");
  }
  void Write(const char* name, const char* text) const { std::ofstream(Path(name)) << text; }
  Memory Read() const { return ReadMemory(Path(""), Path("")).value(); }
};

TEST_F(MemoryTest, IsTheMachinesWhereTheGroupHasNoLimit) {
  for (bool limit : {false, true}) {
    if (limit) Write("unit/memory.max", "max\n");
    EXPECT_EQ(Read().total, 4000u * 1024);
    EXPECT_EQ(Read().free, 3000u * 1024);
    EXPECT_EQ(Read().free_at_most, 3000u * 1024);
  }
}

TEST_F(MemoryTest, IsWhatTheGroupAllows) {
  Write("unit/memory.max", "1024000\n");
  Write("unit/memory.current", "24000\n");
  EXPECT_EQ(Read().total, 1024000u);
  EXPECT_EQ(Read().free, 1000000u);
  EXPECT_EQ(Read().free_at_most, 1024000u);
  Write("unit/memory.current", "2000000\n");
  EXPECT_EQ(Read().free, 0u) << "it has more than it may have by now";
}

TEST_F(MemoryTest, IsUnknownWhereTheSystemDoesNotSay) {
  EXPECT_FALSE(ReadMemory(Path("absent")));
  Write("meminfo", "MemTotal: 4000 kB\n");
  EXPECT_FALSE(ReadMemory(Path(""), Path("")));
}

TEST(Memory, OfThisMachineIsKnown) {
  const std::optional<Memory> memory = ReadMemory();
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->free, 0u);
  EXPECT_GE(memory->free_at_most, memory->free);
  EXPECT_GE(memory->total, memory->free_at_most);
}

TEST(ResidentBytes, AreThoseOfThisProcess) {
  EXPECT_GT(ResidentBytes(), 1'000'000u);
  EXPECT_EQ(ResidentBytes("no-process"), 0u);
}

}  // namespace
}  // namespace metis::machine
