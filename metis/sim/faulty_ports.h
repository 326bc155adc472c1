// Faults as decorators of the ports between hosts and their world: a line that loses, repeats and
// holds back messages and that can be cut, a log that refuses, work that is wrong. A disk that does
// not give a model back is in unreliable_store.h, freezes and leaps of the clock are in machine.h.
// All draw from the world's keyed FaultInjector.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "metis/drivers/event_log.h"
#include "metis/sim/world.h"
#include "metis/work/worker.h"

namespace metis::sim {

// One participant's line to the controller and back.
class FaultyLine {
 public:
  FaultyLine(World& world, uint32_t participant) : world_(world), participant_(participant) {}

  // Faults spare it.
  void Spare() { spared_ = true; }
  // Hands the message over to `send`, now or later, as often as faults let it.
  void Carry(const std::function<void()>& send);

 private:
  World& world_;
  const uint32_t participant_;
  bool spared_ = false;
};

// A disk on which there is sometimes no room for an event.
class RefusingLog final : public drivers::EventLog {
 public:
  RefusingLog(World& world, drivers::EventLog& next) : world_(world), next_(next) {}

  Result<void> Append(Instant time, const federation::Event& event) override;
  Result<void> SaveSnapshot(Archived snapshot) override {
    return next_.SaveSnapshot(std::move(snapshot));
  }
  Result<drivers::Recovered> Load() const override { return next_.Load(); }
  Result<void> Replay(const OnSnapshot& on_snapshot, const OnEvent& on_event) const override {
    return next_.Replay(on_snapshot, on_event);
  }
  uint64_t events_before_snapshot() const override { return next_.events_before_snapshot(); }

 private:
  World& world_;
  drivers::EventLog& next_;
};

// Models with values that are not numbers, or huge; counts of examples that there are not.
class FaultyWorker final : public work::Worker {
 public:
  // The pool makes the spoiled models. All outlive it.
  FaultyWorker(World& world, uint32_t participant, ModelPool& pool, work::Worker& next)
      : world_(world), participant_(participant), pool_(pool), next_(next) {}

  JobId Start(work::Work work, Done done) override;
  void Abandon(JobId job) override { next_.Abandon(job); }

 private:
  bool Strikes(Fault fault, double rate);
  void Spoil(work::Kind kind, work::WorkResult& result);
  void Spoil(ModelPtr& model, float value);

  World& world_;
  const uint32_t participant_;
  ModelPool& pool_;
  work::Worker& next_;
};

}  // namespace metis::sim
