// The simulated controller machine: the durable controller, its timers and its watch over who is
// heard. It can crash, at any point between receiving an event and sending what follows from it,
// or because its disk does not give a model back, and restart from snapshot plus log; and it can
// freeze.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "metis/drivers/durable_controller.h"
#include "metis/drivers/event_log.h"
#include "metis/drivers/liveness.h"
#include "metis/drivers/recorder.h"
#include "metis/sim/node.h"
#include "metis/sim/workload.h"

namespace metis::sim {

// Hears of everything that the controller does; implemented by the invariants.
class ControllerWatch {
 public:
  virtual ~ControllerWatch() = default;
  // After an event was handled; `actions` are what it caused, whether or not they get out. Of one
  // that could not be handled for a model that could not be read: what the log says it caused.
  virtual void Handled(Instant now, const federation::Event& event,
                       const std::vector<federation::Action>& actions,
                       const federation::Controller& controller) = 0;
  // After a restart from snapshot and log.
  virtual void Restarted(const federation::Controller& controller) = 0;
};

class ControllerNode final : public ControllerInbox {
 public:
  ControllerNode(World& world, const Workload& workload, const federation::Settings& settings,
                 uint64_t snapshot_every,
                 uint64_t snapshot_bytes = std::numeric_limits<uint64_t>::max());

  void Connect(LearnerId learner, drivers::ParticipantInbox* inbox) {
    participants_[learner] = inbox;
  }
  void SetRecorder(drivers::Recorder* recorder) { recorder_ = recorder; }
  void SetWatch(ControllerWatch* watch) { watch_ = watch; }

  void Start();
  void Receive(const drivers::FromParticipant& message) override;
  void Command(const federation::OperatorCommand& command);

  // Where in the handling of an event the process dies.
  enum class CrashPoint { kBeforeLogging, kBeforeActions, kAmongActions, kAfterActions };
  // Crashes at the next event that comes and restarts after `outage`. Among actions, the part
  // `among` of them, in [0, 1), still gets out. Of no effect while it is down.
  void CrashSoon(CrashPoint point, double among, Duration outage);
  // Nothing happens at this machine until then; messages and commands wait. Of no effect while it
  // is down.
  void PauseUntil(Instant until);

  bool up() const { return durable_ != nullptr; }
  // The controller, also while it is down: as it was when it was last up. Checked: it was started.
  const federation::Controller& controller() const;

 private:
  struct CrashPlan {
    CrashPoint point;
    double among;
    Duration outage;
  };

  // Keeps what the latest of the folded events caused.
  struct LatestFolded final : drivers::Recorder {
    void Event(Instant, const federation::Event&) override { actions.clear(); }
    void Action(Instant, const federation::Action& action) override { actions.push_back(action); }
    std::vector<federation::Action> actions;
  };

  std::unique_ptr<drivers::DurableController> Open(drivers::Recorder* folded);
  void Process(const federation::Event& event);
  // Handles it, or after a model that could not be read folds the log instead. False: the latter;
  // nothing of `actions` may leave.
  bool Handle(const federation::Event& event, std::vector<federation::Action>& actions);
  void Perform(const std::vector<federation::Action>& actions, size_t count);
  void Perform(const federation::Action& action);
  void Crash(Duration outage);
  void GoDown(Duration outage);
  void Restart();
  void CheckLiveness();

  World& world_;
  const Workload& workload_;
  const federation::Settings& settings_;
  const uint64_t snapshot_every_;
  const uint64_t snapshot_bytes_;
  std::map<LearnerId, drivers::ParticipantInbox*> participants_;
  drivers::Recorder* recorder_ = nullptr;
  ControllerWatch* watch_ = nullptr;

  drivers::MemoryEventLog log_;  // the disk: survives crashes
  bool handling_ = false;        // an event: then the disk may fail to read
  LatestFolded folded_;
  std::unique_ptr<drivers::DurableController> durable_;
  std::unique_ptr<drivers::DurableController> dead_;  // kept to be looked at
  drivers::LivenessWatch liveness_;
  uint64_t life_ = 0;
  Instant paused_until_;
  std::optional<CrashPlan> crash_;
};

}  // namespace metis::sim
