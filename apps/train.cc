// metis-train: the centralised baseline, one learner with all the training data.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli.h"
#include "apps/data_options.h"
#include "apps/model_facts.h"
#include "apps/progress.h"
#include "apps/train_record.h"
#include "apps/train_settings.h"
#include "metis/core/confusion.h"
#include "metis/core/text.h"
#include "metis/store/model_file.h"
#include "metis/train/runtime.h"
#include "metis/train/torch_trainer.h"

namespace metis::apps {
namespace {

using report::Json;
using SteadyClock = std::chrono::steady_clock;

// Set by Ctrl-C: training ends at the next mini-batch, and the epochs until then are kept.
std::atomic<bool> interrupted{false};

constexpr double kDefaultTestFraction = 0.2;

struct Options {
  TrainSettings settings;
  std::optional<double> learning_rate;
  std::optional<double> momentum;
  std::optional<uint32_t> batch_size;
  std::optional<double> test_fraction;
  std::string out = "runs/train";
  bool force = false;
  bool json = false;
};

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// Everything that training needs, checked and ready to start.
struct Workshop {
  TrainExamples examples;
  train::ArchitecturePtr architecture;
  store::ModelFacts facts;
  std::unique_ptr<ModelPool> pool;
  ModelPtr initial;
};

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

// What was not said follows from the model.
void FillIn(Options& options) {
  learner::TrainingSettings& training = options.settings.training;
  const learner::TrainingSettings suited = DefaultsFor(options.settings.model);
  training.learning_rate = options.learning_rate.value_or(suited.learning_rate);
  training.momentum = options.momentum.value_or(suited.momentum);
  training.batch_size = options.batch_size.value_or(suited.batch_size);
}

void PrintHead(const Options& options, const Workshop& shop) {
  const TrainSettings& settings = options.settings;
  const TrainExamples& examples = shop.examples;
  std::cout << settings.model << ", " << shop.architecture->schema()->parameters()
            << " parameters, on " << settings.source.what << ": " << examples.training.size()
            << " examples to train, ";
  if (examples.validation.size() > 0) std::cout << examples.validation.size() << " to validate, ";
  std::cout << examples.test.size() << " to test\n"
            << "learning rate " << Text(settings.training.learning_rate)
            << (options.learning_rate ? "" : " (default of the model)") << ", momentum "
            << Text(settings.training.momentum) << (options.momentum ? "" : " (default)")
            << ", batch " << settings.training.batch_size
            << (options.batch_size ? "" : " (default)") << ", "
            << PrecisionName(settings.training.precision)
            << (settings.training.augmentation ? ", augmented" : "") << ", seed " << settings.seed
            << "\n\n";
}

void PrintRow(const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    std::cout << (i == 0 ? "" : "  ") << std::setw(i == 0 ? 5 : 13) << cells[i];
  }
  std::cout << std::endl;  // as it comes: an epoch may take minutes
}

void PrintEpoch(const Epoch& epoch, bool validated) {
  if (epoch.epoch == 1) {
    std::vector<std::string> titles = {"epoch", "training loss", "test loss", "test accuracy"};
    if (validated) titles.emplace_back("validation");
    titles.insert(titles.end(), {"images/s", "seconds"});
    PrintRow(titles);
  }
  std::vector<std::string> cells = {Text(epoch.epoch), Fixed(epoch.training_loss, 4),
                                    Fixed(epoch.test.loss, 4),
                                    Fixed(epoch.test.counts.Headline(), 4)};
  if (validated) cells.push_back(Fixed(epoch.validation->counts.Headline(), 4));
  cells.insert(cells.end(), {Fixed(epoch.images_per_second(), 0), Fixed(epoch.seconds, 1)});
  PrintRow(cells);
}

// Trains epoch after epoch; the trainer's word on every mini-batch moves the bar.
class Training {
 public:
  Training(const Options& options, const Workshop& shop) : options_(options), shop_(shop) {}

  // Fails where model and examples do not suit each other; call it first.
  Result<void> Begin();
  // Why it ended: "epochs", "interrupted" or "diverged".
  Result<std::string> Run(TrainRecord& record);

 private:
  Result<Epoch> Train(uint64_t number);
  void OnStep(uint64_t steps, double mean_loss);

  const Options& options_;
  const Workshop& shop_;
  std::unique_ptr<learner::Trainer> trainer_;
  std::unique_ptr<learner::Evaluator> tester_;
  std::unique_ptr<learner::Evaluator> validator_;  // null without a validation set
  uint64_t epoch_ = 0;
  std::string accuracy_;  // of the epoch before, for the bar
  SteadyClock::time_point epoch_began_;
  std::optional<Progress> progress_;
  std::stop_source stop_;
};

Result<void> Training::Begin() {
  const TrainSettings& settings = options_.settings;
  Result<std::unique_ptr<learner::Trainer>> trainer = train::MakeTrainer(
      shop_.architecture, shop_.examples.training, settings.training, *shop_.pool, settings.seed,
      LearnerId(0), [this](uint64_t steps, double mean_loss) { OnStep(steps, mean_loss); });
  if (!trainer) return trainer.error();
  trainer_ = *std::move(trainer);
  const auto evaluator = [&](const train::Examples& examples) {
    return train::MakeEvaluator(shop_.architecture, examples, settings.training);
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
  if (!loaded && !settings.init.empty()) return loaded.error().In(settings.init);
  return loaded;
}

void Training::OnStep(uint64_t steps, double mean_loss) {
  if (interrupted) stop_.request_stop();
  const double part = static_cast<double>(steps) / static_cast<double>(trainer_->steps_per_epoch());
  const double seconds = SecondsSince(epoch_began_);
  const double whole = seconds / part;  // of this epoch; the coming ones will be like it
  const double left =
      whole - seconds + whole * static_cast<double>(options_.settings.epochs - epoch_);
  const double images = part * static_cast<double>(trainer_->training_examples());
  progress_->Update(part,
                    Text("loss ", Fixed(mean_loss, 4), accuracy_, ", ", Fixed(images / seconds, 0),
                         " images/s, ", FormatTime(left), " left"));
}

Result<Epoch> Training::Train(uint64_t number) {
  epoch_ = number;
  epoch_began_ = SteadyClock::now();
  progress_.emplace(Text("epoch ", number, "/", options_.settings.epochs));
  Result<learner::EpochReport> trained =
      trainer_->TrainEpoch({.cycle = 1, .epoch = number}, stop_.get_token());
  progress_.reset();
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

Result<std::string> Training::Run(TrainRecord& record) {
  for (uint64_t number = 1; number <= options_.settings.epochs; ++number) {
    if (interrupted) return std::string("interrupted");
    Result<Epoch> epoch = Train(number);
    if (!epoch && stop_.stop_requested()) return std::string("interrupted");
    if (!epoch) return epoch.error();
    if (Result<void> added = record.Add(*epoch); !added) return added.error();
    accuracy_ = Text(", accuracy ", Fixed(epoch->test.counts.Headline(), 4));
    if (!options_.json) PrintEpoch(*epoch, validator_ != nullptr);
    if (!std::isfinite(epoch->training_loss)) return std::string("diverged");
  }
  return std::string("epochs");
}

int Report(const Options& options, const TrainRecord& record, const std::string& stopped_by,
           const Json& summary) {
  const TrainSettings& settings = options.settings;
  if (options.json) {
    std::cout << summary.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else if (record.empty()) {
    std::cout << "Interrupted within the first epoch; the initial model is in " << options.out
              << "/final.metis.\n";
  } else {
    const Epoch& best = record.best();
    std::cout << "\n"
              << (stopped_by == "interrupted" ? "Interrupted. " : "") << "Best test accuracy "
              << Fixed(best.test.counts.Headline(), 4) << ", after epoch " << best.epoch
              << (best.validation ? " (chosen by validation)" : "") << ". Recorded in "
              << options.out << ".\nA closer look: metis evaluate " << options.out << "/best.metis "
              << (settings.test_file.empty() ? settings.source.what : settings.test_file) << "\n";
  }
  if (stopped_by == "diverged") {
    return Complain(Text("the training loss is no number after epoch ", record.last().epoch,
                         " with learning rate ", settings.training.learning_rate, ", momentum ",
                         settings.training.momentum, ": try a smaller --learning-rate"));
  }
  return Finish(stopped_by == "epochs" ? kOk : kFailed);
}

int Run(Options& options) {
  FillIn(options);
  Result<Workshop> shop = Prepare(options.settings);
  if (!shop) return Complain(shop.error().message);
  FillIn(options);  // of a model that only the file named
  const std::string warning = train::PrecisionWarning(options.settings.training.precision);
  if (!warning.empty()) std::cerr << "metis: " << warning << "\n";
  Training training(options, *shop);
  if (Result<void> begun = training.Begin(); !begun) return Complain(begun.error().message);
  Result<std::unique_ptr<TrainRecord>> record =
      TrainRecord::Create(options.out, options.settings, shop->facts, shop->initial, options.force);
  if (!record) return Complain(record.error().message);
  if (!options.json) PrintHead(options, *shop);
  Result<std::string> ended = training.Run(**record);
  if (!ended) return Complain(ended.error().message);
  Result<Json> summary = (*record)->Finish(*ended, shop->examples);
  if (!summary) return Complain(summary.error().message);
  return Report(options, **record, *ended, *summary);
}

// What the options contradict, if anything.
std::string Contradiction(Options& options) {
  TrainSettings& settings = options.settings;
  if (settings.model.empty() && settings.init.empty()) {
    return Text("which model is to be trained? Name --model (", Join(train::ArchitectureNames()),
                ") or --init FILE");
  }
  const bool known = data::FindKnown(settings.source.what) != nullptr;
  if (options.test_fraction && known) {
    return Text("--test takes a share of a file's examples; ", settings.source.what,
                " has a test part: leave it out");
  }
  if (!known && settings.test_file.empty()) {
    settings.test_fraction = options.test_fraction.value_or(kDefaultTestFraction);
  }
  return "";
}

// Of numbers from `low` (or just above it) to just below `high`; else the answer is `words`.
CLI::Validator Within(double low, bool above, double high, const std::string& words) {
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(text, value);
        const bool fits = number && (above ? value > low : value >= low) && value < high;
        return fits ? std::string() : Text("\"", text, "\" ", words);
      },
      "");
}

void AddOptions(CLI::App& app, Options& options) {
  TrainSettings& settings = options.settings;
  app.add_option("--model", settings.model,
                 Text("The network: ", Join(train::ArchitectureNames())));
  app.add_option("--dataset", settings.source.what, "A known name, or a file (`metis data`)")
      ->required();
  AddLoadOptions(app, settings.source);
  CLI::Option* test_file = app.add_option("--test-file", settings.test_file,
                                          "The data to test on; default: the set's test part");
  app.add_option("--test", options.test_fraction,
                 "The share of a file's examples to test on instead of training (default: 0.2)")
      ->check(Within(0, true, 1, "must be above 0 and below 1"))
      ->excludes(test_file);
  app.add_option("--validation", settings.validation_fraction,
                 "The share of the training examples to choose the best epoch by (default: none)")
      ->check(Within(0, true, 1, "must be above 0 and below 1"));
  app.add_option("--epochs", settings.epochs, "Passes over the training examples")
      ->transform(WholeWithin(1, 1'000'000))
      ->capture_default_str();
  AddSeedOption(app, settings.seed, "Seed of every random draw");
  app.add_option("--learning-rate", options.learning_rate, "Default: what suits the model")
      ->check(Within(0, true, std::numeric_limits<double>::infinity(), "must be above 0"));
  app.add_option("--momentum", options.momentum, "Default: what suits the model")
      ->check(Within(0, false, 1, "must be 0 or more, and below 1"));
  app.add_option("--batch", options.batch_size, "Examples a mini-batch (default: what suits)")
      ->transform(WholeWithin(1, 1'000'000));
  app.add_flag("--augment", settings.training.augmentation,
               "Crop and mirror colour images at random");
  AddPrecisionOption(app, settings.training.precision);
  app.add_option("--init", settings.init, "A model file to begin with (`metis model init`)");
  app.add_option("--out", options.out, "Run directory")->capture_default_str();
  app.add_flag("--force", options.force, "Replace the run that --out holds");
  app.add_flag("--json", options.json, "Print the summary as JSON instead of a table");
}

int Main(int argc, const char* const* argv) {
  train::KeepFreedMemory();
  Options options;
  CLI::App app(
      "Trains one model on all of a data set, as a baseline for federations. The same settings\n"
      "and seed give the same model, bit for bit, on the same kind of CPU.",
      "metis train");
  app.footer(
      "Examples:\n"
      "  metis train --model mnist-cnn --dataset fashion-mnist --epochs 3\n"
      "  metis train --model cifar10-cnn --dataset cifar10 --augment --out runs/cifar10\n"
      "  metis train --model mlp:64 --dataset measurements.csv --test 0.3 --validation 0.1\n"
      "  metis train --init model.metis --dataset mnist --learning-rate 0.01");
  AddVersionOption(app);
  AddOptions(app, options);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (std::string wrong = Contradiction(options); !wrong.empty()) {
    return Complain(wrong + "\nSee `metis train --help`.", kUsage);
  }
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = true; });
  return Run(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
