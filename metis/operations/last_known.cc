#include "metis/operations/last_known.h"

#include <filesystem>

#include "metis/core/best_score.h"
#include "metis/core/text.h"
#include "metis/report/light_reader.h"
#include "metis/report/run_directory.h"
#include "metis/report/summary.h"

namespace metis::operations {
namespace {

namespace fs = std::filesystem;

class Gatherer final : public drivers::Recorder {
 public:
  void Event(Instant now, const federation::Event& event) override { summary_.Event(now, event); }
  void Action(Instant now, const federation::Action& action) override {
    summary_.Action(now, action);
    const auto* commit = std::get_if<federation::CommunityCommitted>(&action);
    if (commit == nullptr) return;
    status_.version = commit->version.value();
    status_.committed_steps = commit->committed_steps;
    status_.requests += commit->updates.size();
    status_.withdrawals += commit->withdrawn ? 1u : 0u;
    total_ = commit->total_contribution;
  }

  Status Take() {
    for (const auto& [id, learner] : summary_.learners()) {
      ParticipantStatus& shown = status_.participants.emplace_back();
      shown.id = id.value();
      shown.name = learner.name;
      shown.role = "learner";
      shown.group = learner.group;
      shown.state = "away";
      shown.training_examples = learner.training_examples;
      shown.validation_examples = learner.validation_examples;
      shown.contribution = learner.contribution;
      shown.share = total_ > 0 ? learner.contribution / total_ : 0;
      shown.updates = learner.updates;
      shown.rejected = learner.rejected;
      shown.epochs = learner.epochs;
      shown.cycles = learner.reasons;
      status_.rejected += learner.rejected;
    }
    BestScore best;
    for (const report::TestPoint& test : summary_.tests()) {
      const TestStatus point{test.time.seconds(), test.version.value(), test.requests,
                             test.accuracy, test.loss};
      if (best.Offer(point.accuracy)) status_.best = point;
    }
    return std::move(status_);
  }

 private:
  report::SummaryBuilder summary_;
  Status status_;
  double total_ = 0;
};

}  // namespace

Result<Status> ReadLastKnown(const std::string& run) {
  Gatherer gatherer;
  Result<report::LightRead> read =
      report::ReadLightly(fs::path(run) / report::kEventsFile, gatherer);
  if (!read) return read.error();
  Status status = gatherer.Take();
  status.run = run;
  status.time_s = read->last.seconds();
  Result<report::Json> summary = report::ReadRunJson(fs::path(run) / report::kSummaryFile);
  if (!summary || !summary->is_object()) return status;
  if ((*summary)["policy"].is_string()) status.policy = (*summary)["policy"].get<std::string>();
  if ((*summary)["complete"] != true) return status;
  status.phase = "finished";
  status.part = 1;
  if ((*summary)["stopped_by"].is_string()) {
    status.stopped_by = (*summary)["stopped_by"].get<std::string>();
    status.phase_reason = status.stopped_by;
  }
  return status;
}

}  // namespace metis::operations
