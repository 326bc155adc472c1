// The laws that no fault may break, checked after every event of a simulation by a second,
// simple-minded model of the federation: it hears the same events and the controller's actions,
// keeps its own books, and compares. It shares no arithmetic with what it checks. One Simulator
// uses it; O(M N) an event.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/core/model.h"
#include "metis/federation/controller.h"
#include "metis/sim/community_oracle.h"
#include "metis/sim/cycle_oracle.h"
#include "metis/sim/stop_oracle.h"
#include "metis/sim/world.h"

namespace metis::sim {

class Invariants final : public ControllerWatch, public CycleWatch {
 public:
  // `pool` gives buffers for restored states. Settings are borrowed.
  Invariants(const federation::Settings& settings, ModelPtr initial, ModelPool& pool);

  void Handled(Instant now, const federation::Event& event,
               const std::vector<federation::Action>& actions,
               const federation::Controller& controller) override;
  void Restarted(const federation::Controller& controller) override;
  void LifeBegins(LearnerId learner, const std::string& group) override;
  void EpochDecided(LearnerId learner, const federation::CycleRecord& record, bool asked) override;

  // The controller was put back to an earlier state, of which these are the laws' books: learners
  // may have heard of steps that are not committed any more.
  void WentBack() { went_back_ = true; }

  // The first law that was broken, with time and values.
  const std::optional<std::string>& violation() const { return violation_; }

  // When an update, of anybody or of the learner, was committed last; the beginning of time if none
  // was: what liveness is judged by.
  Instant latest_commit() const;
  Instant latest_commit(LearnerId learner) const;
  uint64_t commits() const { return commits_; }
  // When the federation should have ended by its duration.
  std::optional<Instant> due() const { return stop_oracle_.due(); }

 private:
  void Broken(std::string what);
  void HeardJoin(const federation::LearnerJoined& event,
                 const std::vector<federation::Action>& out);
  void HeardAction(const federation::Action& action, const federation::Controller& controller);
  void Acknowledged(const federation::UpdateId& id);
  // The candidate that was taken up goes to whom it must go.
  void CheckAsked(const std::vector<federation::Action>& actions);
  void Committed(const federation::CommunityCommitted& commit,
                 const federation::Controller& controller);
  void CheckQuorum(const federation::CommunityCommitted& commit);
  void CommittedUpdate(const federation::CommittedUpdate& update, bool fifo);
  // What an update was accepted with is what it is committed with.
  void CheckRecord(const federation::CommittedUpdate& update);
  void Sent(const federation::SendCommunity& message);
  void Tested(const federation::CommunityTested& event);
  void CheckPending(const federation::Controller& controller);
  void CheckCommunity(const federation::Controller& controller);
  void CheckSnapshot(const federation::Controller& controller);
  std::vector<LearnerId> LiveLearners() const;

  const federation::Settings& settings_;
  ModelPtr initial_;
  ModelPool& pool_;
  Instant now_;
  std::optional<std::string> violation_;

  // Who is there, by the events alone.
  struct Known {
    Incarnation incarnation;
    bool live = false;
    bool trains = false;
    bool left = false;
  };
  std::map<LearnerId, Known> known_;

  // Updates: offered by an event, acknowledged, then committed or refused, each at most once.
  std::optional<federation::UpdateReceived> offered_;
  bool taken_up_ = false;  // offered_ was acknowledged, for the first time
  std::map<federation::UpdateId, federation::UpdateReceived> pending_;
  std::vector<federation::UpdateId> arrival_;
  std::set<federation::UpdateId> done_;
  std::map<LearnerId, Instant> latest_commit_;

  // Versions and steps.
  Version version_;
  uint64_t commits_ = 0;
  std::map<Version, uint64_t> fingerprints_;
  uint64_t committed_steps_ = 0;
  std::map<std::pair<LearnerId, Version>, uint64_t> steps_when_sent_;
  std::map<federation::UpdateId, uint64_t> steps_at_base_;

  CommunityOracle community_;
  EvaluationOracle evaluations_;
  CycleOracle cycles_;
  std::unique_ptr<federation::ProtocolOracle> protocol_;
  StopOracle stop_oracle_;
  bool went_back_ = false;
  uint64_t handled_ = 0;
  uint64_t state_hash_ = 0;  // after the latest event: what a restart must come back to
};

}  // namespace metis::sim
