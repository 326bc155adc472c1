// The laws of a whole run: those of the controller's state go back with its disk where an older
// copy is put back, by hearing again what had happened until then; those of the learners' cycles do
// not. One Simulator uses them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/check.h"
#include "metis/federation/model_store.h"
#include "metis/sim/invariants.h"
#include "metis/sim/world.h"

namespace metis::sim {

class Laws final : public ControllerWatch, public CycleWatch {
 public:
  // As of Invariants. Only if it `may_go_back` is everything that happens kept.
  Laws(const federation::Settings& settings, ModelPtr initial, ModelPool& pool,
       bool may_go_back = false)
      : settings_(settings),
        initial_(std::move(initial)),
        pool_(pool),
        may_go_back_(may_go_back),
        now_(std::make_unique<Invariants>(settings, initial_, pool)),
        cycles_(settings, initial_, pool) {}

  void Handled(Instant now, const federation::Event& event,
               const std::vector<federation::Action>& actions,
               const federation::Controller& controller) override {
    if (may_go_back_) history_.emplace_back(now, event);
    now_->Handled(now, event, actions, controller);
    Note(*now_);
  }
  void Restarted(const federation::Controller& controller) override {
    now_->Restarted(controller);
    Note(*now_);
  }
  void Copied() override { copied_ = history_.size(); }
  void PutBack() override {
    METIS_CHECK(may_go_back_);
    now_ = std::make_unique<Invariants>(settings_, initial_, pool_);
    now_->WentBack();
    federation::MemoryModelStore store;
    federation::Controller controller(settings_, initial_, pool_, store);
    history_.resize(copied_);
    std::vector<federation::Action> actions;
    for (const auto& [time, event] : history_) {
      actions.clear();
      controller.Handle(time, event, actions);
      now_->Handled(time, event, actions, controller);
    }
    Note(*now_);
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

  const federation::Settings& settings_;
  const ModelPtr initial_;
  ModelPool& pool_;
  const bool may_go_back_;
  std::unique_ptr<Invariants> now_;
  std::vector<std::pair<Instant, federation::Event>> history_;
  size_t copied_ = 0;  // events that had happened when the disk was copied
  Invariants cycles_;
  std::optional<std::string> violation_;
};

}  // namespace metis::sim
