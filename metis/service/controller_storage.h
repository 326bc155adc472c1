// What a controller keeps of its federation in the run directory (docs/run-directory.md): the log
// of events and the files of models, or without durability nothing but models beyond the memory
// that they may have. One process has a run directory at a time: whoever opens it holds the lock.
// Everything is read and found good before anything in it is changed: going on costs a pass over
// the log and its models. The log belongs to the controller's loop; models are kept by any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/drivers/controller_host.h"
#include "metis/drivers/event_log.h"
#include "metis/service/controller_setup.h"
#include "metis/store/blob_store.h"
#include "metis/store/posix_file.h"

namespace metis::service {

// Keeps every other controller out of the run directory.
Result<store::ProcessLock> LockRun(const std::string& run);

// Of a run that a controller has begun: whether nothing has happened in it yet. An error if there
// is a record without the state that belongs to it.
Result<bool> BegunInVain(const ControllerSetup& setup, const std::string& run);

class ControllerStorage {
 public:
  // `setup` and `pool` outlive it.
  static Result<std::unique_ptr<ControllerStorage>> Open(const ControllerSetup& setup,
                                                         const std::string& run, ModelPool& pool);

  drivers::EventLog& log() { return *log_; }
  // How a host uses it: the store of models, and when a snapshot is due.
  void Furnish(drivers::ControllerHostOptions& options);
  // Keeps an update before it reaches the controller; null without durability.
  std::function<Result<void>(const ModelPtr&)> keep();

 private:
  ControllerStorage(const ControllerSetup& setup, std::string run)
      : setup_(setup), run_(std::move(run)) {}

  bool durable() const;
  Result<void> OpenLog();
  Result<void> CheckAll(ModelPool& pool);
  std::unique_ptr<federation::ModelStore> MakeStore();

  const ControllerSetup& setup_;
  const std::string run_;
  std::unique_ptr<store::BlobStore> blobs_;  // null: nothing is kept on disk
  std::unique_ptr<drivers::EventLog> log_;
  uint64_t events_ = 0;  // in it, when it was opened
};

}  // namespace metis::service
