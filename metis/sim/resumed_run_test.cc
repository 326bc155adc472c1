// Runs that find in a journal what an earlier start of theirs has done.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/policy/policy.h"
#include "metis/sim/simulator.h"
#include "metis/sim/testing.h"
#include "metis/work/journal.h"

namespace metis::sim {
namespace {

namespace fs = std::filesystem;
using work::WorkJournal;

// A federation, with its journal cut off at several places.
class ResumedRun : public testing::TestWithParam<std::string_view> {
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
    auto workload =
        SmallWorkload(4, federation::NeedsValidationSet(federation.policy), 7, keep_momentum_);
    Simulator simulator({.federation = federation,
                         .simulation = simulation,
                         .workload = *workload,
                         .threads = threads,
                         .journal = journal});
    simulator.Run(At(seconds));
    return {simulator.controller().StateHash(), simulator.examples_trained()};
  }
  // Runs that are cut off in several places and resumed end as one that never was.
  void CutAndResume();

  // Tests of other processes have other names.
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "journal";
  bool keep_momentum_ = false;
};

void ResumedRun::CutAndResume() {
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

TEST_P(ResumedRun, EndsInTheSameStateAndTrainsOnlyWhatIsMissing) { CutAndResume(); }

TEST_P(ResumedRun, DoesSoWhereMomentumOutlivesAReceivedModel) {
  keep_momentum_ = true;
  CutAndResume();
}

INSTANTIATE_TEST_SUITE_P(Policies, ResumedRun, testing::ValuesIn(policy::kPolicyNames),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace metis::sim
