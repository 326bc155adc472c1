#include "metis/drivers/durable_controller.h"

#include "metis/core/planted.h"

namespace metis::drivers {

DurableController::DurableController(const federation::Settings& settings, ModelPtr initial,
                                     ModelPool& pool, EventLog& log, DurableOptions options)
    : options_(std::move(options)),
      store_(std::move(options_.store)),
      controller_(settings, std::move(initial), pool, store_),
      log_(log) {}

Result<std::unique_ptr<DurableController>> DurableController::Open(
    const federation::Settings& settings, ModelPtr initial, ModelPool& pool, EventLog& log,
    DurableOptions options) {
  if (!options.store) options.store = std::make_unique<federation::MemoryModelStore>();
  std::unique_ptr<DurableController> opened(
      new DurableController(settings, std::move(initial), pool, log, std::move(options)));
  if (Result<void> recovered = opened->Recover(); !recovered) return recovered.error();
  return opened;
}

Result<void> DurableController::Recover() {
  std::vector<federation::Action> actions;
  return log_.Replay([this](const Archived& snapshot) { return controller_.Restore(snapshot); },
                     [this, &actions](const LoggedEvent& logged) -> Result<void> {
                       actions.clear();
                       controller_.Handle(logged.time, logged.event, actions);
                       if (Result<void> read = CheckStore(); !read) return read;
                       Count(logged.event);
                       if (options_.recorder == nullptr) return {};
                       options_.recorder->Event(logged.time, logged.event);
                       for (const federation::Action& action : actions) {
                         options_.recorder->Action(logged.time, action);
                       }
                       return {};
                     });
}

Result<void> DurableController::Handle(Instant now, const federation::Event& event,
                                       std::vector<federation::Action>& out) {
  if (Planted(PlantedBug::kActionBeforeDurable)) {
    if (unlogged_) (void)log_.Append(unlogged_->time, unlogged_->event);
    unlogged_ = LoggedEvent{now, event};
    controller_.Handle(now, event, out);
    return {};
  }
  if (failure_) return *failure_;
  if (options_.before_event) {
    if (Result<void> ready = options_.before_event(); !ready) return ready;
  }
  // Before the event, not after it: a snapshot that fails must not hide what the event caused.
  if (since_snapshot_ >= options_.snapshot_every ||
      bytes_since_snapshot_ >= options_.snapshot_bytes) {
    if (options_.before_snapshot) {
      if (Result<void> ready = options_.before_snapshot(); !ready) return ready;
    }
    if (Result<void> saved = log_.SaveSnapshot(controller_.Snapshot()); !saved) return saved;
    since_snapshot_ = 0;
    bytes_since_snapshot_ = 0;
  }
  if (Result<void> appended = log_.Append(now, event); !appended) return appended;
  const auto before = static_cast<std::ptrdiff_t>(out.size());
  controller_.Handle(now, event, out);
  if (Result<void> read = CheckStore(); !read) {
    out.erase(out.begin() + before, out.end());
    return read;
  }
  Count(event);
  return {};
}

Result<void> DurableController::CheckStore() {
  if (Planted(PlantedBug::kUnreadIgnored)) return {};
  if (!store_.failure() || !log_.remembers()) return {};
  failure_ = store_.failure()->In("a learner's latest model");
  return *failure_;
}

void DurableController::Count(const federation::Event& event) {
  ++since_snapshot_;
  const auto* update = std::get_if<federation::UpdateReceived>(&event);
  if (update != nullptr && update->model) bytes_since_snapshot_ += update->model->bytes().size();
}

}  // namespace metis::drivers
