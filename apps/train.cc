// metis-train: the centralised baseline, one learner with all the training data.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/data_options.h"
#include "apps/precision_option.h"
#include "metis/core/text.h"
#include "metis/task/training.h"
#include "metis/train/runtime.h"

namespace metis::apps {
namespace {

using report::Json;
using task::Epoch;
using task::TrainExamples;
using task::TrainRecord;
using task::TrainSettings;
using task::Workshop;

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

// What was not said follows from the model.
void FillIn(Options& options) {
  learner::TrainingSettings& training = options.settings.training;
  const learner::TrainingSettings suited = task::DefaultsFor(options.settings.model);
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
            << task::PrecisionName(settings.training.precision)
            << (settings.training.augmentation ? ", augmented" : "") << ", seed " << settings.seed
            << "\n\n";
}

void PrintRow(const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    std::cout << (i == 0 ? "" : "  ") << std::setw(i == 0 ? 5 : 13) << cells[i];
  }
  std::cout << std::endl;  // as it comes: an epoch may take minutes
}

void PrintEpoch(const Epoch& epoch) {
  if (epoch.epoch == 1) {
    std::vector<std::string> titles = {"epoch", "training loss", "test loss", "test accuracy"};
    if (epoch.validation) titles.emplace_back("validation");
    titles.insert(titles.end(), {"images/s", "seconds"});
    PrintRow(titles);
  }
  std::vector<std::string> cells = {Text(epoch.epoch), Fixed(epoch.training_loss, 4),
                                    Fixed(epoch.test.loss, 4),
                                    Fixed(epoch.test.counts.Headline(), 4)};
  if (epoch.validation) cells.push_back(Fixed(epoch.validation->counts.Headline(), 4));
  cells.insert(cells.end(), {Fixed(epoch.images_per_second(), 0), Fixed(epoch.seconds, 1)});
  PrintRow(cells);
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
  Result<Workshop> shop = task::Prepare(options.settings);
  if (!shop) return Complain(shop.error().message);
  FillIn(options);  // of a model that only the file named
  const std::string warning = train::PrecisionWarning(options.settings.training.precision);
  if (!warning.empty()) std::cerr << "metis: " << warning << "\n";
  Console console;
  task::Training training(options.settings, *shop, console, interrupted);
  if (Result<void> begun = training.Begin(); !begun) return Complain(begun.error().message);
  Result<std::unique_ptr<TrainRecord>> record =
      TrainRecord::Create(options.out, options.settings, shop->facts, shop->initial, options.force);
  if (!record) return Complain(record.error().message);
  if (!options.json) PrintHead(options, *shop);
  Result<std::string> ended = training.Run(**record, [&](const Epoch& epoch) {
    if (!options.json) PrintEpoch(epoch);
  });
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
