// A simulated machine: the loop of the process on it, in virtual time. It can freeze (nothing
// happens until then; what is due waits), its clock can leap ahead, and its process can die: then
// nothing that was scheduled happens any more, and nothing that the dead process still does has an
// effect, until the next one is started. One EventQueue drives all machines of a world.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "metis/drivers/loop.h"
#include "metis/sim/event_queue.h"
#include "metis/sim/faults.h"

namespace metis::sim {

class Machine final : public drivers::Loop {
 public:
  // `owner` orders ties; `pause` is what is counted where something has to wait.
  Machine(EventQueue& queue, FaultInjector& faults, Owner owner, Fault pause)
      : queue_(queue), faults_(faults), owner_(owner), pause_(pause) {}

  Instant now() const override { return queue_.now() + ahead_; }
  void Post(Task task) override { Schedule(queue_.now(), std::move(task)); }
  void At(Instant due, Task task) override {
    Schedule(queue_.now() + std::max(Duration(), due - now()), std::move(task));
  }
  void After(Duration delay, Task task) { Schedule(queue_.now() + delay, std::move(task)); }
  bool on_loop() const override { return true; }

  // A process begins, with a clock that has not stood still.
  void StartProcess() {
    ++life_;
    alive_ = true;
  }
  // It dies, and a freeze with it.
  void Kill() {
    alive_ = false;
    frozen_until_ = Instant();
  }
  bool alive() const { return alive_; }

  // By the world's clock, not by its own.
  void FreezeUntil(Instant until) { frozen_until_ = std::max(frozen_until_, until); }
  bool frozen() const { return queue_.now() < frozen_until_; }
  Instant frozen_until() const { return frozen_until_; }
  void LeapAhead(Duration by) { ahead_ = ahead_ + by; }
  Duration ahead() const { return ahead_; }  // of the world's clock

 private:
  void Schedule(Instant when, Task task) {
    if (!alive_) return;
    queue_.At(when, owner_,
              [this, life = life_, task = std::move(task)] { RunOrWait(life, task); });
  }
  void RunOrWait(uint64_t life, const Task& task) {
    if (!alive_ || life != life_) return;
    if (!frozen()) return task();
    faults_.Count(pause_);
    queue_.At(frozen_until_, owner_, [this, life, task] { RunOrWait(life, task); });
  }

  EventQueue& queue_;
  FaultInjector& faults_;
  const Owner owner_;
  const Fault pause_;
  bool alive_ = false;
  uint64_t life_ = 0;
  Instant frozen_until_;
  Duration ahead_;
};

}  // namespace metis::sim
