#include "metis/store/inspect_log.h"

#include <utility>

#include "metis/store/posix_file.h"
#include "metis/store/sqlite_event_log.h"
#include "metis/store/testing.h"

namespace metis::store {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class InspectLog : public ::testing::Test {
 protected:
  // Three events after a snapshot of two; one of them has a model.
  void WriteLog() {
    auto blobs = *BlobStore::Open(directory_ / "blobs", pool_);
    auto log = *SqliteEventLog::Open(path_, *blobs, "whose it is");
    for (int i = 0; i < 2; ++i) Append(*log);
    ASSERT_TRUE(log->SaveSnapshot({"snapshot", {}}));
    for (int i = 0; i < 2; ++i) Append(*log);
    federation::UpdateReceived update;
    update.model = models_.From(3.5f);
    ASSERT_TRUE(log->Append(Instant(), update));
  }
  void Append(SqliteEventLog& log) {
    ASSERT_TRUE(log.Append(Instant(), federation::LearnerLeft{LearnerId(1), Incarnation(1)}));
  }
  void Execute(const char* sql) { ExecuteSql(path_, sql); }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "state.db";
  federation::Models models_;
  ModelPool& pool_ = models_.pool();
};

TEST_F(InspectLog, TellsWhoseItIsAndWhatItRefersTo) {
  WriteLog();
  Result<LogFacts> facts = store::InspectLog(path_);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->format, kLogFormat);
  EXPECT_EQ(facts->identity, "whose it is");
  EXPECT_EQ(facts->events, 5u);
  EXPECT_EQ(facts->events_before, 2u);
  ASSERT_THAT(facts->blobs, SizeIs(1));
  EXPECT_TRUE(std::filesystem::exists(directory_ / ("blobs/" + facts->blobs[0])));
}

TEST_F(InspectLog, ChangesNoByte) {
  WriteLog();
  const auto before = AllFiles(directory_.path());
  ASSERT_TRUE(store::InspectLog(path_));
  EXPECT_EQ(AllFiles(directory_.path()), before);
}

TEST_F(InspectLog, ReadsWhatACrashLeftInTheJournal) {
  WriteLog();
  TemporaryDirectory copy;
  {
    auto blobs = *BlobStore::Open(directory_ / "blobs", pool_);
    auto log = *SqliteEventLog::Open(path_, *blobs, "whose it is");
    Append(*log);
    std::filesystem::copy(path_, copy / "state.db");  // as if the power had failed here
    std::filesystem::copy(path_ + "-wal", copy / "state.db-wal");
  }
  const auto before = AllFiles(copy.path());
  Result<LogFacts> facts = store::InspectLog(copy / "state.db");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->events, 6u);
  EXPECT_EQ(AllFiles(copy.path()), before);
}

TEST_F(InspectLog, OfANewerFormatTellsTheFormat) {
  WriteLog();
  Execute("UPDATE meta SET format = 7");
  Result<LogFacts> facts = store::InspectLog(path_);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->format, 7);
  EXPECT_THAT(facts->blobs, SizeIs(0));
}

TEST_F(InspectLog, SaysWhatIsNoLog) {
  PutBytes(path_, "scribbled over, and long enough to be taken for a file of some kind");
  Result<LogFacts> facts = store::InspectLog(path_);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(facts.error().message, HasSubstr(path_));

  std::filesystem::remove(path_);
  Execute("CREATE TABLE other (a)");
  facts = store::InspectLog(path_);
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message, HasSubstr("not the state of a federation"));
}

TEST_F(InspectLog, SaysWhatIsNotThere) {
  Result<LogFacts> facts = store::InspectLog(path_);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::kUnavailable);
}

TEST_F(InspectLog, NamesTheHolderOfALockAndNobodyElse) {
  const std::string lock = directory_ / "lock";
  EXPECT_EQ(LockHolder(lock), std::nullopt);
  {
    Result<ProcessLock> held = ProcessLock::Take(lock, "something");
    ASSERT_TRUE(held);
    EXPECT_EQ(LockHolder(lock), std::to_string(::getpid()));
  }
  EXPECT_EQ(LockHolder(lock), std::nullopt);
}

}  // namespace
}  // namespace metis::store
