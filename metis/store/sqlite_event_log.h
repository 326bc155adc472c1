// The event log on disk: SQLite (WAL, synchronous=FULL) for events and snapshots, a BlobStore for
// the models in them. One process at a time: a second one is told who holds it. A file of a newer
// format, a damaged one, a full disk: named errors, and nothing is overwritten.
//
// Events before the latest snapshot are dropped with it, and so are blobs that nothing refers to
// any more.
#pragma once

#include <memory>
#include <string>

#include "metis/core/result.h"
#include "metis/drivers/event_log.h"
#include "metis/store/blob_store.h"

namespace metis::store {

inline constexpr int64_t kLogFormat = 1;  // of the file

class SqliteEventLog final : public drivers::EventLog {
 public:
  // `identity` says whose log it is (the federation's configuration and initial model, in a few
  // words): that of an existing file must be equal. The blobs outlive it and are its own. If events
  // are known to be in it, a file without any table is a damaged one, not a new one.
  static Result<std::unique_ptr<SqliteEventLog>> Open(const std::string& path, BlobStore& blobs,
                                                      const std::string& identity,
                                                      bool has_events = false);
  ~SqliteEventLog() override;

  Result<void> Append(Instant time, const federation::Event& event) override;
  Result<void> SaveSnapshot(Archived snapshot) override;
  Result<drivers::Recovered> Load() const override;
  Result<void> Replay(const OnSnapshot& on_snapshot, const OnEvent& on_event) const override;
  uint64_t events_before_snapshot() const override;
  uint64_t events() const;  // in all, those before the snapshot too

 private:
  struct State;
  explicit SqliteEventLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace metis::store
