// The synchronous protocol: rounds. A round ends when every participant that is live has reported,
// or at its deadline, with at least a quorum of updates; the community model is then the weighted
// average of the round's updates, and everybody starts the next round from it.
//
// A learner that arrives during a round takes part in it. A late update, trained on an earlier
// round's model, is refused (its learner has been told to restart) or, if so set, counts in the
// round it reaches (its learner was left to finish).
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/planted.h"
#include "metis/core/text.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::CommunityCommitted;
using federation::Membership;
using federation::PartKey;
using federation::RejectReason;
using federation::Settings;
using federation::TimerId;
using federation::UpdateId;
using federation::WeighedUpdate;

// What happens to an update that was trained on an earlier round's model.
enum class LateUpdates { kRefuse, kKeep };
constexpr std::array<std::string_view, 2> kLateWords = {"refuse", "keep"};

constexpr PartKey kRoundDeadline = {
    .section = "sync",
    .name = "round_deadline",
    .fallback = Duration::Forever(),
    .allowed = federation::TimeRange{{}, Duration::Forever(), federation::kAbove},
    .documentation =
        "A round closes at the latest this long after its start, with those who have "
        "reported."};
constexpr PartKey kLateUpdates = {
    .section = "sync",
    .name = "late_updates",
    .fallback = std::string_view("refuse"),
    .allowed = federation::WordList{kLateWords},
    .documentation =
        "What happens to an update of an earlier round: it is refused, or kept for "
        "the next."};

class Protocol final : public federation::Protocol {
 public:
  explicit Protocol(const Settings& settings)
      : round_deadline_(settings.values.Get<Duration>(kRoundDeadline)),
        late_updates_(settings.values.Get<LateUpdates>(kLateUpdates)),
        quorum_(std::max(1u, settings.membership.quorum)),
        trainers_(settings.policy.trainers->make(settings)) {}

  std::vector<LearnerId> Begin(Version version, const Membership& membership) override {
    StartRound(version, membership);
    std::vector<LearnerId> receivers;
    for (const auto& [learner, state] : participants_) receivers.push_back(learner);
    return receivers;
  }

  Welcome Arrived(LearnerId learner, bool same_life) override {
    if (round_ == 0) return Welcome::kNothing;
    if (!participants_.contains(learner) && !trainers_->TakesLatecomer(learner, round_)) {
      return Welcome::kNothing;
    }
    auto [participant, added] = participants_.emplace(learner, State::kTraining);
    if (participant->second == State::kRefused && !same_life)
      participant->second = State::kTraining;
    if (participant->second != State::kTraining) return Welcome::kNothing;
    if (!same_life) return Welcome::kSend;
    // Back in a round it knows, or left to finish: it goes on training.
    if (!added || late_updates_ == LateUpdates::kKeep) return Welcome::kNothing;
    return Welcome::kSendRestart;
  }

  bool Owes(LearnerId learner) const override {
    auto found = participants_.find(learner);
    return found != participants_.end() && found->second == State::kTraining;
  }

  Result<void> Admit(const UpdateId& id, Version base) const override {
    auto found = participants_.find(id.learner);
    if (found != participants_.end() &&
        (found->second == State::kReceived || found->second == State::kReported)) {
      return Invalid(Text("learner ", id.learner, " has already reported in round ", round_));
    }
    if (late_updates_ == LateUpdates::kKeep || base >= base_) return {};
    return Invalid(Text("the update of learner ", id.learner, " was trained on version ", base,
                        ", but round ", round_, " began with version ", base_));
  }
  void Received(LearnerId learner) override { participants_[learner] = State::kReceived; }
  // What a learner reported, in an earlier life perhaps, counts whatever it sends afterwards.
  void Refused(LearnerId learner) override {
    if (Owes(learner)) participants_[learner] = State::kRefused;
  }
  void Offer(WeighedUpdate update) override {
    participants_[update.id.learner] = State::kReported;
    reported_[update.id.learner] = std::move(update);
  }

  std::optional<std::vector<WeighedUpdate>> TakeDue(const Membership& membership) override {
    if (!Ready(membership)) return std::nullopt;
    std::vector<WeighedUpdate> updates;
    for (auto& [learner, update] : reported_) updates.push_back(std::move(update));
    reported_.clear();
    return updates;
  }
  Sending Committed(Version next, const std::vector<WeighedUpdate>&,
                    const Membership& membership) override {
    const std::map<LearnerId, State> before = std::exchange(participants_, {});
    StartRound(next, membership);
    Sending sending{.receivers = {}, .restart = true};
    for (const auto& [learner, state] : participants_) {
      auto previous = before.find(learner);
      bool still_training = previous != before.end() && previous->second == State::kTraining;
      if (still_training && late_updates_ == LateUpdates::kKeep) continue;
      sending.receivers.push_back(learner);
    }
    return sending;
  }
  void Failed(const std::vector<WeighedUpdate>& updates) override {
    for (const WeighedUpdate& update : updates) {
      participants_[update.id.learner] = State::kTraining;
    }
  }

  std::vector<UpdateId> Uncommitted() const override {
    std::vector<UpdateId> ids;
    for (const auto& [learner, update] : reported_) ids.push_back(update.id);
    return ids;
  }
  void Abandon() override { reported_.clear(); }

  std::optional<std::pair<uint64_t, Duration>> Deadline() const override {
    if (round_ == 0 || round_deadline_ >= Duration::Forever()) return std::nullopt;
    return std::pair{round_, round_deadline_};
  }
  void DeadlinePassed(uint64_t round) override { deadline_passed_ |= round == round_; }

  void Save(BinaryWriter& archive) const override {
    archive("round", round_);
    archive("base", base_);
    archive("deadline_passed", deadline_passed_);
    archive("participants", participants_);
    archive("reported", reported_);
  }
  Result<void> Restore(BinaryReader& archive) override {
    archive("round", round_);
    archive("base", base_);
    archive("deadline_passed", deadline_passed_);
    archive("participants", participants_);
    archive("reported", reported_);
    return {};
  }

 private:
  enum class State { kTraining, kReceived, kReported, kRefused };

  void StartRound(Version base, const Membership& membership) {
    ++round_;
    base_ = base;
    deadline_passed_ = false;
    participants_.clear();
    for (LearnerId learner : trainers_->Choose(membership.LiveLearners(), round_)) {
      participants_[learner] = State::kTraining;
    }
  }

  bool Ready(const Membership& membership) {
    if (round_ == 0 || reported_.size() < quorum_) {
      RetryRefused(membership);
      return false;
    }
    for (const auto& [learner, state] : participants_) {
      if (state == State::kReceived)
        return false;  // under evaluation: it has a deadline of its own
      bool waits = state == State::kTraining && !deadline_passed_;
      if (waits && (membership.Find(learner)->live() || Planted(PlantedBug::kRoundWaitsForLost))) {
        return false;
      }
    }
    return true;
  }

  // With nobody left to report and too few reports, those that were refused may try again.
  void RetryRefused(const Membership& membership) {
    for (const auto& [learner, state] : participants_) {
      if (state == State::kReceived) return;
      if (state == State::kTraining && membership.Find(learner)->live()) return;
    }
    for (auto& [learner, state] : participants_) {
      if (state == State::kRefused) state = State::kTraining;
    }
  }

  const Duration round_deadline_;
  const LateUpdates late_updates_;
  const size_t quorum_;
  const std::unique_ptr<const federation::TrainerSelector> trainers_;

  uint64_t round_ = 0;  // 0: not begun
  Version base_;        // the version that the round began with
  bool deadline_passed_ = false;
  std::map<LearnerId, State> participants_;
  std::map<LearnerId, WeighedUpdate> reported_;
};

// --- What the laws expect, from the events alone
// ---------------------------------------------------------------------

// A round closes with at least a quorum, once every live learner that trains in it has reported, or
// at its deadline; a learner whose update was refused for its content is not waited for.
class Oracle final : public federation::ProtocolOracle {
 public:
  explicit Oracle(const Settings& settings)
      : settings_(settings),
        round_deadline_(settings.values.Get<Duration>(kRoundDeadline)),
        keeps_late_(settings.values.Get<std::string>(kLateUpdates) == "keep") {}

  void NewLife(LearnerId learner) override { refused_.erase(learner); }

  // A refusal that is said again, in a later round perhaps, excuses nobody.
  void Refused(const federation::RejectUpdate& rejection) override {
    bool content = rejection.reason == RejectReason::kSchema ||
                   rejection.reason == RejectReason::kGate ||
                   rejection.reason == RejectReason::kForgedCounts;
    if (content && refused_before_.insert(rejection.id).second) {
      refused_.insert(rejection.id.learner);
    }
  }

  // The deadline counts from the beginning of the federation, or from the end of the round before.
  void Runs(const std::vector<LearnerId>& live, Instant now) override {
    if (began_) return;
    began_ = now;
    live_at_start_ = live;
  }

  void Fired(const TimerId& timer, Instant now) override {
    if (timer.kind != TimerId::Kind::kRound || timer.subject != round_) return;
    deadline_passed_ |= began_ && now - *began_ >= round_deadline_;
  }

  std::optional<std::string> Accepted(const federation::UpdateReceived& update) const override {
    if (keeps_late_ || update.base >= base_) return std::nullopt;
    return Text("round ", round_, " took up an update of learner ", update.id.learner,
                " trained on version ", update.base, ", but it began with version ", base_);
  }

  std::optional<std::string> Committed(const CommunityCommitted& commit,
                                       const std::vector<LearnerId>& live, Instant now) override {
    std::optional<std::string> wrong;
    for (LearnerId learner : live) {
      bool reported = std::any_of(commit.updates.begin(), commit.updates.end(),
                                  [&](const auto& update) { return update.id.learner == learner; });
      if (reported || deadline_passed_ || refused_.contains(learner)) continue;
      if (!settings_.policy.trainers->expect(settings_, learner, round_, live_at_start_)) continue;
      wrong = Text("round ", round_, " closed without the live learner ", learner);
    }
    if (const uint32_t quorum = settings_.membership.quorum; commit.updates.size() < quorum) {
      wrong = Text("a round closed with ", commit.updates.size(), " updates, quorum is ", quorum);
    }
    ++round_;
    began_ = now;
    base_ = commit.version;
    live_at_start_ = live;
    deadline_passed_ = false;
    refused_.clear();
    return wrong;
  }

 private:
  const Settings settings_;
  const Duration round_deadline_;
  const bool keeps_late_;

  uint64_t round_ = 1;
  std::optional<Instant> began_;  // this round, at the earliest
  Version base_;                  // the version that the round began with
  std::vector<LearnerId> live_at_start_;
  bool deadline_passed_ = false;
  std::set<LearnerId> refused_;        // in this round
  std::set<UpdateId> refused_before_;  // for their content, ever
};

void Draw(Random& random, Settings& settings) {
  if (random.Chance(0.5)) {
    // Mostly shorter than a slow learner's round, or it would only ever strike together with other
    // faults.
    const double draw = random.Uniform();
    settings.values.Set(kRoundDeadline, Duration::FromSeconds(3 + 297 * draw * draw * draw));
  }
  settings.values.Set(kLateUpdates, std::string(random.Chance(0.5) ? "keep" : "refuse"));
}

// A round's deadline that refuses late updates may shut out slow learners for ever; that is what
// was asked for.
bool MayStarve(const Settings& settings) {
  return settings.values.Get<LateUpdates>(kLateUpdates) == LateUpdates::kRefuse &&
         settings.values.Get<Duration>(kRoundDeadline) < Duration::Forever();
}

federation::ProtocolPart Describe() {
  federation::ProtocolPart part;
  part.name = "synchronous";
  part.help = "in rounds, each the weighted average of its updates";
  part.keys = {kRoundDeadline, kLateUpdates};
  part.section_help = "Synchronous rounds (protocol \"synchronous\").";
  part.draw = Draw;
  part.rounds = true;
  part.aggregator = "sums";
  part.may_starve = MayStarve;
  part.make = [](const Settings& settings) { return std::make_unique<Protocol>(settings); };
  part.expect = [](const Settings& settings) { return std::make_unique<Oracle>(settings); };
  return part;
}

}  // namespace

const federation::ProtocolPart& SynchronousProtocol() {
  static const auto* part = new federation::ProtocolPart(Describe());
  return *part;
}

}  // namespace metis::policy
