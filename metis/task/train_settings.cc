#include "metis/task/train_settings.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "metis/config/document.h"
#include "metis/core/text.h"
#include "metis/data/partition.h"

namespace metis::task {
namespace {

// Splits are drawn by seed and learner: the one learner validates as the first of a federation
// would, the test part is drawn apart from it.
constexpr uint64_t kLearner = 0;
constexpr uint64_t kTester = ~uint64_t{0};

using SetPtr = std::shared_ptr<const data::Dataset>;

std::vector<uint32_t> AllOf(const data::Dataset& set) {
  std::vector<uint32_t> indices(set.size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

data::Split SplitOf(const data::Dataset& set, const std::vector<uint32_t>& examples,
                    double fraction, uint64_t seed, uint64_t learner) {
  return data::StratifiedSplit(examples, set.labels(), set.classes(), fraction, seed, learner);
}

}  // namespace

learner::TrainingSettings DefaultsFor(std::string_view model) {
  learner::TrainingSettings settings = {
      .learning_rate = 0.05, .momentum = 0.75, .batch_size = 100};  // of cifar10-cnn too
  if (model.starts_with("resnet")) {
    settings.learning_rate = 0.1;
    settings.momentum = 0.9;
    settings.batch_size = 128;
  } else if (model == "femnist-cnn") {
    settings.learning_rate = 0.01;
    settings.momentum = 0.5;
  }
  return settings;
}

std::string_view PrecisionName(learner::Precision precision) {
  return precision == learner::Precision::kBf16 ? "bf16" : "fp32";
}

std::string FormatToml(const TrainSettings& settings) {
  using config::Quoted;
  const learner::TrainingSettings& training = settings.training;
  return Text("# All settings of one `metis train`.\n[train]\nmodel = ", Quoted(settings.model),
              "\ninit = ", Quoted(settings.init), "\nepochs = ", settings.epochs,
              "\nseed = ", settings.seed, "\n\n[data]\ndataset = ", Quoted(settings.source.what),
              "\ndirectory = ", Quoted(settings.source.directory),
              "\nlabel_column = ", Quoted(settings.source.options.label_column),
              "\ncoarse_labels = ", settings.source.options.coarse_labels,
              "\ntest_file = ", Quoted(settings.test_file),
              "\ntest_fraction = ", settings.test_fraction,
              "\n\n[training]\nlearning_rate = ", training.learning_rate,
              "\nmomentum = ", training.momentum, "\nbatch_size = ", training.batch_size,
              "\nvalidation_fraction = ", settings.validation_fraction,
              "\nprecision = ", Quoted(PrecisionName(training.precision)),
              "\naugmentation = ", training.augmentation, "\n");
}

Result<TrainExamples> LoadExamples(const TrainSettings& settings) {
  Result<data::LoadedData> loaded = data::LoadData(settings.source);
  if (!loaded) return loaded.error();
  if (!settings.test_file.empty()) {
    data::DataSource source = settings.source;
    source.what = settings.test_file;
    Result<data::LoadedData> test = data::LoadData(source);
    if (!test) return test.error();
    loaded->test = test->test ? std::move(test->test) : std::move(test->train);
  }
  const auto set = std::make_shared<const data::Dataset>(std::move(loaded->train));
  TrainExamples examples;
  examples.classes = set->classes();
  std::vector<uint32_t> rest = AllOf(*set);
  if (loaded->test) {
    const auto test = std::make_shared<const data::Dataset>(*std::move(loaded->test));
    examples.classes = std::max(examples.classes, test->classes());
    examples.test = train::Examples::All(test);
  } else {
    data::Split split = SplitOf(*set, rest, settings.test_fraction, settings.seed, kTester);
    rest = std::move(split.training);
    examples.test = train::Examples::Of(set, std::move(split.validation));
  }
  if (settings.validation_fraction > 0) {
    data::Split split = SplitOf(*set, rest, settings.validation_fraction, settings.seed, kLearner);
    rest = std::move(split.training);
    examples.validation = train::Examples::Of(set, std::move(split.validation));
  }
  examples.training = train::Examples::Of(set, std::move(rest));
  if (examples.test.size() == 0) {
    return Invalid(Text(settings.source.what, " has ", set->size(), " examples, too few to keep ",
                        "some of a class for the test: name a --test-file"));
  }
  return examples;
}

}  // namespace metis::task
