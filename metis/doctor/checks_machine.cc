#include <algorithm>

#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/doctor/checks.h"
#include "metis/federation/part.h"

namespace metis::doctor {
namespace {

// Sums and the community model: what a controller holds beside learners' models (docs/network.md).
constexpr uint64_t kSumsAsModels = 4;
// initial.metis, best.metis, final.metis, and one of each being written.
constexpr uint64_t kModelFiles = 6;
constexpr uint64_t kEventBytes = 2048;  // of the record, with its notes
constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kUsualEpochs = 4;      // of a cycle whose trigger does not say
constexpr uint64_t kFewUpdates = 10'000;  // where nothing bounds their number

// Between two snapshots the models of all updates stay.
uint64_t BytesBetweenSnapshots(const config::Config& config, uint64_t model_bytes) {
  const federation::Settings& settings = config.federation;
  const auto epochs = settings.policy.trigger->fixed_epochs(settings);
  uint64_t events = 1 + epochs.value_or(kUsualEpochs);  // of one update
  if (settings.policy.weighting->evaluation != nullptr) {
    events += settings.membership.learners - 1;
  }
  const uint64_t updates = config.storage.snapshot_every / events + 1;
  const uint64_t most = store::LogBudget(settings.membership.learners, model_bytes) + model_bytes;
  return std::min(updates * model_bytes, most);
}

uint64_t MostUpdates(const config::Config& config) {
  const federation::StopSettings& stop = config.federation.stop;
  uint64_t most = kFewUpdates;
  if (stop.requests) most = *stop.requests;
  if (stop.rounds) {
    const uint64_t of_rounds = uint64_t{*stop.rounds} * config.federation.membership.learners;
    most = stop.requests ? std::min(most, of_rounds) : of_rounds;
  }
  return most;
}

}  // namespace

Needs ForecastNeeds(const config::Config& config, uint64_t model_bytes, bool replayable) {
  const uint64_t learners = config.federation.membership.learners;
  const bool rounds = config.federation.policy.protocol->rounds;
  Needs needs;
  const bool durable = config.storage.durability == store::Durability::kFull;
  if (store::KeepsModels(config.storage)) {
    needs.disk += learners * model_bytes + BytesBetweenSnapshots(config, model_bytes);
  }
  const uint64_t updates = MostUpdates(config);
  needs.disk += kModelFiles * model_bytes + updates * kEventBytes;
  if (replayable) needs.disk += updates * model_bytes;

  uint64_t latest = learners * model_bytes;
  // A finished round's are on the disk only, or nowhere.
  if (rounds && (durable || !config.federation.keep_models)) latest = 0;
  if (config.storage.memory_mb > 0) latest = std::min(latest, config.storage.memory_mb * kMiB);
  const uint64_t arriving =
      std::min(config.network.receive_budget_mb * kMiB, learners * model_bytes);
  const uint64_t of_round = rounds ? learners * model_bytes : 0;
  needs.memory = latest + of_round + arriving + kSumsAsModels * model_bytes;
  return needs;
}

Findings CheckConfig(const ConfigFacts& facts) {
  if (!facts.config) return {Say("config.bad", {facts.config.error().message})};
  const config::Config& config = *facts.config;
  Findings findings = {
      Say("config.good", {facts.source, config::ValueOf(config, "federation.policy"),
                          Text(config.federation.membership.learners)})};
  if (config.storage.durability == store::Durability::kNone) {
    findings.push_back(Say("config.unkept"));
  }
  const federation::StopSettings& stop = config.federation.stop;
  if (!stop.duration && !stop.rounds && !stop.requests) {
    std::vector<std::string> tests;
    if (stop.target_accuracy) tests.push_back("stop.target_accuracy");
    if (stop.patience) tests.push_back("stop.patience");
    findings.push_back(Say("config.tests-only", {Join(tests, " or ")}));
  }
  return findings;
}

Findings CheckFileLimit(const FileLimitFacts& facts) {
  const std::string allowed = Text(facts.allowed), needed = Text(facts.needed);
  if (facts.allowed < facts.least) return {Say("files.too-few", {allowed})};
  if (facts.allowed < facts.needed) {
    return {Say("files.few", {allowed, Text(facts.connections), needed})};
  }
  return {Say("files.good", {allowed, needed, Text(facts.connections)})};
}

Findings CheckDisk(const DiskFacts& facts) {
  Findings findings;
  if (!facts.read_only.empty()) {
    findings.push_back(Say("disk.read-only", {facts.directory, facts.read_only}));
  }
  if (!facts.remote.empty()) {
    findings.push_back(Say("disk.remote", {facts.directory, facts.remote}));
  }
  if (!facts.free) {
    findings.push_back(Say("disk.unknown", {facts.directory, facts.free.error().message}));
    return findings;
  }
  const uint64_t free = *facts.free;
  if (!facts.needed) {
    findings.push_back(Say("disk.unforecast", {facts.directory, FormatBytes(free)}));
    return findings;
  }
  const uint64_t needed = *facts.needed;
  const char* id = free < needed ? "disk.short" : free / 2 < needed ? "disk.tight" : "disk.good";
  findings.push_back(Say(id, {facts.directory, FormatBytes(free), FormatBytes(needed)}));
  return findings;
}

Findings CheckMemory(const MemoryFacts& facts) {
  if (!facts.free) return {Say("memory.unknown", {facts.free.error().message})};
  const uint64_t free = *facts.free;
  if (!facts.needed) return {Say("memory.unforecast", {FormatBytes(free)})};
  const std::string needed = FormatBytes(*facts.needed);
  if (facts.total < *facts.needed) {
    return {Say("memory.short", {FormatBytes(facts.total), needed})};
  }
  if (free < *facts.needed) return {Say("memory.tight", {FormatBytes(free), needed})};
  return {Say("memory.good", {FormatBytes(free), needed})};
}

Findings CheckTimeService(bool kept) { return {Say(kept ? "clock.kept" : "clock.unkept")}; }

}  // namespace metis::doctor
