// The swarm tests what it claims to: over its first seeds, every fault strikes, and every policy,
// phase, verdict and criterion that faults can lead to occurs. A law that is never put to the test
// proves nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "metis/core/enum_name.h"
#include "metis/drivers/recorder.h"
#include "metis/policy/policy.h"
#include "metis/sim/swarm.h"
#include "tests/simulation/seeds.h"

namespace metis::sim {
namespace {

using federation::CommunityCommitted;
using federation::OperatorCommand;
using federation::RejectReason;
using federation::TimerId;

tests::SeedRange seeds{.first = 1, .count = 100};

// What happened, by name, and how often.
using Tally = std::map<std::string, uint64_t>;

template <typename Enum>
std::string NameOf(std::string_view kind, Enum value) {
  return std::string(kind) + " " + std::string(metis::NameOf(value));
}

std::string NameOf(const policy::Kind& kind, const federation::Part& part) {
  return std::string(kind.key) + " " + std::string(part.name);
}

// Counts what one run's record shows.
class Counter final : public drivers::Recorder {
 public:
  explicit Counter(const federation::Settings& settings) : settings_(settings) {}

  void Event(Instant, const federation::Event& event) override {
    cause_ = &event;
    if (const auto* joined = std::get_if<federation::LearnerJoined>(&event)) {
      if (joined->incarnation > Incarnation(1)) ++tally["a learner's return in a new life"];
    } else if (const auto* epoch = std::get_if<federation::EpochReported>(&event)) {
      HeardEpoch(*epoch);
    } else if (const auto* update = std::get_if<federation::UpdateReceived>(&event)) {
      if (!heard_.insert(update->id).second) ++tally["a repeated update"];
    } else if (const auto* command = std::get_if<OperatorCommand>(&event)) {
      ++tally[NameOf("operator", command->kind)];
    } else if (std::holds_alternative<federation::LearnerLost>(event)) {
      ++tally["a learner lost"];
    } else if (std::holds_alternative<federation::LearnerReturned>(event)) {
      ++tally["a learner back in the same life"];
    }
  }

  void Action(Instant, const federation::Action& action) override {
    if (const auto* commit = std::get_if<CommunityCommitted>(&action)) {
      Committed(*commit);
    } else if (const auto* reject = std::get_if<federation::RejectUpdate>(&action)) {
      ++tally[NameOf("reject", reject->reason)];
    } else if (const auto* changed = std::get_if<federation::StateChanged>(&action)) {
      Changed(*changed);
    } else if (std::holds_alternative<federation::RefuseCounts>(action)) {
      ++tally["refused counts"];
    } else if (std::holds_alternative<federation::CancelEvaluation>(action)) {
      ++tally["an evaluator cancelled at the deadline"];
    } else if (const auto* finished = std::get_if<federation::Finished>(&action)) {
      ++tally[NameOf("finished by", finished->reason)];
    } else if (std::holds_alternative<federation::RefuseJoin>(action)) {
      ++tally["a refused join"];
    }
  }

  Tally tally;

 private:
  // An epoch that is heard of after a later one of the same life was overtaken on the way.
  void HeardEpoch(const federation::EpochReported& epoch) {
    auto key = std::tuple(epoch.incarnation, epoch.cycle, epoch.epoch);
    auto& latest = latest_epoch_[epoch.learner];
    if (key < latest && epoch.incarnation == std::get<0>(latest)) ++tally["reordering"];
    latest = std::max(latest, key);
  }

  void Changed(const federation::StateChanged& changed) {
    if (changed.phase != federation::Phase::kPaused) return;
    if (changed.reason.find("quorum") != std::string::npos) ++tally["paused by quorum"];
    if (changed.reason.find("operator") != std::string::npos) ++tally["paused by the operator"];
  }

  void Committed(const CommunityCommitted& commit) {
    ++tally["policy " + std::string(policy::NameOf(settings_.policy))];
    for (const policy::Kind& kind : policy::Kinds()) {
      ++tally[NameOf(kind, *kind.chosen(settings_.policy))];
    }
    if (commit.withdrawn) {
      bool lease = std::holds_alternative<federation::TimerFired>(*cause_);
      ++tally[lease ? "a withdrawal at the end of a lease" : "a withdrawal by the operator"];
      return;
    }
    const bool synchronous = settings_.policy.protocol->rounds;
    const auto* timer = std::get_if<federation::TimerFired>(cause_);
    if (timer != nullptr && timer->timer.kind == TimerId::Kind::kRound) {
      ++tally["a round closed by its deadline"];
    }
    for (const federation::CommittedUpdate& update : commit.updates) {
      ++tally[NameOf("cycle", update.cycle.reason)];
      if (update.kept_previous) ++tally["coverage below the minimum"];
      if (update.coverage > 0 && update.coverage < 1) ++tally["part of the coverage"];
      uint64_t base = commit.version.value() - 1 - update.version_staleness;
      if (synchronous && base < round_base_) ++tally["a late update kept"];
    }
    round_base_ = commit.version.value();
  }

  const federation::Settings& settings_;
  const federation::Event* cause_ = nullptr;
  std::map<LearnerId, std::tuple<Incarnation, uint64_t, uint64_t>> latest_epoch_;
  std::set<federation::UpdateId> heard_;
  uint64_t round_base_ = 0;
};

// Everything that must have happened in the first hundred seeds.
std::vector<std::string> Wanted() {
  std::vector<std::string> wanted = {
      "reordering",
      "a repeated update",
      "a learner lost",
      "a learner back in the same life",
      "a learner's return in a new life",
      "paused by quorum",
      "paused by the operator",
      "refused counts",
      "an evaluator cancelled at the deadline",
      "coverage below the minimum",
      "part of the coverage",
      "a withdrawal at the end of a lease",
      "a withdrawal by the operator",
      "a round closed by its deadline",
      "a late update kept",
      "policy custom",
  };
  for (std::string_view name : EnumNames(Fault{})) wanted.push_back("fault " + std::string(name));
  for (std::string_view name : policy::kPolicyNames) {
    wanted.push_back("policy " + std::string(name));
  }
  // A part that is in the list and never commits anything is judged by nothing.
  for (const policy::Kind& kind : policy::Kinds()) {
    for (const federation::Part* part : kind.parts) wanted.push_back(NameOf(kind, *part));
  }
  for (auto reason :
       {RejectReason::kUnknownLearner, RejectReason::kStaleIncarnation, RejectReason::kGate,
        RejectReason::kForgedCounts, RejectReason::kLate, RejectReason::kFinished}) {
    wanted.push_back(NameOf("reject", reason));
  }
  for (std::string_view name : EnumNames(federation::CycleReason{})) {
    wanted.push_back("cycle " + std::string(name));
  }
  for (auto kind : {OperatorCommand::Kind::kPause, OperatorCommand::Kind::kResume,
                    OperatorCommand::Kind::kWithdraw}) {
    wanted.push_back(NameOf("operator", kind));
  }
  for (auto reason : {federation::StopReason::kDuration, federation::StopReason::kRounds,
                      federation::StopReason::kRequests}) {
    wanted.push_back(NameOf("finished by", reason));
  }
  return wanted;
}

TEST(SwarmCoverage, EverythingThatFaultsCanLeadToOccurs) {
  std::mutex mutex;
  Tally total;
  tests::ForEachSeed(seeds, [&](uint64_t seed) {
    Scenario scenario = DrawScenario(seed);
    Counter counter(scenario.federation);
    SwarmOutcome outcome = RunScenario(scenario, &counter);
    // What is recorded is never put back to an older copy.
    const bool copied = !scenario.faults.disk_copy.IsZero() && seed < seeds.first + 50;
    const SwarmOutcome unrecorded = copied ? RunScenario(scenario) : SwarmOutcome();
    constexpr auto kOlderCopy = static_cast<size_t>(Fault::kOlderCopy);
    outcome.struck[kOlderCopy] += unrecorded.struck[kOlderCopy];
    std::lock_guard lock(mutex);
    if (outcome.failure) ADD_FAILURE() << "seed " << seed << ": " << *outcome.failure;
    for (const auto& [what, times] : counter.tally) total[what] += times;
    for (size_t i = 0; i < outcome.struck.size(); ++i) {
      total["fault " + std::string(EnumNames(Fault{})[i])] += outcome.struck[i];
    }
    return true;
  });
  for (const std::string& what : Wanted()) EXPECT_GT(total[what], 0u) << what << " never occurred";
  for (const auto& [what, times] : total) {
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(times), what.c_str());
  }
}

}  // namespace
}  // namespace metis::sim

int main(int argc, char** argv) {
  return metis::tests::RunSeedTests(argc, argv, metis::sim::seeds);
}
