#include "metis/service/controller_storage.h"

#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "metis/core/text.h"
#include "metis/drivers/durable_controller.h"
#include "metis/report/controller_files.h"
#include "metis/report/light_reader.h"
#include "metis/report/run_directory.h"
#include "metis/store/spilling_model_store.h"
#include "metis/store/sqlite_event_log.h"

namespace metis::service {
namespace {

namespace fs = std::filesystem;

std::string In(const std::string& run, const char* name) { return Text(run, "/", name); }

}  // namespace

Result<store::ProcessLock> LockRun(const std::string& run) {
  return store::ProcessLock::Take(In(run, report::kLockFile), run);
}

Result<bool> BegunInVain(const ControllerSetup& setup, const std::string& run) {
  const std::string record = In(run, report::kEventsFile);
  std::error_code absent;
  if (fs::file_size(record, absent) == 0 && !absent) return true;
  if (setup.goes_on && fs::file_size(In(run, report::kStateFile), absent) > 0) return false;
  return Invalid(Text(In(run, report::kStateFile), setup.goes_on ? " is empty" : " is missing",
                      ", but ", run,
                      " holds a federation: restore it from a copy together with its models, ",
                      "or begin anew in another directory (after storage.durability = \"none\" ",
                      "nothing else is left)"));
}

bool ControllerStorage::durable() const {
  return setup_.config.storage.durability == store::Durability::kFull;
}

Result<std::unique_ptr<ControllerStorage>> ControllerStorage::Open(const ControllerSetup& setup,
                                                                   const std::string& run,
                                                                   ModelPool& pool) {
  std::unique_ptr<ControllerStorage> storage(new ControllerStorage(setup, run));
  if (store::KeepsModels(setup.config.storage)) {
    Result<std::unique_ptr<store::BlobStore>> blobs =
        store::BlobStore::Open(In(run, report::kBlobsDirectory), pool);
    if (!blobs) return blobs.error();
    storage->blobs_ = *std::move(blobs);
  }
  if (Result<void> opened = storage->OpenLog(); !opened) return opened.error();
  if (!setup.goes_on) return storage;
  if (Result<void> good = storage->CheckAll(pool); !good) return good.error();
  return storage;
}

// Going on cuts the record back to the snapshot: not before all of the state was read. An event is
// in the log before it is in the record: where that has more, the end of the log was lost.
Result<void> ControllerStorage::CheckAll(ModelPool& pool) {
  drivers::DurableOptions options;
  options.store = MakeStore();
  Result<std::unique_ptr<drivers::DurableController>> read = drivers::DurableController::Open(
      setup_.config.federation, setup_.initial.model, pool, *log_, std::move(options));
  if (!read) return read.error();
  const std::string record = In(run_, report::kEventsFile);
  Result<uint64_t> recorded = report::CountEvents(record);
  if (!recorded) return recorded.error();
  if (*recorded <= events_ || setup_.accept_loss) return {};
  return Invalid(Text(In(run_, report::kStateFile), " ends with event ", events_, ", but ", record,
                      " has ", *recorded,
                      ": its journal (state.db-wal) is missing or damaged, or it is from ",
                      "an older copy. Restore the whole run directory from a copy, or go on ",
                      "without what came later: --accept-loss"));
}

Result<void> ControllerStorage::OpenLog() {
  if (durable()) {
    std::error_code absent;
    const uintmax_t recorded = fs::file_size(In(run_, report::kEventsFile), absent);
    Result<std::unique_ptr<store::SqliteEventLog>> log =
        store::SqliteEventLog::Open(In(run_, report::kStateFile), *blobs_, setup_.identity(),
                                    setup_.goes_on && !absent && recorded > 0);
    if (!log) return log.error();
    events_ = (*log)->events();
    log_ = *std::move(log);
    return {};
  }
  // What cannot be removed now can be with the next snapshot.
  if (blobs_) (void)blobs_->RemoveAllBut({});  // of an earlier process
  log_ = std::make_unique<drivers::NoEventLog>([this](const Archived& snapshot) {
    std::set<std::string> needed;
    for (const auto& [place, name] : snapshot.files) needed.insert(name);
    if (blobs_) (void)blobs_->RemoveAllBut(needed);
  });
  return {};
}

std::unique_ptr<federation::ModelStore> ControllerStorage::MakeStore() {
  if (!blobs_) return nullptr;
  const uint64_t memory_mb = setup_.config.storage.memory_mb;
  const uint64_t budget = memory_mb > 0 ? memory_mb << 20 : std::numeric_limits<uint64_t>::max();
  return std::make_unique<store::SpillingModelStore>(*blobs_, budget);
}

void ControllerStorage::Furnish(drivers::ControllerHostOptions& options) {
  options.store = MakeStore();
  options.snapshot_every = std::numeric_limits<uint64_t>::max();  // nobody would keep them
  if (!blobs_) return;
  options.snapshot_every = setup_.config.storage.snapshot_every;
  options.snapshot_bytes = store::LogBudget(setup_.config.federation.membership.learners,
                                            setup_.initial.model->bytes().size());
}

std::function<Result<void>(const ModelPtr&)> ControllerStorage::keep() {
  if (!durable()) return nullptr;
  return [blobs = blobs_.get()](const ModelPtr& model) -> Result<void> {
    Result<std::string> kept = blobs->Keep(model);
    if (!kept) return kept.error();
    return {};
  };
}

}  // namespace metis::service
