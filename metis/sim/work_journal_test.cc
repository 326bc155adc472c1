#include "metis/sim/work_journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "metis/core/text.h"
#include "metis/policy/policy.h"
#include "metis/sim/simulator.h"
#include "metis/sim/testing.h"

namespace metis::sim {
namespace {

namespace fs = std::filesystem;
using Kind = WorkKey::Kind;

class WorkJournalTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }

  // Tests of other processes have other names.
  static std::string OwnName() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    std::string name = Text(test.test_suite_name(), "_", test.name());
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
  }
  const std::string path_ = Text(testing::TempDir(), "metis_work_", OwnName());
  const WorkKey first_{Kind::kEpoch, 3, 0xabcdef0123456789, 2, 5};
  const WorkKey second_{Kind::kModel, 3, 0xabcdef0123456789, 2, 5};
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
  EXPECT_EQ(journal->Find({Kind::kEpoch, 4, 0xabcdef0123456789, 2, 5}), std::nullopt);
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
  EXPECT_NE(WorkJournal::Open(path_).error().message.find("is no record of work done"),
            std::string::npos);
  fs::remove(path_);
  EXPECT_EQ(WorkJournal::Open(path_).error().code, ErrorCode::kNotFound);
}

// A federation, with its journal cut off at several places.
class ResumedRun : public WorkJournalTest, public testing::WithParamInterface<std::string_view> {
 protected:
  struct Outcome {
    uint64_t state_hash = 0;
    uint64_t examples = 0;
  };
  Outcome Run(WorkJournal* journal, double seconds, uint32_t threads = 1) {
    federation::Settings federation = SmallFederation(GetParam(), 4);
    federation.test.every = Duration::Seconds(2);
    Settings simulation;
    simulation.groups[0].learners = 2;
    simulation.groups[1].learners = 2;
    auto workload = SmallWorkload(4, federation::NeedsValidationSet(federation.policy));
    Simulator simulator({.federation = federation,
                         .simulation = simulation,
                         .workload = *workload,
                         .threads = threads,
                         .journal = journal});
    simulator.Run(At(seconds));
    return {simulator.controller().StateHash(), simulator.examples_trained()};
  }
};

TEST_P(ResumedRun, EndsInTheSameStateAndTrainsOnlyWhatIsMissing) {
  const Outcome whole = Run(nullptr, 60);
  ASSERT_GT(whole.examples, 1000u);
  {
    auto journal = WorkJournal::Create(path_, "").value();
    EXPECT_EQ(Run(journal.get(), 60).state_hash, whole.state_hash);
  }
  const uint64_t bytes = fs::file_size(path_);
  {
    auto journal = WorkJournal::Open(path_).value();
    const Outcome again = Run(journal.get(), 60);
    EXPECT_EQ(again.state_hash, whole.state_hash);
    EXPECT_EQ(again.examples, 0u) << "all of it was in the journal";
  }
  EXPECT_EQ(fs::file_size(path_), bytes) << "nothing is kept twice";
  for (const double part : {0.9, 0.4, 0.05}) {
    fs::resize_file(path_, static_cast<uint64_t>(part * static_cast<double>(bytes)));
    auto journal = WorkJournal::Open(path_).value();
    const Outcome resumed = Run(journal.get(), 60, 3);
    EXPECT_EQ(resumed.state_hash, whole.state_hash) << part;
    EXPECT_GT(resumed.examples, 0u) << part;
    // Epochs of a cycle whose model is not there are found and trained again.
    if (part > 0.1) {
      EXPECT_LT(resumed.examples, whole.examples) << part;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ResumedRun, testing::ValuesIn(policy::kPolicyNames),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace metis::sim
