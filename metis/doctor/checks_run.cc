#include "metis/core/text.h"
#include "metis/doctor/checks.h"

namespace metis::doctor {
namespace {

using State = RunFacts::State;

Findings CheckWhole(const RunFacts& facts, const std::optional<std::string>& identity,
                    const std::string& settings) {
  Findings findings;
  for (const std::string& file : facts.missing_files) {
    findings.push_back(Say("run.incomplete", {facts.directory, file}));
  }
  if (!facts.missing_models.empty()) {
    findings.push_back(Say("run.models-missing",
                           {facts.directory, Text(facts.models), Text(facts.missing_models.size()),
                            facts.missing_models.front()}));
  }
  if (facts.recorded && *facts.recorded > facts.events) {
    findings.push_back(
        Say("run.state-behind", {facts.directory, Text(facts.events), Text(*facts.recorded)}));
  }
  if (facts.recorded && *facts.recorded < facts.saved) {
    findings.push_back(
        Say("run.record-behind", {facts.directory, Text(*facts.recorded), Text(facts.saved)}));
  }
  if (identity && *identity != facts.identity) {
    findings.push_back(Say("run.other-federation", {facts.directory, settings}));
  }
  if (findings.empty()) {
    findings.push_back(Say("run.goes-on", {facts.directory, Text(facts.events)}));
  }
  return findings;
}

}  // namespace

Findings CheckRun(const RunFacts& facts, const std::optional<std::string>& identity,
                  const std::string& settings) {
  const std::string& run = facts.directory;
  switch (facts.state) {
    case State::kAbsent:
      return {Say("run.new", {run})};
    case State::kForeign:
      return {Say("run.foreign", {run, facts.words})};
    case State::kHidden:
      return {Say("run.hidden", {run, facts.words})};
    case State::kInUse:
      return {Say("run.in-use", {run, facts.holder})};
    case State::kFinished:
      return {Say("run.finished", {run})};
    case State::kNewer:
      return {Say("run.newer", {run, Text(facts.format), Text(facts.known)})};
    case State::kDamaged:
      return {Say("run.damaged", {facts.words, run})};
    case State::kWhole:
      break;
  }
  return CheckWhole(facts, identity, settings);
}

Findings CheckData(const DataFacts& facts) {
  if (!facts.read) return {Say("data.bad", {facts.read.error().message})};
  Findings findings = {
      Say("data.good", {facts.what, Text(facts.examples), facts.shape, Text(facts.classes)})};
  for (const std::string& part : facts.unrecorded) {
    findings.push_back(Say("data.other-content", {facts.what, part}));
  }
  if (!facts.single.empty()) {
    findings.push_back(Say("data.thin", {facts.what, Join(facts.single)}));
  }
  const auto shape = facts.model.find("example");
  const auto classes = facts.model.find("classes");
  if (shape != facts.model.end() && classes != facts.model.end() &&
      (shape->second != facts.shape || classes->second != Text(facts.classes))) {
    findings.push_back(Say("data.other-model", {facts.what, Text(facts.classes), facts.shape,
                                                classes->second, shape->second}));
  }
  return findings;
}

}  // namespace metis::doctor
