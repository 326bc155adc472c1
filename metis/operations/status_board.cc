#include "metis/operations/status_board.h"

#include <algorithm>

#include "metis/core/enum_name.h"
#include "metis/core/text.h"
#include "metis/machine/memory.h"
#include "metis/report/part_done.h"

namespace metis::operations {
namespace {

using federation::Controller;
using federation::Member;
using federation::Phase;
using federation::Presence;

// Two updates in a federation's first second are no 120 a minute.
constexpr double kLeastRateWindowS = 10;

TestStatus Point(const report::TestPoint& test) {
  return {test.time.seconds(), test.version.value(), test.requests, test.accuracy, test.loss};
}

template <typename T>
void KeepLast(std::deque<T>& values, size_t most) {
  while (values.size() > most) values.pop_front();
}

// Of a participant that is connected or not; `pending`: an update of it waits for its commit.
std::string StateOf(const Controller& controller, const Member& member, bool connected,
                    bool pending, bool owes) {
  if (member.presence == Presence::kLost) return "lost";
  if (member.presence == Presence::kLeft) return "left";
  // Who was dismissed at the end goes.
  if (!connected) return controller.phase() == Phase::kFinished ? "left" : "away";
  if (!member.trains() || controller.phase() == Phase::kFinished) return "idle";
  if (pending) return "committing";
  return owes ? "training" : "idle";
}

// The controller has reasons for what it did; for what it has not done yet, this is one.
std::string ReasonOf(const Controller& controller) {
  if (controller.phase() != Phase::kWaiting) return controller.phase_reason();
  if (controller.operator_paused()) return "paused by the operator";
  const federation::MembershipSettings& membership = controller.settings().membership;
  const uint32_t wanted = membership.start_with != 0 ? membership.start_with : membership.learners;
  return Text(controller.membership().live_learners(), " of ", wanted,
              wanted == 1 ? " learner" : " learners", " there");
}

}  // namespace

StatusBoard::StatusBoard(Status facts)
    : facts_(std::move(facts)), latest_(std::make_shared<Status>(facts_)) {}

void StatusBoard::Event(Instant now, const federation::Event& event) { summary_.Event(now, event); }

void StatusBoard::Action(Instant now, const federation::Action& action) {
  summary_.Action(now, action);
  if (const auto* commit = std::get_if<federation::CommunityCommitted>(&action)) {
    Committed(now, *commit);
  } else if (const auto* rejected = std::get_if<federation::RejectUpdate>(&action)) {
    refused_.insert(rejected->id.learner);
  } else if (const auto* sent = std::get_if<federation::SendCommunity>(&action)) {
    refused_.erase(sent->learner);
  }
}

void StatusBoard::Committed(Instant now, const federation::CommunityCommitted& commit) {
  for (const federation::CommittedUpdate& update : commit.updates) {
    recent_.emplace_back(now, update.id.learner);
    cycles_.push_back({now.seconds(), update.id.learner.value(), update.cycle.epochs,
                       std::string(NameOf(update.cycle.reason)), update.staleness});
  }
  KeepLast(cycles_, kMostCycles);
  const Duration window = Duration::FromSeconds(kRateWindowS);
  while (!recent_.empty() && now - recent_.front().first > window) recent_.pop_front();
}

void StatusBoard::Say(Instant now, std::string text) {
  std::scoped_lock lock(mutex_);
  events_.push_back({now.seconds(), std::move(text)});
  KeepLast(events_, kMostEvents);
}

std::shared_ptr<const Status> StatusBoard::Latest() const {
  std::scoped_lock lock(mutex_);
  return latest_;
}

void StatusBoard::Publish(const Controller& controller, const drivers::HostView& view,
                          const Surroundings& around) {
  auto status = std::make_shared<Status>(facts_);
  status->time_s = view.now.seconds();
  status->uptime_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  status->part = std::clamp(report::PartDone(controller, view.now), 0.0, 1.0);
  ShowProgress(controller, *status);
  ShowTests(controller, *status);
  while (!recent_.empty() &&
         view.now - recent_.front().first > Duration::FromSeconds(kRateWindowS)) {
    recent_.pop_front();
  }
  status->requests_per_minute = PerMinute(recent_.size(), view.now);
  ShowParticipants(controller, view, around, *status);
  status->memory_bytes = machine::ResidentBytes();
  status->bytes_received = around.bytes_received;
  status->bytes_sent = around.bytes_sent;
  status->connected = static_cast<uint32_t>(around.connected.size());
  status->refusals = around.refusals;
  status->dropped_events = view.dropped_events;
  status->cycles.assign(cycles_.begin(), cycles_.end());
  std::shared_ptr<const Status> before;  // let go outside the lock
  std::scoped_lock lock(mutex_);
  status->events.assign(events_.begin(), events_.end());
  before = std::exchange(latest_, std::move(status));
}

void StatusBoard::ShowProgress(const Controller& controller, Status& status) const {
  status.phase = NameOf(controller.phase());
  status.phase_reason = ReasonOf(controller);
  if (controller.stop_reason()) status.stopped_by = NameOf(*controller.stop_reason());
  status.version = controller.version().value();
  status.committed_steps = controller.ledger().committed_steps();
  const federation::Tally& counts = controller.statistics();
  status.requests = counts.requests;
  status.rejected = counts.rejected;
  status.withdrawals = counts.withdrawals;
  status.models_exchanged = counts.models_exchanged;
  status.models_evaluated = counts.models_evaluated;
}

// Thinned by powers of two, so that the points that stay are the same from one look to the next.
void StatusBoard::ShowTests(const Controller& controller, Status& status) const {
  const std::vector<report::TestPoint>& tests = summary_.tests();
  size_t stride = 1;
  while ((tests.size() + stride - 1) / stride >= kMostTests) stride *= 2;
  for (size_t i = 0; i < tests.size(); i += stride) status.tests.push_back(Point(tests[i]));
  if (!tests.empty() && (tests.size() - 1) % stride != 0) {
    status.tests.push_back(Point(tests.back()));
  }
  if (controller.tests().best_model() == nullptr) return;
  const Version best = controller.tests().best_version();
  for (const report::TestPoint& test : tests) {
    if (test.version == best) status.best = Point(test);
  }
}

void StatusBoard::ShowParticipants(const Controller& controller, const drivers::HostView& view,
                                   const Surroundings& around, Status& status) const {
  std::set<LearnerId> pending;
  for (const federation::UpdateId& id : controller.Pending()) {
    pending.insert(id.learner);
    ++status.pending;
  }
  std::map<LearnerId, uint64_t> recent;
  for (const auto& [time, learner] : recent_) ++recent[learner];
  const double total = controller.aggregator().total_contribution();
  for (const auto& [id, member] : controller.membership().all()) {
    ParticipantStatus& shown = status.participants.emplace_back();
    shown.id = id.value();
    shown.name = member.declared.name;
    shown.role = NameOf(member.declared.role);
    shown.group = member.declared.group;
    shown.incarnation = member.incarnation().value();
    shown.training_examples = member.declared.training_examples;
    shown.validation_examples = member.validation_examples();
    if (const auto found = around.connected.find(id); found != around.connected.end()) {
      shown.connected = true;
      shown.address = found->second;
    }
    if (const auto found = view.heard.find(id); found != view.heard.end()) {
      shown.last_seen_s = std::max((view.now - found->second).seconds(), 0.0);
    }
    const std::optional<federation::StalenessLedger::Sending> sent = controller.ledger().Newest(id);
    if (sent) {
      shown.version = sent->version.value();
      shown.staleness = controller.ledger().committed_steps() - sent->steps;
    }
    shown.state = StateOf(controller, member, shown.connected, pending.contains(id),
                          sent.has_value() && !refused_.contains(id));
    if (!member.trains()) continue;
    shown.contribution = controller.aggregator().contribution(id).value_or(0);
    shown.share = total > 0 ? shown.contribution / total : 0;
    shown.updates_per_minute = PerMinute(recent[id], view.now);
    const auto learner = summary_.learners().find(id);
    if (learner == summary_.learners().end()) continue;
    shown.updates = learner->second.updates;
    shown.rejected = learner->second.rejected;
    shown.epochs = learner->second.epochs;
    shown.cycles = learner->second.reasons;
  }
}

double StatusBoard::PerMinute(uint64_t count, Instant now) const {
  const double window = std::clamp(now.seconds(), kLeastRateWindowS, kRateWindowS);
  return static_cast<double>(count) * 60 / window;
}

}  // namespace metis::operations
