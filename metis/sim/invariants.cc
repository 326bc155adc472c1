#include "metis/sim/invariants.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "metis/core/archive.h"
#include "metis/core/text.h"

namespace metis::sim {

using federation::Action;
using federation::CommunityCommitted;
using federation::Controller;
using federation::Event;
using federation::UpdateId;

namespace {

// Every so many events the snapshot's round trip is tried.
constexpr uint64_t kSnapshotEvery = 50;

std::string Name(const UpdateId& id) {
  return Text("update ", id.sequence, " of learner ", id.learner, " in life ", id.incarnation);
}

// By their bits: a loss may be no number, which equals nothing.
bool Same(const federation::CycleRecord& one, const federation::CycleRecord& other) {
  BinaryWriter left;
  BinaryWriter right;
  left("cycle", one);
  right("cycle", other);
  return left.archived().bytes == right.archived().bytes;
}

}  // namespace

Invariants::Invariants(const federation::Settings& settings, ModelPtr initial, ModelPool& pool)
    : settings_(settings),
      initial_(std::move(initial)),
      pool_(pool),
      community_(settings, *initial_),
      evaluations_(settings, community_),
      cycles_(settings),
      protocol_(settings.policy.protocol->expect(settings)),
      stop_oracle_(settings) {
  fingerprints_[version_] = initial_->Fingerprint();
}

void Invariants::Broken(std::string what) {
  if (!violation_) violation_ = Text("at ", Fixed(now_.seconds(), 3), " s: ", what);
}

Instant Invariants::latest_commit() const {
  Instant latest;
  for (const auto& [learner, when] : latest_commit_) latest = std::max(latest, when);
  return latest;
}

Instant Invariants::latest_commit(LearnerId learner) const {
  auto found = latest_commit_.find(learner);
  return found == latest_commit_.end() ? Instant() : found->second;
}

std::vector<LearnerId> Invariants::LiveLearners() const {
  std::vector<LearnerId> live;
  for (const auto& [learner, known] : known_) {
    if (known.live && known.trains) live.push_back(learner);
  }
  return live;
}

void Invariants::LifeBegins(LearnerId learner, const std::string& group) {
  cycles_.LifeBegins(learner, group);
}

void Invariants::EpochDecided(LearnerId learner, const federation::CycleRecord& record,
                              bool asked) {
  if (auto wrong = cycles_.EpochDecided(learner, record, asked)) Broken(*wrong);
}

void Invariants::HeardJoin(const federation::LearnerJoined& event, const std::vector<Action>& out) {
  bool accepted = std::any_of(out.begin(), out.end(), [](const Action& action) {
    return std::holds_alternative<federation::AcceptJoin>(action);
  });
  if (!accepted) return;
  auto [known, added] = known_.emplace(event.learner, Known{});
  bool new_life = added || known->second.incarnation != event.incarnation;
  if (new_life && !added && event.incarnation < known->second.incarnation) {
    Broken(
        Text("learner ", event.learner, " was let in with the earlier life ", event.incarnation));
  }
  known->second = {.incarnation = event.incarnation,
                   .live = true,
                   .trains = event.role == federation::Role::kLearner};
  if (!new_life) return;
  evaluations_.Joined(event);
  protocol_->NewLife(event.learner);
  stop_oracle_.Joined(event);
  std::erase_if(steps_when_sent_,
                [&](const auto& each) { return each.first.first == event.learner; });
}

void Invariants::Handled(Instant now, const Event& event, const std::vector<Action>& actions,
                         const Controller& controller) {
  now_ = now;
  offered_.reset();
  taken_up_ = false;
  // Any sign of a learner's present life brings it back, unless it has left.
  auto alive = [&](LearnerId learner, Incarnation incarnation) {
    auto found = known_.find(learner);
    if (found == known_.end() || found->second.incarnation != incarnation) return;
    if (!found->second.left) found->second.live = true;
  };
  auto gone = [&](LearnerId learner, Incarnation incarnation, bool left) {
    auto found = known_.find(learner);
    if (found == known_.end() || found->second.incarnation != incarnation) return;
    found->second.live = false;
    found->second.left |= left;
    evaluations_.Gone(learner);
  };
  std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, federation::LearnerJoined>) {
          HeardJoin(content, actions);
        } else if constexpr (std::is_same_v<T, federation::LearnerLost> ||
                             std::is_same_v<T, federation::LearnerLeft>) {
          gone(content.learner, content.incarnation, std::is_same_v<T, federation::LearnerLeft>);
        } else if constexpr (std::is_same_v<T, federation::UpdateReceived>) {
          alive(content.id.learner, content.id.incarnation);
          offered_ = content;
        } else if constexpr (std::is_same_v<T, federation::CountsReceived>) {
          alive(content.evaluator, content.incarnation);
          evaluations_.Counted(content);
        } else if constexpr (std::is_same_v<T, federation::EvaluationFailed>) {
          alive(content.evaluator, content.incarnation);
          evaluations_.Failed(content);
        } else if constexpr (std::is_same_v<T, federation::TimerFired>) {
          protocol_->Fired(content.timer, now);
        } else if constexpr (std::is_same_v<T, federation::CommunityTested>) {
          Tested(content);
        } else if constexpr (std::is_same_v<T, federation::OperatorCommand>) {
          if (content.kind == federation::OperatorCommand::Kind::kStop) stop_oracle_.Ordered();
        } else if constexpr (requires {
                               content.learner;
                               content.incarnation;
                             }) {
          alive(content.learner, content.incarnation);
        }
      },
      event);
  for (const Action& action : actions) HeardAction(action, controller);
  if (taken_up_) CheckAsked(actions);
  for (const UpdateId& id : controller.protocol().Uncommitted()) {
    evaluations_.Weighed(id, community_.contribution(id.learner));
  }
  CheckPending(controller);
  if (auto wrong = stop_oracle_.GoesOn()) Broken(*wrong);
  if (++handled_ % kSnapshotEvery == 0) CheckSnapshot(controller);
  state_hash_ = controller.StateHash();
}

void Invariants::HeardAction(const Action& action, const Controller& controller) {
  if (const auto* ack = std::get_if<federation::AcknowledgeUpdate>(&action)) {
    Acknowledged(ack->id);
  } else if (const auto* reject = std::get_if<federation::RejectUpdate>(&action)) {
    protocol_->Refused(*reject);
    if (reject->reason == federation::RejectReason::kStorage) {
      Broken(Text(Name(reject->id),
                  " was refused for the disk's sake, its log says otherwise: ", reject->message));
    }
    if (pending_.erase(reject->id) > 0) {
      std::erase(arrival_, reject->id);
      done_.insert(reject->id);
      evaluations_.Forget(reject->id);
    }
  } else if (const auto* request = std::get_if<federation::RequestEvaluation>(&action)) {
    evaluations_.Asked(*request);
  } else if (const auto* cancel = std::get_if<federation::CancelEvaluation>(&action)) {
    if (auto wrong = evaluations_.TooLate(*cancel, now_)) Broken(*wrong);
  } else if (const auto* commit = std::get_if<CommunityCommitted>(&action)) {
    Committed(*commit, controller);
  } else if (const auto* sent = std::get_if<federation::SendCommunity>(&action)) {
    Sent(*sent);
  } else if (const auto* test = std::get_if<federation::RequestTest>(&action)) {
    stop_oracle_.Asked(*test);
  } else if (const auto* state = std::get_if<federation::StateChanged>(&action)) {
    if (state->phase == federation::Phase::kRunning) {
      protocol_->Runs(LiveLearners(), now_);
      stop_oracle_.Runs(now_);
    }
  } else if (const auto* note = std::get_if<federation::Finished>(&action)) {
    if (auto wrong = stop_oracle_.Ended(note->reason, now_)) Broken(*wrong);
  }
}

// An update is acknowledged when it is taken up; a second time only because it was sent again.
void Invariants::Acknowledged(const UpdateId& id) {
  if (pending_.contains(id)) return;
  if (done_.contains(id)) {
    // Allowed as the answer to a repeated update; taking it up again would show in CheckPending().
    return;
  }
  if (!offered_ || offered_->id != id) return Broken(Text(Name(id), " was never sent"));
  const Known& known = known_[id.learner];
  if (known.incarnation != id.incarnation) {
    return Broken(Text(Name(id), " was accepted in life ", known.incarnation));
  }
  for (float value : offered_->model->parameters()) {
    if (std::isfinite(value) && std::abs(static_cast<double>(value)) < settings_.max_parameter) {
      continue;
    }
    return Broken(Text(Name(id), " was accepted with the value ", value));
  }
  auto sent = steps_when_sent_.find({id.learner, offered_->base});
  if (sent == steps_when_sent_.end()) {
    return Broken(Text(Name(id), " was accepted with base ", offered_->base,
                       ", which its learner was never sent"));
  }
  if (auto late = protocol_->Accepted(*offered_)) Broken(*late);
  steps_at_base_[id] = sent->second;
  pending_[id] = *offered_;
  arrival_.push_back(id);
  evaluations_.Accepted(*offered_, now_);
  taken_up_ = true;
}

void Invariants::CheckAsked(const std::vector<Action>& actions) {
  std::vector<federation::RequestEvaluation> requests;
  for (const Action& action : actions) {
    const auto* request = std::get_if<federation::RequestEvaluation>(&action);
    if (request != nullptr && request->update == offered_->id) requests.push_back(*request);
  }
  if (auto wrong = evaluations_.TakenUp(*offered_, requests, LiveLearners())) Broken(*wrong);
}

void Invariants::Sent(const federation::SendCommunity& message) {
  if (message.version != version_) {
    return Broken(Text("learner ", message.learner, " was sent version ", message.version,
                       " when version ", version_, " was current"));
  }
  if (message.model->Fingerprint() != fingerprints_[message.version]) {
    return Broken(Text("version ", message.version, " was sent with two different models"));
  }
  if (message.committed_steps != committed_steps_) {
    return Broken(Text("learner ", message.learner, " was told S_c = ", message.committed_steps,
                       ", it is ", committed_steps_));
  }
  steps_when_sent_.emplace(std::pair{message.learner, message.version}, committed_steps_);
}

void Invariants::CommittedUpdate(const federation::CommittedUpdate& update, bool fifo) {
  if (done_.contains(update.id)) return Broken(Text(Name(update.id), " was committed twice"));
  if (!pending_.contains(update.id)) {
    return Broken(Text(Name(update.id), " was committed without being acknowledged"));
  }
  if (fifo && arrival_.front() != update.id) {
    Broken(Text(Name(update.id), " was committed before ", Name(arrival_.front()),
                ", which had come earlier"));
  }
  uint64_t staleness = committed_steps_ - steps_at_base_[update.id] + update.steps;
  if (update.staleness != staleness) {
    Broken(Text(Name(update.id), " has staleness ", update.staleness, ", the ledger says ",
                staleness));
  }
  double previous = community_.contribution(update.id.learner);
  if (auto wrong = evaluations_.Committed(update, previous)) Broken(*wrong);
  CheckRecord(update);
}

void Invariants::CheckRecord(const federation::CommittedUpdate& update) {
  const federation::UpdateReceived& accepted = pending_[update.id];
  if (update.steps != accepted.steps || !Same(update.cycle, accepted.cycle)) {
    Broken(Text(Name(update.id), " has other steps or another cycle than when it was accepted"));
  }
  uint64_t versions = version_.value() - accepted.base.value();
  if (update.version_staleness != versions) {
    Broken(
        Text(Name(update.id), " is ", update.version_staleness, " versions old, not ", versions));
  }
  // The learner heard of S_c earlier than now, but of its own steps at once.
  const bool too_stale = update.cycle.staleness > update.staleness && !went_back_;
  if (update.cycle.staleness < update.steps || too_stale) {
    Broken(Text(Name(update.id), " saw staleness ", update.cycle.staleness, " with ", update.steps,
                " steps of its own; the ledger says ", update.staleness));
  }
}

void Invariants::CheckQuorum(const CommunityCommitted& commit) {
  const uint32_t quorum = settings_.membership.quorum;
  if (commit.withdrawn) return;
  if (size_t live = LiveLearners().size(); live < quorum) {
    Broken(Text("a commit with ", live, " live learners, quorum is ", quorum));
  }
  if (auto wrong = protocol_->Committed(commit, LiveLearners(), now_)) Broken(*wrong);
}

void Invariants::Tested(const federation::CommunityTested& event) {
  auto found = known_.find(event.observer);
  bool present = found != known_.end() && found->second.incarnation == event.incarnation &&
                 !found->second.left && !found->second.trains;
  if (!present) return;
  found->second.live = true;
  stop_oracle_.Tested(event);
}

void Invariants::Committed(const CommunityCommitted& commit, const Controller& controller) {
  ++commits_;
  if (stop_oracle_.ended()) {
    return Broken(Text("version ", commit.version, " was committed after the end"));
  }
  if (commit.version != version_.Next()) {
    return Broken(Text("version ", commit.version, " was committed after version ", version_));
  }
  CheckQuorum(commit);
  std::vector<ModelPtr> models;
  uint64_t steps = 0;
  for (const federation::CommittedUpdate& update : commit.updates) {
    CommittedUpdate(update, !settings_.policy.protocol->rounds);
    if (violation_) return;
    models.push_back(pending_[update.id].model);
    steps += update.steps;
  }
  if (auto wrong = community_.Committed(commit, models)) Broken(*wrong);
  for (const federation::CommittedUpdate& update : commit.updates) {
    pending_.erase(update.id);
    std::erase(arrival_, update.id);
    done_.insert(update.id);
    evaluations_.Forget(update.id);
    latest_commit_[update.id.learner] = now_;
  }
  version_ = commit.version;
  fingerprints_[version_] = commit.model->Fingerprint();
  committed_steps_ += steps;
  stop_oracle_.Committed(commit);
  if (commit.committed_steps != committed_steps_) {
    Broken(Text("S_c is ", commit.committed_steps, ", the committed updates have ",
                committed_steps_, " steps"));
  }
  CheckCommunity(controller);
}

// Nothing acknowledged is lost, and nothing is taken up twice.
void Invariants::CheckPending(const Controller& controller) {
  std::vector<UpdateId> ids = controller.Pending();
  std::set<UpdateId> held(ids.begin(), ids.end());
  for (const auto& [id, update] : pending_) {
    if (!held.contains(id)) return Broken(Text(Name(id), " was acknowledged and is lost"));
  }
  for (const UpdateId& id : held) {
    if (!pending_.contains(id)) return Broken(Text(Name(id), " was taken up again"));
  }
}

void Invariants::CheckCommunity(const Controller& controller) {
  Result<ModelPtr> definition = controller.aggregator().Recompute();
  if (!definition) return Broken(definition.error().message);
  const Model& current = *controller.aggregator().Current();
  for (float value : controller.community()->parameters()) {
    if (!std::isfinite(value)) return Broken("the community model is not finite");
  }
  if (std::memcmp(current.bytes().data(), (*definition)->bytes().data(), current.bytes().size()) !=
      0) {
    Broken("the cached community model differs from its definition");
  }
}

void Invariants::CheckSnapshot(const Controller& controller) {
  federation::MemoryModelStore store;
  Controller restored(settings_, initial_, pool_, store);
  if (Result<void> result = restored.Restore(controller.Snapshot()); !result) {
    return Broken(result.error().message);
  }
  if (restored.StateHash() != controller.StateHash()) {
    Broken("a snapshot restores to another state");
  }
}

void Invariants::Restarted(const Controller& controller) {
  if (handled_ > 0 && controller.StateHash() != state_hash_) {
    Broken("the controller restarted in another state than it had acted from");
  }
  CheckPending(controller);
}

}  // namespace metis::sim
