#include "metis/task/training.h"

#include <cmath>
#include <optional>
#include <utility>

#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/task/model_facts.h"
#include "metis/train/torch_trainer.h"

namespace metis::task {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

}  // namespace

Result<Workshop> Prepare(TrainSettings& settings) {
  Workshop shop;
  store::ModelFile init;
  if (!settings.init.empty()) {
    Result<store::ModelFile> file = store::ReadModelFile(settings.init);
    if (!file) return file.error();
    init = *std::move(file);
  }
  Result<TrainExamples> examples = LoadExamples(settings);
  if (!examples) return examples.error();
  shop.examples = *std::move(examples);
  const ExampleKind kind{shop.examples.training.set->shape(), shop.examples.classes};
  Result<train::ArchitecturePtr> architecture = ArchitectureOf(init.facts, settings.model, kind);
  if (!architecture) return architecture.error();
  shop.architecture = *architecture;
  settings.model = shop.architecture->name();
  shop.pool = std::make_unique<ModelPool>(shop.architecture->schema());
  shop.initial = init.model ? init.model : shop.architecture->Initial(*shop.pool, settings.seed);
  shop.facts = FactsOf(shop.architecture->settings(),
                       init.model ? std::nullopt : std::optional(settings.seed));
  shop.facts["dataset"] = settings.source.what;
  shop.facts["training_seed"] = Text(settings.seed);
  shop.facts.merge(init.facts);  // where it began: what this run says wins
  return shop;
}

Result<void> Training::Begin() {
  Result<std::unique_ptr<learner::Trainer>> trainer = train::MakeTrainer(
      shop_.architecture, shop_.examples.training, settings_.training, *shop_.pool, settings_.seed,
      LearnerId(0), [this](uint64_t steps, double mean_loss) { OnStep(steps, mean_loss); });
  if (!trainer) return trainer.error();
  trainer_ = *std::move(trainer);
  const auto evaluator = [&](const train::Examples& examples) {
    return train::MakeEvaluator(shop_.architecture, examples, settings_.training);
  };
  Result<std::unique_ptr<learner::Evaluator>> tester = evaluator(shop_.examples.test);
  if (!tester) return tester.error();
  tester_ = *std::move(tester);
  if (shop_.examples.validation.size() > 0) {
    Result<std::unique_ptr<learner::Evaluator>> validator = evaluator(shop_.examples.validation);
    if (!validator) return validator.error();
    validator_ = *std::move(validator);
  }
  Result<void> loaded = trainer_->Load(shop_.initial);
  if (!loaded && !settings_.init.empty()) return loaded.error().In(settings_.init);
  return loaded;
}

void Training::OnStep(uint64_t steps, double mean_loss) {
  if (interrupted_) stop_.request_stop();
  const double part = static_cast<double>(steps) / static_cast<double>(trainer_->steps_per_epoch());
  const double seconds = SecondsSince(epoch_began_);
  const double whole = seconds / part;  // of this epoch; the coming ones will be like it
  const double left = whole - seconds + whole * static_cast<double>(settings_.epochs - epoch_);
  const double images = part * static_cast<double>(trainer_->training_examples());
  narrator_.Update(part, [&] {
    return Text("loss ", Fixed(mean_loss, 4), accuracy_, ", ", Fixed(images / seconds, 0),
                " images/s, ", FormatSeconds(left), " left");
  });
}

Result<Epoch> Training::Train(uint64_t number) {
  epoch_ = number;
  epoch_began_ = SteadyClock::now();
  narrator_.Begin(Text("epoch ", number, "/", settings_.epochs));
  Result<learner::EpochReport> trained =
      trainer_->TrainEpoch({.cycle = 1, .epoch = number}, stop_.get_token());
  narrator_.End();
  if (!trained) return trained.error();
  Epoch epoch{.epoch = number,
              .training_loss = trained->training_loss,
              .examples = trained->examples,
              .seconds = SecondsSince(epoch_began_)};
  Result<ModelPtr> model = trainer_->Snapshot();
  if (!model) return model.error();
  epoch.model = *std::move(model);
  Result<learner::Evaluation> test = tester_->Evaluate(*epoch.model);
  if (!test) return test.error();
  epoch.test = *std::move(test);
  if (validator_) {
    Result<learner::Evaluation> validation = validator_->Evaluate(*epoch.model);
    if (!validation) return validation.error();
    epoch.validation = *std::move(validation);
  }
  return epoch;
}

Result<std::string> Training::Run(TrainRecord& record,
                                  const std::function<void(const Epoch&)>& on_epoch) {
  for (uint64_t number = 1; number <= settings_.epochs; ++number) {
    if (interrupted_) return std::string("interrupted");
    Result<Epoch> epoch = Train(number);
    if (!epoch && stop_.stop_requested()) return std::string("interrupted");
    if (!epoch) return epoch.error();
    if (Result<void> added = record.Add(*epoch); !added) return added.error();
    accuracy_ = Text(", accuracy ", Fixed(epoch->test.counts.Headline(), 4));
    on_epoch(*epoch);
    if (!std::isfinite(epoch->training_loss)) return std::string("diverged");
  }
  return std::string("epochs");
}

}  // namespace metis::task
