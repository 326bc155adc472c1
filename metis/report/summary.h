// What a run came to: gathered while it runs, or again from its record. The table of `metis
// simulate` and summary.json are made from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/drivers/recorder.h"
#include "metis/federation/controller.h"
#include "metis/report/json_archive.h"

namespace metis::report {

// One test of the community model.
struct TestPoint {
  Instant time;
  Version version;
  uint64_t requests = 0;
  double accuracy = 0;
  double loss = 0;
  std::vector<double> class_accuracy;  // the part of each class's examples that was recognised
};

struct LearnerSummary {
  std::string name;
  std::string group;
  uint64_t training_examples = 0;
  uint64_t validation_examples = 0;
  uint64_t updates = 0;
  uint64_t rejected = 0;  // not counting those that the end cut off
  uint64_t epochs = 0;
  double contribution = 0;  // the latest p_k
  std::vector<double> staleness;
  std::map<std::string, uint64_t> reasons;  // why its cycles ended
};

// Listens to a run. Not thread-safe.
class SummaryBuilder final : public drivers::Recorder {
 public:
  void Event(Instant now, const federation::Event& event) override;
  void Action(Instant now, const federation::Action& action) override;

  // Those that the controller counts: not the second of a version, of another observer perhaps, nor
  // one of a version that a restored controller has not made yet, nor one with forged counts.
  const std::vector<TestPoint>& tests() const { return tests_; }
  const std::map<LearnerId, LearnerSummary>& learners() const { return learners_; }

 private:
  void Tested(Instant now, const federation::CommunityTested& tested);
  void Committed(const federation::CommunityCommitted& commit);

  Version version_;  // the latest
  std::vector<TestPoint> tests_;
  std::set<Version> tested_;
  std::map<LearnerId, LearnerSummary> learners_;
  uint64_t requests_ = 0;
};

// What only the driver of a run knows.
struct RunFacts {
  std::string program_version;
  std::string policy;
  uint64_t seed = 0;
  Duration length;  // virtual, or of the clock on the wall
  uint64_t bytes_sent = 0;
  bool complete = false;  // it ended by a stop criterion
  // How often each fault struck, by name; nothing where none were injected.
  std::optional<std::map<std::string, uint64_t>> faults = {};
};

Json FormatSummary(const RunFacts& facts, const federation::Controller& controller,
                   const SummaryBuilder& summary);

// Whether a summary that was read has the fields that a table of runs shows, with their types. An
// error names the first that it lacks.
Result<void> CheckSummary(const Json& summary);

}  // namespace metis::report
