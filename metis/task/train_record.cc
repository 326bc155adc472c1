#include "metis/task/train_record.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "metis/core/confusion.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/core/version.h"
#include "metis/report/run_files.h"
#include "metis/train/runtime.h"

namespace metis::task {
namespace {

namespace fs = std::filesystem;
using report::Json;
using report::kEpochsFile;
using report::NumberJson;

constexpr const char* kFinalModel = "final.metis";
constexpr const char* kBestModel = "best.metis";

Json EvaluationJson(const learner::Evaluation& evaluation) {
  return {{"loss", NumberJson(evaluation.loss)}, {"accuracy", evaluation.counts.Headline()}};
}

// By what the best model is chosen.
double Standing(const Epoch& epoch) {
  return (epoch.validation ? *epoch.validation : epoch.test).counts.Headline();
}

Json ClassesJson(const Epoch& epoch, const data::Dataset& set) {
  Json classes = Json::array();
  const std::vector<ClassScores> scores = ScoresByClass(epoch.test.counts.AsConfusion());
  for (uint32_t i = 0; i < scores.size(); ++i) {
    classes.push_back({{"class", i},
                       {"name", i < set.classes() ? set.ClassName(i) : Text(i)},
                       {"examples", scores[i].examples},
                       {"recall", scores[i].recall}});
  }
  return classes;
}

}  // namespace

double Epoch::images_per_second() const {
  return seconds > 0 ? static_cast<double>(examples) / seconds : 0;
}

TrainRecord::TrainRecord(std::string directory, const TrainSettings& settings,
                         store::ModelFacts facts, ModelPtr initial)
    : directory_(std::move(directory)),
      settings_(settings),
      facts_(std::move(facts)),
      initial_(std::move(initial)) {}

Result<std::unique_ptr<TrainRecord>> TrainRecord::Create(const std::string& directory,
                                                         const TrainSettings& settings,
                                                         const store::ModelFacts& facts,
                                                         const ModelPtr& initial, bool replace) {
  Result<void> done = report::MakeRunDirectory(directory, kEpochsFile, replace);
  if (!done) return done.error();
  std::unique_ptr<TrainRecord> record(new TrainRecord(directory, settings, facts, initial));
  const fs::path root(directory);
  record->epochs_.open(root / kEpochsFile, std::ios::binary | std::ios::trunc);
  if (!record->epochs_) {
    return Unavailable(Text("cannot write in ", directory, ": ", std::strerror(errno)));
  }
  std::error_code absent;  // of the run that is replaced
  for (const char* name : {report::kSummaryFile, kBestModel}) fs::remove(root / name, absent);
  done = report::WriteRunFile(root / report::kConfigFile, FormatToml(settings));
  if (!done) return done.error();
  const std::string schema = report::SchemaJson(*initial).dump(2) + "\n";
  done = report::WriteRunFile(root / report::kSchemaFile, schema);
  if (!done) return done.error();
  done = record->WriteModel(kFinalModel, *initial, nullptr);
  if (!done) return done.error();
  return record;
}

Result<void> TrainRecord::WriteModel(const char* name, const Model& model,
                                     const Epoch* epoch) const {
  store::ModelFacts facts = facts_;
  facts["epochs"] = Text(epoch == nullptr ? 0 : epoch->epoch);
  if (epoch != nullptr) facts["test_accuracy"] = Text(epoch->test.counts.Headline());
  return store::WriteModelFile((fs::path(directory_) / name).string(), facts, model);
}

Result<void> TrainRecord::Add(const Epoch& epoch) {
  Json line = {{"epoch", epoch.epoch},
               {"training_loss", NumberJson(epoch.training_loss)},
               {"test", EvaluationJson(epoch.test)}};
  if (epoch.validation) line["validation"] = EvaluationJson(*epoch.validation);
  line["seconds"] = epoch.seconds;
  line["images_per_s"] = epoch.images_per_second();
  line["model"] = Hex(epoch.model->Fingerprint());
  epochs_ << line.dump() << std::endl;
  if (!epochs_) {
    return Unavailable(
        Text("the record in ", directory_, " is incomplete: ", std::strerror(errno)));
  }
  last_ = epoch;
  examples_trained_ += epoch.examples;
  seconds_ += epoch.seconds;
  if (best_standing_.Offer(Standing(epoch))) {
    best_ = epoch;
    Result<void> written = WriteModel(kBestModel, *epoch.model, &epoch);
    if (!written) return written;
  }
  return WriteModel(kFinalModel, *epoch.model, &epoch);
}

Json TrainRecord::AccuracyJson() const {
  if (!last_) return nullptr;
  return {{"final", last_->test.counts.Headline()},
          {"best", best_->test.counts.Headline()},
          {"best_epoch", best_->epoch},
          {"best_by", best_->validation ? "validation" : "test"}};
}

Result<Json> TrainRecord::Finish(const std::string& stopped_by, const TrainExamples& examples) {
  const std::string initial = Hex(initial_->Fingerprint());
  Json json;
  json["metis"] = std::string(ProgramVersion());
  json["libtorch"] = train::TorchVersion();
  json["model"] = settings_.model;
  json["dataset"] = settings_.source.what;
  json["seed"] = settings_.seed;
  json["complete"] = stopped_by == "epochs";
  json["stopped_by"] = stopped_by;
  json["epochs"] = last_ ? last_->epoch : 0;
  json["training_examples"] = examples.training.size();
  json["validation_examples"] = examples.validation.size();
  json["test_examples"] = examples.test.size();
  json["parameters"] = initial_->size();
  json["seconds"] = seconds_;
  json["images_per_s"] = seconds_ > 0 ? static_cast<double>(examples_trained_) / seconds_ : 0;
  json["accuracy"] = AccuracyJson();
  json["loss"] = nullptr;
  if (last_) {
    json["loss"] = {{"training", NumberJson(last_->training_loss)},
                    {"test", NumberJson(last_->test.loss)}};
  }
  json["fingerprints"] = {{"initial", initial},
                          {"final", last_ ? Hex(last_->model->Fingerprint()) : initial},
                          {"best", best_ ? Json(Hex(best_->model->Fingerprint())) : Json()}};
  json["classes"] = last_ ? ClassesJson(*last_, *examples.test.set) : Json(nullptr);
  const fs::path path = fs::path(directory_) / report::kSummaryFile;
  // Names of files and classes need not be UTF-8, JSON is.
  Result<void> written =
      report::WriteRunFile(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (!written) return written.error();
  return json;
}

}  // namespace metis::task
