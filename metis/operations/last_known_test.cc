#include "metis/operations/last_known.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "metis/core/testing.h"
#include "metis/federation/testing.h"
#include "metis/report/run_directory.h"

namespace metis::operations {
namespace {

using federation::Harness;
using federation::SettingsFor;

class LastKnown : public FileTest {
 protected:
  LastKnown() {
    writer_ = report::RunWriter::Create(run_, "", harness_.initial(), false, report::Record::kLight)
                  .value();
  }

  void Tell() {
    writer_->Event(harness_.now(), harness_.history().back().second);
    for (const federation::Action& action : harness_.actions()) {
      writer_->Action(harness_.now(), action);
    }
    ASSERT_TRUE(writer_->Ready());
  }
  // Two learners, three updates of unequal worth, a test.
  void Live() {
    harness_.JoinObserver(9);
    Tell();
    for (uint32_t k : {0u, 1u}) {
      harness_.Join(k);
      Tell();
    }
    harness_.Test(9, 0, 35);
    Tell();
    for (auto [learner, sequence] : {std::pair{0u, 1u}, {1u, 1u}, {0u, 2u}}) {
      harness_.After(Duration::Seconds(2));
      harness_.Update(learner, sequence, 1.5f);
      Tell();
    }
  }

  const std::string run_ = Path("run");
  Harness harness_{SettingsFor("async-fedavg", 2)};
  std::unique_ptr<report::RunWriter> writer_;
};

TEST_F(LastKnown, IsWhatTheRecordEndsWith) {
  Live();
  ASSERT_TRUE(writer_->Sync());
  Result<Status> status = ReadLastKnown(run_);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->phase, "");
  EXPECT_EQ(status->version, 3u);
  EXPECT_EQ(status->requests, 3u);
  EXPECT_EQ(status->committed_steps, 30u);
  EXPECT_EQ(status->time_s, harness_.now().seconds());
  EXPECT_EQ(status->best->accuracy, 0.35);
  ASSERT_EQ(status->participants.size(), 2u);
  EXPECT_EQ(status->participants[0].updates, 2u);
  EXPECT_DOUBLE_EQ(status->participants[1].share, 47.0 / 77);
}

TEST_F(LastKnown, SaysWhyAFederationFinished) {
  Live();
  harness_.Command(federation::OperatorCommand::Kind::kStop);
  Tell();
  report::RunFacts facts;
  facts.policy = "async-fedavg";
  facts.complete = true;
  ASSERT_TRUE(writer_->Finish(facts, harness_.controller()));
  Result<Status> status = ReadLastKnown(run_);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->phase, "finished");
  EXPECT_EQ(status->stopped_by, "operator");
  EXPECT_EQ(status->policy, "async-fedavg");
}

TEST_F(LastKnown, ARunWithoutARecordIsNamed) {
  Result<Status> status = ReadLastKnown(run_ + "-other");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(run_ + "-other"), std::string::npos);
}

}  // namespace
}  // namespace metis::operations
