// The controller's machine in a simulated world: the ControllerHost of production, on a virtual
// loop, with a disk that survives it and conversations that do not. It can crash, at any point
// between receiving an event and sending what follows from it, or because its disk does not give a
// model back, and restart from snapshot plus log, or from an older copy of its disk; and it can
// freeze.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/drivers/controller_host.h"
#include "metis/drivers/event_log.h"
#include "metis/drivers/recorder.h"
#include "metis/learner/workload.h"
#include "metis/sim/faulty_ports.h"
#include "metis/sim/machine.h"
#include "metis/sim/participant.h"
#include "metis/sim/world.h"

namespace metis::sim {

class SimulatedController final : public Switchboard, private drivers::ControllerTransport {
 public:
  SimulatedController(World& world, const learner::Workload& workload,
                      const federation::Settings& settings, uint64_t snapshot_every,
                      uint64_t snapshot_bytes = std::numeric_limits<uint64_t>::max());
  ~SimulatedController() override;

  void SetRecorder(drivers::Recorder* recorder) { recorder_ = recorder; }
  void SetWatch(ControllerWatch* watch) { watch_ = watch; }
  void Start();

  // --- From participants
  void Dial(Participant& participant) override;
  void Receive(uint64_t life, const drivers::FromParticipant& message) override;
  uint64_t life() const override { return life_; }
  uint64_t model_bytes() const override { return workload_.initial()->schema()->bytes(); }

  // --- From the operator. What is answered must be durable.
  void Command(federation::OperatorCommand::Kind kind, const std::string& name = "");

  // --- Faults
  // Where in the handling of an event the process dies.
  enum class CrashPoint { kBeforeLogging, kBeforeActions, kAmongActions, kAfterActions };
  // Crashes at the next event that comes and restarts after `outage`. Among actions, the part
  // `among` of the messages, in [0, 1), still gets out. Of no effect while it is down.
  void CrashSoon(CrashPoint point, double among, Duration outage);
  // Nothing happens at this machine until then. Of no effect while it is down.
  void FreezeUntil(Instant until);
  void LeapAhead(Duration by) { machine_.LeapAhead(by); }
  // Keeps a copy of the disk as it is; every other death from then on puts it back.
  void CopyDisk();

  bool up() const { return host_ != nullptr; }
  // The controller, also while it is down: as it was when it was last up. Checked: it was started.
  const federation::Controller& controller() const;
  Duration ahead() const { return machine_.ahead(); }

 private:
  struct CrashPlan {
    CrashPoint point;
    double among;
    Duration outage;
  };
  // What is on the disk, and what of it was told to recorder and watch.
  struct Disk {
    drivers::MemoryEventLog log;
    uint64_t told = 0;  // events
    bool paused = false;
    bool stopped = false;
  };
  // The log as the host sees it: dies at crash points, notes what becomes durable.
  class CrashingLog;
  // Tells recorder and watch of events: those that are handled, and after a restart those of which
  // they have not heard.
  class Teller;

  void Open();
  void Restart();
  // From here on nothing that the process does has an effect. It is started again after `outage`.
  void Die(Duration outage);
  void Send(LearnerId to, const federation::Action& message) override;
  void Handled(Instant now, const federation::Event& event,
               const std::vector<federation::Action>& actions);
  void CheckAnswered(federation::OperatorCommand::Kind kind);
  void CheckLost(const federation::Event& event);
  // Everything that a participant was promised was said in the conversation that it has now.
  void CheckPromises(LearnerId participant);

  World& world_;
  const learner::Workload& workload_;
  const federation::Settings& settings_;
  const uint64_t snapshot_every_;
  const uint64_t snapshot_bytes_;
  drivers::Recorder* recorder_ = nullptr;
  ControllerWatch* watch_ = nullptr;

  Machine machine_;
  Disk disk_;
  std::optional<Disk> copy_;
  uint64_t deaths_since_copy_ = 0;
  bool put_back_next_ = false;  // the next restart finds the copy
  bool handling_ = false;       // an event: then the disk may fail to read
  RefusingLog refusing_;
  std::unique_ptr<CrashingLog> log_;
  std::unique_ptr<Teller> teller_;
  std::unique_ptr<drivers::ControllerHost> host_;
  std::unique_ptr<drivers::ControllerHost> dead_;  // kept to be looked at
  uint64_t life_ = 0;
  std::optional<CrashPlan> crash_;
  Instant slept_from_;                   // the latest sleep; until machine_.frozen_until()
  std::optional<size_t> messages_left_;  // before it dies among actions

  // A conversation with one participant.
  struct Talk {
    Participant* participant = nullptr;
    bool heard = false;                          // anything, since it began
    std::set<federation::UpdateId> evaluations;  // that it was asked for in it
  };
  std::map<LearnerId, Talk> talks_;
};

}  // namespace metis::sim
