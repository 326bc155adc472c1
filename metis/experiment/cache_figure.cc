#include "metis/experiment/cache_figure.h"

#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "metis/core/check.h"
#include "metis/core/display.h"
#include "metis/core/median.h"
#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/experiment/child.h"
#include "metis/experiment/scale.h"
#include "metis/experiment/table_spec.h"
#include "metis/federation/community.h"
#include "metis/machine/cpu_time.h"
#include "metis/machine/memory.h"
#include "metis/report/run_files.h"
#include "metis/store/model_file.h"

namespace metis::experiment {
namespace {

namespace fs = std::filesystem;
using federation::Community;
using federation::Gate;
using federation::MemoryModelStore;

constexpr size_t kEvicted = 128'000'000;  // floats, 512 MB: more than a CPU's caches hold
constexpr double kUsable = 0.8;           // of the free memory; others need some, too
constexpr uint32_t kMostLearners = 100'000;

void EmptyCaches() {
  static const std::vector<float> memory(kEvicted, 0.25f);
  volatile float sum = std::accumulate(memory.begin(), memory.end(), 0.0f);
  (void)sum;
}

// A federation that grows: every learner has contributed a model of its own.
class Federation {
 public:
  Federation(const ModelPtr& initial, uint32_t most_learners)
      : initial_(initial),
        pool_(initial->schema()),
        community_(pool_.Copy(initial->parameters()), GateFor(most_learners), pool_, store_) {}

  void GrowTo(uint32_t learners) {
    while (community_.learners() < learners) {
      Update(LearnerId(static_cast<uint32_t>(community_.learners())), Arrived());
    }
  }

  double TimeWithCache() {
    ModelPtr model = Arrived();
    const LearnerId learner(static_cast<uint32_t>(updates_ * 7919 % community_.learners()));
    EmptyCaches();
    const double start = machine::ThreadCpuSeconds();
    Update(learner, std::move(model));
    current_ = community_.Current();
    return machine::ThreadCpuSeconds() - start;
  }

  double TimeWithoutCache() {
    EmptyCaches();
    const double start = machine::ThreadCpuSeconds();
    Result<ModelPtr> computed = community_.Recompute();
    const double seconds = machine::ThreadCpuSeconds() - start;
    METIS_CHECK(computed.ok());  // all models are in memory
    same_ = same_ && (*computed)->Fingerprint() == community_.Current()->Fingerprint();
    return seconds;
  }

  bool same() const { return same_; }

 private:
  // Sums stay exact below 2^23.
  static Gate GateFor(uint32_t learners) {
    return {.max_parameter = std::min(8192.0, 4'000'000.0 / learners),
            .max_learners = std::max(learners, 1000U)};
  }

  // As the receiving thread hands it over: its magnitude is known.
  ModelPtr Arrived() {
    ModelDraft draft = pool_.Draft();
    const float shift = 0.001f * static_cast<float>(updates_ % 1000);
    std::transform(initial_->parameters().begin(), initial_->parameters().end(),
                   draft.parameters().begin(), [&](float value) { return value + shift; });
    ModelPtr model = std::move(draft).Seal();
    (void)model->Magnitude();
    return model;
  }

  void Update(LearnerId learner, ModelPtr model) {
    const double contribution = 0.25 + 0.5 * static_cast<double>(updates_ % 97) / 97;
    METIS_CHECK(community_.Replace(learner, contribution, std::move(model)).ok());
    ++updates_;
  }

  const ModelPtr initial_;
  ModelPool pool_;
  MemoryModelStore store_;
  Community community_;
  ModelPtr current_;
  uint64_t updates_ = 0;
  bool same_ = true;
};

}  // namespace

Result<std::vector<uint32_t>> ParseLearners(const std::string& text) {
  std::vector<uint32_t> numbers;
  for (const std::string& word : SplitAtCommas(text)) {
    const uint32_t number = ParseNumber<uint32_t>(word).value_or(0);
    if (number < 1 || number > kMostLearners) {
      return Invalid(Text("--learners ", word, ": must be whole numbers between 1 and ",
                          kMostLearners, ", separated by commas"));
    }
    numbers.push_back(number);
  }
  if (numbers.empty()) return Invalid("--learners is empty: name some, as 10,100,1000");
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

uint64_t BytesNeeded(uint64_t parameters, uint32_t learners) {
  constexpr uint64_t kBeside = 6;  // initial, arrived, two communities, a recomputed one, a spare
  const uint64_t models = sizeof(float) * parameters * (learners + kBeside);
  return models + sizeof(int64_t) * parameters + sizeof(float) * kEvicted;
}

Result<ModelPtr> MakeModel(const std::string& program, const std::string& name,
                           const std::string& directory) {
  std::string file_name = name;
  std::replace_if(
      file_name.begin(), file_name.end(), [](char c) { return c == ':' || c == '/' || c == ','; },
      '-');
  const std::string path = Text(directory, "/", file_name, ".metis");
  const std::string log = Text(directory, "/log.txt");
  const uint64_t said = LogSize(log);
  Result<pid_t> child =
      StartChild(program, {"init", name, "--dataset", "cifar100", "--out", path, "--force"}, log);
  if (!child) return child.error();
  int status = 0;
  METIS_CHECK(::waitpid(*child, &status, 0) == *child);
  if (std::string what = WhatHappened(status); !what.empty()) {
    const std::string words = LastWords(log, said);
    return Invalid(Text("--models ", name, ": ", words.empty() ? what : words));
  }
  Result<store::ModelFile> file = store::ReadModelFile(path);
  std::error_code ignored;
  fs::remove(path, ignored);
  if (!file) return file.error();
  return file->model;
}

Result<void> MeasureCache(const std::string& name, const ModelPtr& initial,
                          const std::vector<uint32_t>& learners, uint32_t repetitions,
                          uint64_t available, CacheFigure& figure) {
  const uint64_t parameters = initial->size();
  Federation federation(initial, learners.back());
  for (uint32_t n : learners) {
    const uint64_t needed = BytesNeeded(parameters, n);
    if (static_cast<double>(needed) > kUsable * static_cast<double>(available)) {
      figure.skipped.push_back(Text(name, " with ", n, " learners needs ", FormatBytes(needed),
                                    " of memory; ", FormatBytes(available), " are free"));
      continue;
    }
    federation.GrowTo(n);
    std::vector<double> with_s;
    std::vector<double> without_s;
    federation.TimeWithCache();  // buffers are there from now on
    for (uint32_t i = 0; i < repetitions; ++i) with_s.push_back(federation.TimeWithCache());
    for (uint32_t i = 0; i < repetitions; ++i) without_s.push_back(federation.TimeWithoutCache());
    if (!federation.same()) {
      return Invalid(Text(name, " with ", n,
                          " learners: the cached community model is not the "
                          "recomputed one"));
    }
    figure.points.push_back({name, parameters, n, Median(with_s), Median(without_s)});
  }
  return {};
}

Result<void> WriteFigure(const CacheFigure& figure, const std::string& directory) {
  const fs::path home = directory;
  Result<void> written =
      report::WriteRunFile(home / "cache.json", FormatJson(figure).dump(2) + "\n");
  if (written) written = report::WriteRunFile(home / "cache.csv", FormatCsv(figure));
  if (written) written = report::WriteRunFile(home / "cache.svg", DrawSvg(figure));
  return written;
}

}  // namespace metis::experiment
