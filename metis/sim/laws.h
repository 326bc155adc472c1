// The laws of a whole run: those of the controller's state go back with its disk where an older
// copy is put back; those of the learners' cycles do not. One Simulator uses them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metis/sim/invariants.h"
#include "metis/sim/world.h"

namespace metis::sim {

class Laws final : public ControllerWatch, public CycleWatch {
 public:
  // As of Invariants.
  Laws(const federation::Settings& settings, const ModelPtr& initial, ModelPool& pool)
      : now_(std::make_unique<Invariants>(settings, initial, pool)),
        cycles_(settings, initial, pool) {}

  void Handled(Instant now, const federation::Event& event,
               const std::vector<federation::Action>& actions,
               const federation::Controller& controller) override {
    now_->Handled(now, event, actions, controller);
    Note(*now_);
  }
  void Restarted(const federation::Controller& controller) override {
    now_->Restarted(controller);
    Note(*now_);
  }
  void Copied() override { copy_ = std::make_unique<Invariants>(*now_); }
  void PutBack() override {
    now_ = std::make_unique<Invariants>(*copy_);
    now_->WentBack();
  }

  void LifeBegins(LearnerId learner, const std::string& group) override {
    cycles_.LifeBegins(learner, group);
  }
  void EpochDecided(LearnerId learner, const federation::CycleRecord& record, bool asked) override {
    cycles_.EpochDecided(learner, record, asked);
    Note(cycles_);
  }

  // The first law that was broken, with time and values.
  const std::optional<std::string>& violation() const { return violation_; }
  const Invariants& invariants() const { return *now_; }

 private:
  void Note(const Invariants& invariants) {
    if (!violation_) violation_ = invariants.violation();
  }

  std::unique_ptr<Invariants> now_;
  std::unique_ptr<Invariants> copy_;  // as they were when the disk was copied
  Invariants cycles_;
  std::optional<std::string> violation_;
};

}  // namespace metis::sim
