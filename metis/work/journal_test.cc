#include "metis/work/journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "metis/core/testing.h"
#include "metis/core/text.h"

namespace metis::work {
namespace {

namespace fs = std::filesystem;

class WorkJournalTest : public FileTest {
 protected:
  const std::string path_ = Path("journal");
  const WorkKey first_{Kind::kEpoch, 3, 0xabcdef0123456789, 77, 2, 5};
  const WorkKey second_{Kind::kModel, 3, 0xabcdef0123456789, 77, 2, 5};
};

TEST_F(WorkJournalTest, WhatWasKeptIsFoundWhenTheFileIsOpenedAgain) {
  {
    auto journal = WorkJournal::Create(path_, "run 7").value();
    journal->Keep(first_, "one");
    journal->Keep(second_, std::string("t\0wo", 4));
  }
  auto journal = WorkJournal::Open(path_).value();
  EXPECT_EQ(journal->identity(), "run 7");
  EXPECT_EQ(journal->found(), 2u);
  EXPECT_EQ(journal->Find(first_), "one");
  EXPECT_EQ(journal->Find(second_), std::string("t\0wo", 4));
  EXPECT_EQ(journal->Find({Kind::kEpoch, 3, 0xabcdef0123456789, 78, 2, 5}), std::nullopt)
      << "another state is other work";
  EXPECT_EQ(journal->Find({Kind::kEpoch, 4, 0xabcdef0123456789, 77, 2, 5}), std::nullopt);
}

TEST_F(WorkJournalTest, ATornRecordIsCutOffAndTheFileGoesOn) {
  {
    auto journal = WorkJournal::Create(path_, "run 7").value();
    journal->Keep(first_, "whole");
    journal->Keep(second_, "this one is cut");
  }
  fs::resize_file(path_, fs::file_size(path_) - 3);
  {
    auto journal = WorkJournal::Open(path_).value();
    EXPECT_EQ(journal->found(), 1u);
    journal->Keep(second_, "again");
  }
  auto journal = WorkJournal::Open(path_).value();
  EXPECT_EQ(journal->Find(first_), "whole");
  EXPECT_EQ(journal->Find(second_), "again");
}

TEST_F(WorkJournalTest, ADamagedRecordAndWhatFollowsIsNotFound) {
  {
    auto journal = WorkJournal::Create(path_, "").value();
    journal->Keep(first_, "whole");
    journal->Keep(second_, "damaged");
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-12, std::ios::end);
  file.put('?');
  file.close();
  auto journal = WorkJournal::Open(path_).value();
  EXPECT_EQ(journal->Find(first_), "whole");
  EXPECT_EQ(journal->Find(second_), std::nullopt);
}

TEST_F(WorkJournalTest, AnotherFileIsRefused) {
  std::ofstream(path_) << "something else entirely";
  EXPECT_NE(WorkJournal::Open(path_).error().message.find("is not a record of work done"),
            std::string::npos);
  fs::remove(path_);
  EXPECT_EQ(WorkJournal::Open(path_).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace metis::work
