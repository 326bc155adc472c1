// A participant's machine in a simulated world: the host of production, on a virtual loop, with a
// worker whose work takes virtual time and a line to the controller. A process on it dials until
// the controller knows it, learns its id, and then begins; it dials again whenever the conversation
// breaks. (The greeting takes no time: it would come with the first message.) It can crash and
// return in a new life, freeze, and leave.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/drivers/learner_host.h"
#include "metis/drivers/observer_host.h"
#include "metis/drivers/transport.h"
#include "metis/learner/workload.h"
#include "metis/sim/faulty_ports.h"
#include "metis/sim/machine.h"
#include "metis/sim/settings.h"
#include "metis/sim/virtual_worker.h"
#include "metis/sim/world.h"

namespace metis::sim {

class Participant;

// The controller's side of every line.
class Switchboard {
 public:
  virtual ~Switchboard() = default;
  // Asks for a conversation: answered with Participant::Connected() once the host has said who it
  // is; never, if the controller is down or dies meanwhile.
  virtual void Dial(Participant& participant) = 0;
  // A message to the process of that life.
  virtual void Receive(uint64_t life, const drivers::FromParticipant& message) = 0;
  virtual uint64_t life() const = 0;  // of its latest process
  virtual uint64_t model_bytes() const = 0;
};

class Participant : private drivers::ParticipantTransport {
 public:
  ~Participant() override;

  // Begins a process; checked: none is running.
  void Start();
  // It dies: everything under way is gone, and a freeze with it.
  void Crash();
  // While it is down: a next life says that it is there and dies before it joins.
  void RestartBriefly();
  // Says goodbye, if it can speak, and ends.
  void Leave();
  void FreezeUntil(Instant until) { machine_.FreezeUntil(until); }
  void LeapAhead(Duration by) { machine_.LeapAhead(by); }

  bool up() const { return machine_.alive(); }
  // Its number in this world, which is not its id in the federation.
  uint32_t number() const { return number_; }
  const std::string& name() const { return name_; }
  LearnerId id() const { return id_; }           // the latest that it was given
  uint64_t process() const { return process_; }  // counts Start()
  bool connected() const { return controller_life_ != 0; }

  // --- For the controller's side
  FaultyLine& line() { return line_; }
  void Connected(uint64_t controller_life, LearnerId id);
  void Deliver(const federation::Action& message);
  // The conversation is over: it dials again.
  void Broken();

 protected:
  Participant(World& world, Switchboard& controller, uint32_t number, std::string name,
              const federation::Settings& settings);

  // Begins a host for this life; ends it.
  virtual void Begin(LearnerId id, Incarnation incarnation) = 0;
  virtual void End() = 0;
  virtual drivers::ParticipantInbox* inbox() = 0;  // null before Begin()
  virtual bool busy() const = 0;                   // evaluating something

  // Lets go of a host that may be telling of its own end: once the task under way is over.
  void Bury(std::shared_ptr<drivers::ParticipantInbox> host);

  World& world_;
  const federation::Settings& settings_;
  Switchboard& controller_;
  Machine machine_;
  drivers::ParticipantTransport& transport() { return *this; }

 private:
  void Dial();
  void Heartbeat();
  void Send(federation::Event event) override;
  void SendOn(std::optional<federation::Event> event);
  void CheckOwed();

  const uint32_t number_;
  const std::string name_;
  FaultyLine line_;
  uint64_t process_ = 0;
  Incarnation incarnation_;
  LearnerId id_;
  bool begun_ = false;                                      // this process has a host
  uint64_t controller_life_ = 0;                            // that it talks with; 0: none
  std::optional<federation::UpdateReceived> earlier_life_;  // its last update, replayed by faults
  // Evaluations that this life was asked for; of those that it has not answered, since when.
  std::set<federation::UpdateId> asked_;
  std::map<federation::UpdateId, Instant> owed_;
};

class SimulatedLearner final : public Participant {
 public:
  SimulatedLearner(World& world, Switchboard& controller, const learner::Workload& workload,
                   const federation::Settings& settings, DeviceGroup group, uint32_t number,
                   uint64_t seed);
  ~SimulatedLearner() override;

  // Null while it is down, and until the controller knows it.
  const federation::LearnerSession* session() const { return host_ ? &host_->session() : nullptr; }

 private:
  // What is constant of a site's data.
  struct Facts {
    uint64_t training_examples = 0;
    bool keeps_state = false;
    Declared validation_set;
    Pace pace;
  };
  static Facts FactsOf(const learner::Workload& workload, uint32_t number,
                       const DeviceGroup& group);

  void Begin(LearnerId id, Incarnation incarnation) override;
  void End() override;
  drivers::ParticipantInbox* inbox() override { return host_.get(); }
  bool busy() const override { return worker_ && worker_->evaluations() > 0; }

  const learner::Workload& workload_;
  const DeviceGroup group_;
  const uint64_t seed_;
  const Facts facts_;
  std::unique_ptr<VirtualWorker> worker_;
  std::unique_ptr<FaultyWorker> faulty_;
  std::shared_ptr<drivers::LearnerHost> host_;
};

class SimulatedObserver final : public Participant {
 public:
  SimulatedObserver(World& world, Switchboard& controller, const learner::Workload& workload,
                    const federation::Settings& settings, uint32_t number);
  ~SimulatedObserver() override;

 private:
  void Begin(LearnerId id, Incarnation incarnation) override;
  void End() override;
  drivers::ParticipantInbox* inbox() override { return host_.get(); }
  bool busy() const override { return false; }

  const learner::Workload& workload_;
  Declared test_set_;
  uint32_t parts_ = 0;
  std::unique_ptr<VirtualWorker> worker_;
  std::shared_ptr<drivers::ObserverHost> host_;
};

}  // namespace metis::sim
