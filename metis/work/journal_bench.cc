#include "metis/work/journal_bench.h"

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "metis/core/archive.h"
#include "metis/core/check.h"

namespace metis::work {
namespace {

// What the journal keeps of an epoch and of an evaluation.
struct KeptEvaluation {
  Statistics counts;
  double loss = 0;
};

template <typename A>
void Fields(A& archive, KeptEvaluation& kept) {
  archive("counts", kept.counts);
  archive("loss", kept.loss);
}

struct KeptEpoch {
  uint64_t steps = 0;
  std::optional<KeptEvaluation> own;
};

template <typename A>
void Fields(A& archive, KeptEpoch& kept) {
  archive("steps", kept.steps);
  archive("own", kept.own);
}

KeptEvaluation Kept(const learner::Evaluation& evaluation) {
  return {evaluation.counts, evaluation.loss};
}

template <typename T>
std::string Encode(const T& kept) {
  BinaryWriter writer;
  writer("kept", kept);
  return std::move(writer).Take().bytes;
}

// Empty where there is nothing, or nothing that can be read: then it is computed.
template <typename T>
std::optional<T> Find(WorkJournal& journal, const WorkKey& key) {
  std::optional<std::string> bytes = journal.Find(key);
  if (!bytes) return std::nullopt;
  const Archived archived{*std::move(bytes), {}};
  BinaryReader reader(archived);
  T kept;
  reader("kept", kept);
  if (!reader.Finish()) return std::nullopt;
  return kept;
}

WorkKey StateKey(const Work& work) {
  return {.kind = Kind::kState, .who = work.who, .state = work.state.id};
}

}  // namespace

Result<WorkResult> JournalBench::Do(const Work& work, const std::stop_token& stop) {
  switch (work.kind) {
    case Kind::kEpoch:
      return Train(work, stop);
    case Kind::kModel:
      return TakeModel(work, stop);
    case Kind::kEvaluation:
    case Kind::kTest:
      return Evaluate(work, stop);
    case Kind::kState:
      break;
  }
  METIS_CHECK(false);
}

Result<WorkResult> JournalBench::Train(const Work& work, const std::stop_token& stop) {
  const WorkKey key = work.key();
  const std::optional<KeptEpoch> kept = Find<KeptEpoch>(journal_, key);
  if (kept && kept->own.has_value() == work.evaluate) {
    WorkResult found;
    found.steps = kept->steps;
    found.training_loss = std::numeric_limits<double>::quiet_NaN();
    if (kept->own) found.evaluation = learner::Evaluation{kept->own->counts, kept->own->loss};
    found.state = {StateAfter(work), nullptr, std::make_shared<const Work>(work)};
    return found;
  }
  Result<WorkResult> done = next_.Do(work, stop);
  if (!done) return done;
  KeptEpoch keep{done->steps, std::nullopt};
  if (done->evaluation) keep.own = Kept(*done->evaluation);
  journal_.Keep(key, Encode(keep));
  return done;
}

Result<WorkResult> JournalBench::FindOrTakeModel(const Work& work, const std::stop_token& stop) {
  const WorkKey key = work.key();
  const std::optional<std::string> bytes = journal_.Find(key);
  if (bytes && bytes->size() == work.model->bytes().size()) {
    WorkResult found;
    ModelDraft draft = pool_.Draft();
    std::memcpy(draft.parameters().data(), bytes->data(), bytes->size());
    found.model = std::move(draft).Seal();
    found.state = work.state;
    std::optional<std::string> state = keep_states_ ? journal_.Find(StateKey(work)) : std::nullopt;
    if (state) {
      auto value = std::make_shared<learner::TrainingState>();
      value->bytes = *std::move(state);
      found.state = {work.state.id, std::move(value), nullptr};
    }
    return found;
  }
  Work model_only = work;
  model_only.evaluate = false;
  Result<WorkResult> done = next_.Do(model_only, stop);
  if (!done) return done;
  const std::span<const std::byte> model = done->model->bytes();
  if (keep_states_) journal_.Keep(StateKey(work), done->state.value->bytes);
  journal_.Keep(key, {reinterpret_cast<const char*>(model.data()), model.size()});
  return done;
}

Result<WorkResult> JournalBench::TakeModel(const Work& work, const std::stop_token& stop) {
  Result<WorkResult> taken = FindOrTakeModel(work, stop);
  if (!taken || !work.evaluate) return taken;
  Work own;
  own.kind = Kind::kEvaluation;
  own.who = work.who;
  own.model = taken->model;
  Result<WorkResult> evaluated = Evaluate(own, stop);
  if (!evaluated) return evaluated;
  taken->evaluation = std::move(evaluated->evaluation);
  return taken;
}

Result<WorkResult> JournalBench::Evaluate(const Work& work, const std::stop_token& stop) {
  const WorkKey key = work.key();
  if (std::optional<KeptEvaluation> kept = Find<KeptEvaluation>(journal_, key)) {
    WorkResult found;
    found.evaluation = learner::Evaluation{std::move(kept->counts), kept->loss};
    return found;
  }
  Result<WorkResult> done = next_.Do(work, stop);
  if (done) journal_.Keep(key, Encode(Kept(*done->evaluation)));
  return done;
}

}  // namespace metis::work
