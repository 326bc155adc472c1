#include "metis/report/summary.h"

#include "metis/core/check.h"
#include "metis/core/enum_name.h"
#include "metis/core/fingerprint.h"
#include "metis/core/median.h"
#include "metis/core/text.h"

namespace metis::report {

using federation::Controller;

namespace {

Json LearnerJson(LearnerId id, const LearnerSummary& learner) {
  Json json;
  json["learner"] = id.value();
  json["name"] = learner.name;
  json["group"] = learner.group;
  json["training_examples"] = learner.training_examples;
  json["validation_examples"] = learner.validation_examples;
  json["updates"] = learner.updates;
  json["rejected"] = learner.rejected;
  json["epochs"] = learner.epochs;
  json["contribution"] = learner.contribution;
  json["median_staleness"] =
      learner.staleness.empty() ? Json(nullptr) : Json(Median(learner.staleness));
  json["cycles_ended_by"] = learner.reasons;
  return json;
}

enum class Kind { kText, kTextOrNull, kNumber, kCount };

bool IsA(Kind kind, const Json& value) {
  switch (kind) {
    case Kind::kText:
      return value.is_string();
    case Kind::kTextOrNull:
      return value.is_string() || value.is_null();
    case Kind::kNumber:
      return value.is_number();
    case Kind::kCount:
      return value.is_number_unsigned();
  }
  METIS_CHECK_MSG(false, "no such kind");
}

struct Field {
  const char* path;  // a pointer into the JSON
  Kind kind;
};
constexpr Field kShown[] = {
    {"/policy", Kind::kText},
    {"/length_s", Kind::kNumber},
    {"/version", Kind::kCount},
    {"/update_requests", Kind::kCount},
    {"/updates_rejected", Kind::kCount},
    {"/models_exchanged", Kind::kCount},
    {"/models_for_evaluation", Kind::kCount},
    {"/accuracy/final", Kind::kNumber},
    {"/accuracy/best", Kind::kNumber},
    {"/stopped_by", Kind::kTextOrNull},
};

}  // namespace

void SummaryBuilder::Event(Instant now, const federation::Event& event) {
  if (const auto* joined = std::get_if<federation::LearnerJoined>(&event)) {
    if (joined->role != federation::Role::kLearner) return;
    LearnerSummary& learner = learners_[joined->learner];
    learner.name = joined->name;
    learner.group = joined->group;
    learner.training_examples = joined->training_examples;
    learner.validation_examples = joined->validation_counts.examples();
  } else if (const auto* tested = std::get_if<federation::CommunityTested>(&event)) {
    Tested(now, *tested);
  }
}

void SummaryBuilder::Tested(Instant now, const federation::CommunityTested& tested) {
  if (tested.version > version_ || !tested_.insert(tested.version).second) return;
  TestPoint& test = tests_.emplace_back();
  test = {now, tested.version, requests_, tested.counts.Headline(), tested.loss, {}};
  for (const ClassScores& scores : ScoresByClass(tested.counts.AsConfusion())) {
    test.class_accuracy.push_back(scores.recall);
  }
}

void SummaryBuilder::Action(Instant, const federation::Action& action) {
  if (const auto* commit = std::get_if<federation::CommunityCommitted>(&action)) {
    Committed(*commit);
  } else if (const auto* rejected = std::get_if<federation::RejectUpdate>(&action)) {
    bool cut_off = rejected->reason == federation::RejectReason::kFinished;
    if (!cut_off) ++learners_[rejected->id.learner].rejected;
  } else if (const auto* refused = std::get_if<federation::RefuseCounts>(&action)) {
    // Told right after the event; an evaluator's counts are of an update, which has a number.
    const bool of_a_test = refused->update.sequence == Sequence(0);
    if (of_a_test && !tests_.empty()) tests_.pop_back();
  }
}

void SummaryBuilder::Committed(const federation::CommunityCommitted& commit) {
  version_ = commit.version;
  for (const federation::CommittedUpdate& update : commit.updates) {
    ++requests_;
    LearnerSummary& learner = learners_[update.id.learner];
    ++learner.updates;
    learner.epochs += update.cycle.epochs;
    learner.contribution = update.contribution;
    learner.staleness.push_back(static_cast<double>(update.staleness));
    ++learner.reasons[std::string(NameOf(update.cycle.reason))];
  }
  if (commit.withdrawn) learners_[*commit.withdrawn].contribution = 0;
}

Json FormatSummary(const RunFacts& facts, const Controller& controller,
                   const SummaryBuilder& summary) {
  const federation::Tally& counts = controller.statistics();
  const federation::StopCriteria& tests = controller.tests();
  Json json;
  json["metis"] = facts.program_version;
  json["policy"] = facts.policy;
  json["seed"] = facts.seed;
  json["complete"] = facts.complete;
  json["faults"] = facts.faults.has_value();
  if (facts.faults) json["faults_struck"] = *facts.faults;
  json["phase"] = NameOf(controller.phase());
  json["stopped_by"] =
      controller.stop_reason() ? Json(NameOf(*controller.stop_reason())) : Json(nullptr);
  json["length_s"] = facts.length.seconds();
  json["version"] = controller.version().value();
  json["update_requests"] = counts.requests;
  json["updates_rejected"] = counts.rejected;
  json["models_exchanged"] = counts.models_exchanged;
  json["models_for_evaluation"] = counts.models_evaluated;
  json["bytes_sent"] = facts.bytes_sent;
  json["committed_steps"] = controller.ledger().committed_steps();
  json["accuracy"] = {{"final", tests.latest_accuracy()},
                      {"best", tests.best_accuracy()},
                      {"best_version", tests.best_version().value()}};
  json["state_hash"] = Hex(controller.StateHash());
  Json learners = Json::array();
  for (const auto& [id, learner] : summary.learners()) learners.push_back(LearnerJson(id, learner));
  json["learners"] = std::move(learners);
  Json points = Json::array();
  for (const TestPoint& test : summary.tests()) {
    points.push_back({{"t_s", test.time.seconds()},
                      {"version", test.version.value()},
                      {"requests", test.requests},
                      {"accuracy", test.accuracy},
                      {"loss", test.loss},
                      {"class_accuracy", test.class_accuracy}});
  }
  json["tests"] = std::move(points);
  return json;
}

Result<void> CheckSummary(const Json& summary) {
  if (!summary.is_object()) return Invalid("it is no JSON object");
  for (const Field& field : kShown) {
    const Json::json_pointer place(field.path);
    const std::string name = std::string(field.path).substr(1);
    if (!summary.contains(place)) return Invalid(Text("it lacks ", name));
    if (!IsA(field.kind, summary.at(place))) {
      return Invalid(Text(name, " is ", summary.at(place).dump()));
    }
  }
  if (!summary.contains("faults_struck")) return {};
  const Json& struck = summary.at("faults_struck");
  bool counts = struck.is_object();
  for (const Json& times : struck) counts = counts && times.is_number_unsigned();
  if (!counts) return Invalid("faults_struck is no list of counts by name");
  return {};
}

}  // namespace metis::report
