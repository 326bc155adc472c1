#include "metis/work/bench.h"

#include <utility>

#include "metis/core/check.h"

namespace metis::work {

Result<WorkResult> ToolBench::Do(const Work& work, const std::stop_token& stop) {
  switch (work.kind) {
    case Kind::kEpoch:
      return Train(work, stop);
    case Kind::kModel:
      return TakeModel(work, stop);
    case Kind::kEvaluation:
    case Kind::kTest: {
      const bool test = work.kind == Kind::kTest;
      const auto evaluator = test ? tools_.Tester(work.who) : tools_.Evaluator(work.who);
      Result<learner::Evaluation> evaluated = evaluator->Evaluate(*work.model);
      if (!evaluated) return evaluated.error();
      WorkResult result;
      result.evaluation = *std::move(evaluated);
      return result;
    }
    case Kind::kState:
      break;
  }
  METIS_CHECK(false);
}

Result<learner::TrainingStatePtr> ToolBench::Value(const LearnerState& state, uint64_t& examples,
                                                   const std::stop_token& stop) {
  if (state.id == 0 || state.value) return state.value;
  Work again = *state.history;
  again.evaluate = false;
  Result<WorkResult> trained = Train(again, stop);
  if (!trained) return trained.error();
  examples += trained->examples;
  return trained->state.value;
}

Result<WorkResult> ToolBench::Train(const Work& work, const std::stop_token& stop) {
  WorkResult result;
  const bool begins = work.epoch == 1;
  Result<learner::TrainingStatePtr> before = Value(work.state, result.examples, stop);
  if (!before) return before.error();
  const auto trainer = tools_.Trainer(work.who);
  const auto restore = [&]() -> Result<void> {
    return *before ? trainer->Restore(**before) : Result<void>();
  };
  // A cycle begins with the received model and what outlives one; it continues with its state.
  Result<void> ready = begins ? restore() : Result<void>();
  if (ready) ready = trainer->Load(work.model);
  if (ready && !begins) ready = restore();
  if (!ready) return ready.error();
  Result<learner::EpochReport> report = trainer->TrainEpoch({work.cycle, work.epoch}, stop);
  if (!report) return report.error();
  result.steps = report->steps;
  result.examples += report->examples;
  result.training_loss = report->training_loss;
  Result<learner::TrainingStatePtr> after = trainer->Save();
  if (!after) return after.error();
  result.state = {StateAfter(work), *std::move(after), nullptr};
  if (!work.evaluate) return result;
  Result<ModelPtr> model = trainer->Snapshot();
  if (!model) return model.error();
  Result<learner::Evaluation> own = tools_.Evaluator(work.who)->Evaluate(**model);
  if (!own) return own.error();
  result.evaluation = *std::move(own);
  return result;
}

Result<WorkResult> ToolBench::TakeModel(const Work& work, const std::stop_token& stop) {
  WorkResult result;
  {
    Result<learner::TrainingStatePtr> value = Value(work.state, result.examples, stop);
    if (!value) return value.error();
    METIS_CHECK(*value != nullptr);
    result.state = {work.state.id, *value, nullptr};
    const auto trainer = tools_.Trainer(work.who);
    Result<void> ready = trainer->Load(work.model);
    if (ready) ready = trainer->Restore(**value);
    if (!ready) return ready.error();
    Result<ModelPtr> model = trainer->Snapshot();
    if (!model) return model.error();
    result.model = *std::move(model);
  }
  if (!work.evaluate) return result;
  Result<learner::Evaluation> own = tools_.Evaluator(work.who)->Evaluate(*result.model);
  if (!own) return own.error();
  result.evaluation = *std::move(own);
  return result;
}

}  // namespace metis::work
