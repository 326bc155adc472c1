#include "metis/report/append_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/report/testing.h"

namespace metis::report {
namespace {

namespace fs = std::filesystem;

class AppendFileTest : public FileTest {
 protected:
  std::string Content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const fs::path path_ = Path("appended");
};

TEST_F(AppendFileTest, KeepsWhatAnEarlierLifeWroteUpToTheCut) {
  AppendFile::Open(path_, 0).value().Append("first line\nhalf a l");
  AppendFile::Open(path_, 11).value().Append("second line\n");
  EXPECT_EQ(Content(), "first line\nsecond line\n");
}

TEST_F(AppendFileTest, WhatDidNotFitIsWrittenOnceThereIsRoomAndLeavesNoHole) {
  AppendFile file = AppendFile::Open(path_, 0).value();
  const std::string model(50'000, 'm');  // larger than the buffer: written at once
  {
    const FullDisk full(20'000);
    file.Append("before\n");
    file.Append(model);
    file.Append("after\n");
    EXPECT_FALSE(file.Flush().ok());
    EXPECT_FALSE(file.Ready().ok());
    EXPECT_EQ(Content().size(), 20'000u) << "as much as fits";
  }
  EXPECT_TRUE(file.Ready().ok());
  EXPECT_TRUE(Content() == "before\n" + model + "after\n");
  file.Append("and on\n");
  EXPECT_TRUE(file.Sync().ok());
  EXPECT_TRUE(Content() == "before\n" + model + "after\nand on\n");
}

TEST_F(AppendFileTest, WhoeverGoesOnWithoutRoomIsCutOffForGood) {
  AppendFile file = AppendFile::Open(path_, 0).value();
  const std::string model(10 << 20, 'm');
  {
    const FullDisk full(4);
    for (int i = 0; i < 9; ++i) file.Append(model);
  }
  EXPECT_FALSE(file.Ready().ok());
  file.Append("more");
  EXPECT_FALSE(file.Sync().ok());
  EXPECT_EQ(Content(), "mmmm") << "a later line would follow a hole";
}

}  // namespace
}  // namespace metis::report
