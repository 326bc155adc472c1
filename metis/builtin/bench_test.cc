#include "metis/work/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "metis/builtin/workload.h"
#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/work/journal.h"
#include "metis/work/journal_bench.h"
#include "metis/work/workload_tools.h"

namespace metis::work {
namespace {

class CountingTools final : public WorkloadTools {
 public:
  using WorkloadTools::WorkloadTools;

  Lent<learner::Trainer> Trainer(uint32_t who) override {
    ++trainers;
    return WorkloadTools::Trainer(who);
  }

  int trainers = 0;
};

constexpr uint32_t kSite = 1;

class BenchTest : public testing::TestWithParam<bool> {
 protected:
  BenchTest() {
    learner::TrainingSettings training;
    training.batch_size = 7;
    training.proximal = 0.01;
    training.validation_fraction = 0.2;
    training.keep_momentum = GetParam();
    data::PartitionSettings partition;
    partition.sizes = data::SizeDistribution::kSkewed;
    workload_ = builtin::BuiltinWorkload::Create(
                    {.classes = 3, .features = 4, .training_examples = 150, .test_examples = 40},
                    partition, training, 3, true, 11)
                    .value();
    tools_ = std::make_unique<CountingTools>(*workload_);
  }

  Work Epoch(ModelPtr model, LearnerState state, uint64_t cycle, uint64_t epoch) {
    Work work;
    work.who = kSite;
    work.model = std::move(model);
    work.state = std::move(state);
    work.cycle = cycle;
    work.epoch = epoch;
    work.evaluate = true;
    return work;
  }
  Work TakeModel(const Work& epoch, const LearnerState& state) {
    Work work = epoch;
    work.kind = Kind::kModel;
    work.state = state;
    return work;
  }
  struct Outcome {
    std::vector<double> losses;
    std::vector<uint64_t> models;  // fingerprints
    uint64_t examples = 0;
  };
  // Two cycles of three epochs, the second from what the first one came to.
  Outcome TwoCycles(Bench& bench) {
    Outcome outcome;
    ModelPtr received = workload_->initial();
    LearnerState state;
    for (uint64_t cycle : {1u, 2u}) {
      if (!GetParam()) state = {};
      Work work;
      for (uint64_t epoch : {1u, 2u, 3u}) {
        work = Epoch(received, state, cycle, epoch);
        WorkResult done = bench.Do(work, {}).value();
        outcome.losses.push_back(done.evaluation->loss);
        outcome.examples += done.examples;
        state = done.state;
      }
      WorkResult taken = bench.Do(TakeModel(work, state), {}).value();
      outcome.models.push_back(taken.model->Fingerprint());
      outcome.examples += taken.examples;
      state = taken.state;
      received = taken.model;
    }
    return outcome;
  }
  // The same with one trainer that keeps everything in itself.
  Outcome OneTrainer() {
    Outcome outcome;
    ModelPtr received = workload_->initial();
    auto trainer = workload_->MakeTrainer(LearnerId(kSite));
    auto evaluator = workload_->MakeEvaluator(LearnerId(kSite));
    for (uint64_t cycle : {1u, 2u}) {
      EXPECT_TRUE(trainer->Load(received).ok());
      for (uint64_t epoch : {1u, 2u, 3u}) {
        outcome.examples += trainer->TrainEpoch({cycle, epoch}, {})->examples;
        outcome.losses.push_back(evaluator->Evaluate(*trainer->Snapshot().value())->loss);
      }
      received = trainer->Snapshot().value();
      outcome.models.push_back(received->Fingerprint());
    }
    return outcome;
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "journal";
  std::unique_ptr<builtin::BuiltinWorkload> workload_;
  std::unique_ptr<CountingTools> tools_;
};

INSTANTIATE_TEST_SUITE_P(Momentum, BenchTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "kept" : "anew"; });

TEST_P(BenchTest, WorkInPiecesGivesTheBitsOfATrainerThatTrainsOn) {
  ToolBench bench(*tools_);
  const Outcome pieces = TwoCycles(bench);
  const Outcome whole = OneTrainer();
  EXPECT_EQ(pieces.models, whole.models);
  EXPECT_EQ(pieces.losses, whole.losses);
  EXPECT_EQ(pieces.examples, whole.examples);
  EXPECT_EQ(tools_->trainers, 8) << "one for each piece";
}

TEST_P(BenchTest, TheSameWorkTwiceIsTheSameResultAndAnAbandonedOneLeavesNothing) {
  ToolBench bench(*tools_);
  const Work first = Epoch(workload_->initial(), {}, 1, 1);
  const WorkResult once = bench.Do(first, {}).value();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(bench.Do(Epoch(workload_->initial(), once.state, 1, 2), stop.get_token()).ok());
  const WorkResult again = bench.Do(first, {}).value();
  EXPECT_EQ(once.state.id, again.state.id);
  EXPECT_EQ(once.state.value->bytes, again.state.value->bytes);
  EXPECT_EQ(once.evaluation->loss, again.evaluation->loss);
}

TEST_P(BenchTest, AStateIsNamedByWhatDeterminesIt) {
  const Work work = Epoch(workload_->initial(), {}, 1, 1);
  Work other = work;
  other.epoch = 2;
  EXPECT_NE(StateAfter(work), StateAfter(other));
  other = work;
  other.who = 2;
  EXPECT_NE(StateAfter(work), StateAfter(other));
  other = work;
  other.state.id = 5;
  EXPECT_NE(StateAfter(work), StateAfter(other));
  EXPECT_NE(work.key(), other.key());
}

TEST_P(BenchTest, AJournalGivesTheSameAndWhatItLacksIsTrainedAgain) {
  ToolBench tools(*tools_);
  const Outcome plain = TwoCycles(tools);
  {
    auto journal = WorkJournal::Create(path_, "").value();
    JournalBench bench(tools, *journal, workload_->pool(), GetParam());
    EXPECT_EQ(TwoCycles(bench).models, plain.models);
  }
  const uint64_t bytes = std::filesystem::file_size(path_);
  for (const double part : {1.0, 0.8, 0.55, 0.3}) {
    std::filesystem::resize_file(path_, static_cast<uint64_t>(part * static_cast<double>(bytes)));
    auto journal = WorkJournal::Open(path_).value();
    JournalBench bench(tools, *journal, workload_->pool(), GetParam());
    const Outcome found = TwoCycles(bench);
    EXPECT_EQ(found.models, plain.models) << part;
    EXPECT_EQ(found.losses, plain.losses) << part;
    if (part == 1.0) {
      EXPECT_EQ(found.examples, 0u);
    }
    EXPECT_LE(found.examples, plain.examples + plain.examples / 2) << part;
  }
}

TEST_P(BenchTest, AStateOfAnotherTaskIsRefused) {
  ToolBench bench(*tools_);
  LearnerState state{7, std::make_shared<learner::TrainingState>(learner::TrainingState{"short"}),
                     nullptr};
  Result<WorkResult> done = bench.Do(Epoch(workload_->initial(), state, 1, 2), {});
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, testing::HasSubstr("5 bytes"));
}

}  // namespace
}  // namespace metis::work
