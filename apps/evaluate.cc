// metis-evaluate: how well a model does on a data set, class by class.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli.h"
#include "apps/data_options.h"
#include "apps/precision_option.h"
#include "apps/table.h"
#include "metis/core/confusion.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/drawing/confusion.h"
#include "metis/report/json_archive.h"
#include "metis/store/model_file.h"
#include "metis/task/model_facts.h"
#include "metis/train/runtime.h"
#include "metis/train/torch_trainer.h"

namespace metis::apps {
namespace {

using report::Json;

constexpr uint32_t kMostInMatrix = 20;  // classes; more do not fit a terminal
constexpr size_t kConfusionsShown = 20;

struct Options {
  std::string model_file;
  std::string architecture;
  data::DataSource source;
  std::string part;
  std::string matrix;
  uint32_t batch_size = 100;
  learner::Precision precision = learner::Precision::kFp32;
  bool json = false;
};

// A model's result on one data set.
struct Outcome {
  learner::Evaluation evaluation;
  std::string data;                // the name of the set
  std::vector<std::string> names;  // of the classes
  std::string architecture;
  uint64_t fingerprint = 0;  // of the model
};

Result<data::Dataset> Load(const Options& options) {
  Result<data::LoadedData> loaded = data::LoadData(options.source);
  if (!loaded) return loaded.error();
  if (!loaded->test && !options.part.empty()) {
    return Invalid(Text("--part ", options.part, ": ", options.source.what,
                        " is one file, without parts: leave it out"));
  }
  if (loaded->test && options.part != "train") return *std::move(loaded->test);
  return std::move(loaded->train);
}

Result<Outcome> Evaluate(const Options& options) {
  Result<store::ModelFile> file = store::ReadModelFile(options.model_file);
  if (!file && data::FindKnown(options.model_file) != nullptr) {
    return Invalid(Text(options.model_file, " is a data set: the model file comes first"));
  }
  if (!file) return file.error();
  Result<data::Dataset> loaded = Load(options);
  if (!loaded) return loaded.error();
  const auto set = std::make_shared<const data::Dataset>(*std::move(loaded));
  Result<train::ArchitecturePtr> architecture =
      task::ArchitectureOf(file->facts, options.architecture, {set->shape(), set->classes()});
  if (!architecture) return architecture.error().In(options.model_file);
  learner::TrainingSettings settings;
  settings.batch_size = options.batch_size;
  settings.precision = options.precision;
  Result<std::unique_ptr<learner::Evaluator>> evaluator =
      train::MakeEvaluator(*architecture, train::Examples::All(set), settings);
  if (!evaluator) return evaluator.error().In(options.model_file);
  Result<learner::Evaluation> evaluation = (*evaluator)->Evaluate(*file->model);
  if (!evaluation) return evaluation.error().In(options.model_file);
  Outcome outcome{
      *std::move(evaluation), set->name(), {}, (*architecture)->name(), file->model->Fingerprint()};
  for (uint32_t i = 0; i < (*architecture)->settings().classes; ++i) {
    outcome.names.push_back(i < set->classes() ? Printable(set->ClassName(i)) : Text(i));
  }
  return outcome;
}

bool HasClasses(const Outcome& outcome) {
  return outcome.evaluation.counts.AsConfusion().classes() > 0;
}

Json Describe(const Options& options, const Outcome& outcome) {
  const ConfusionCounts& counts = outcome.evaluation.counts.AsConfusion();
  Json classes = Json::array();
  Json matrix = Json::array();
  const std::vector<ClassScores> scores = ScoresByClass(counts);
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    classes.push_back({{"class", i},
                       {"name", outcome.names[i]},
                       {"examples", scores[i].examples},
                       {"precision", scores[i].precision},
                       {"recall", scores[i].recall},
                       {"f1", scores[i].f1}});
    const auto row = counts.counts().begin() + static_cast<ptrdiff_t>(size_t{i} * counts.classes());
    matrix.push_back(std::vector<uint64_t>(row, row + counts.classes()));
  }
  return {{"model", options.model_file},
          {"architecture", outcome.architecture},
          {"fingerprint", Hex(outcome.fingerprint)},
          {"dataset", outcome.data},
          {"examples", outcome.evaluation.counts.examples()},
          {"loss", report::NumberJson(outcome.evaluation.loss)},
          {"accuracy", Accuracy(counts)},
          {"micro_f1", MicroF1(counts)},
          {"macro_f1", MacroF1(counts)},
          {"matthews", Matthews(counts)},
          {"classes", std::move(classes)},
          {"confusion", std::move(matrix)}};
}

void PrintScores(const Outcome& outcome) {
  const Statistics& statistics = outcome.evaluation.counts;
  const ConfusionCounts& counts = statistics.AsConfusion();
  Table table({{""}, {""}});
  table.AddRow({"model", outcome.architecture});
  table.AddRow({"data", Text(outcome.data, ", ", statistics.examples(), " examples")});
  table.AddRow({std::string(statistics.headline_name()), Fixed(statistics.Headline(), 4)});
  table.AddRow({"loss", Fixed(outcome.evaluation.loss, 4)});
  if (HasClasses(outcome)) {
    table.AddRow({"micro F1", Fixed(MicroF1(counts), 4)});
    table.AddRow({"macro F1", Fixed(MacroF1(counts), 4)});
    table.AddRow({"Matthews", Fixed(Matthews(counts), 4)});
  }
  table.Print(std::cout);
  std::cout << "\n";
}

void PrintClasses(const Outcome& outcome) {
  Table table({{"class", Align::kRight},
               {"name"},
               {"examples", Align::kRight},
               {"precision", Align::kRight},
               {"recall", Align::kRight},
               {"F1", Align::kRight}});
  const std::vector<ClassScores> scores = ScoresByClass(outcome.evaluation.counts.AsConfusion());
  for (size_t i = 0; i < scores.size(); ++i) {
    table.AddRow({Text(i), outcome.names[i], Text(scores[i].examples),
                  Fixed(scores[i].precision, 3), Fixed(scores[i].recall, 3),
                  Fixed(scores[i].f1, 3)});
  }
  table.Print(std::cout, OutputIsTerminal());
  std::cout << "\n";
}

// A row an actual class, a column a predicted one; "." for none, so that confusions stand out.
void PrintMatrix(const Outcome& outcome) {
  const ConfusionCounts& counts = outcome.evaluation.counts.AsConfusion();
  std::vector<Table::Column> columns = {{"actual \\ predicted"}};
  for (uint32_t i = 0; i < counts.classes(); ++i) columns.push_back({Text(i), Align::kRight});
  Table table(std::move(columns));
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    std::vector<std::string> row = {outcome.names[i] == Text(i) ? Text(i)
                                                                : Text(i, " ", outcome.names[i])};
    for (uint32_t j = 0; j < counts.classes(); ++j) {
      row.push_back(counts.at(i, j) == 0 ? "." : Text(counts.at(i, j)));
    }
    table.AddRow(std::move(row));
  }
  table.Print(std::cout, OutputIsTerminal());
}

void PrintConfusions(const Outcome& outcome) {
  struct Mistake {
    uint64_t count = 0;
    uint32_t actual = 0;
    uint32_t predicted = 0;
  };
  const ConfusionCounts& counts = outcome.evaluation.counts.AsConfusion();
  std::vector<Mistake> mistakes;
  for (uint32_t i = 0; i < counts.classes(); ++i) {
    for (uint32_t j = 0; j < counts.classes(); ++j) {
      if (i != j && counts.at(i, j) > 0) mistakes.push_back({counts.at(i, j), i, j});
    }
  }
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const Mistake& a, const Mistake& b) { return a.count > b.count; });
  const std::vector<uint64_t> rows = counts.RowSums();
  Table table({{"actual"}, {"taken for"}, {"times", Align::kRight}, {"of", Align::kRight}});
  for (size_t i = 0; i < std::min(mistakes.size(), kConfusionsShown); ++i) {
    const Mistake& mistake = mistakes[i];
    table.AddRow({outcome.names[mistake.actual], outcome.names[mistake.predicted],
                  Text(mistake.count), Text(rows[mistake.actual])});
  }
  std::cout << "The most frequent of " << mistakes.size() << " kinds of mistakes:\n";
  table.Print(std::cout, OutputIsTerminal());
}

Result<void> WritePicture(const Options& options, const Outcome& outcome) {
  const std::string title = Text(outcome.architecture, " on ", outcome.data, ": ",
                                 Fixed(100 * outcome.evaluation.counts.Headline(), 2), " % right");
  std::ofstream file(options.matrix, std::ios::binary | std::ios::trunc);
  file << drawing::DrawConfusion(outcome.evaluation.counts.AsConfusion(), outcome.names, title);
  file.flush();
  if (!file) return Unavailable(Text("--matrix ", options.matrix, ": the file cannot be written"));
  return {};
}

int Run(const Options& options) {
  const std::string warning = train::PrecisionWarning(options.precision);
  if (!warning.empty()) std::cerr << "metis: " << warning << "\n";
  Result<Outcome> outcome = Evaluate(options);
  if (!outcome) return Complain(outcome.error().message);
  if (!options.matrix.empty() && !HasClasses(*outcome)) {
    return Complain("--matrix draws how a classifier confuses classes: this model has none");
  }
  if (!options.matrix.empty()) {
    Result<void> written = WritePicture(options, *outcome);
    if (!written) return Complain(written.error().message);
  }
  if (options.json) {
    // Names of files and classes need not be UTF-8, JSON is.
    std::cout << Describe(options, *outcome).dump(2, ' ', false, Json::error_handler_t::replace)
              << "\n";
    return Finish();
  }
  PrintScores(*outcome);
  if (HasClasses(*outcome)) {
    PrintClasses(*outcome);
    if (outcome->names.size() <= kMostInMatrix) {
      PrintMatrix(*outcome);
    } else {
      PrintConfusions(*outcome);
    }
  }
  if (!options.matrix.empty()) std::cout << "\nPicture in " << options.matrix << ".\n";
  return Finish();
}

int Main(int argc, const char* const* argv) {
  train::KeepFreedMemory();
  Options options;
  CLI::App app("Says how well a model does on a data set, class by class.", "metis evaluate");
  app.footer(
      "Examples:\n"
      "  metis evaluate runs/train/best.metis fashion-mnist\n"
      "  metis evaluate model.metis measurements.csv --json\n"
      "  metis evaluate runs/train/final.metis cifar10 --matrix confusion.svg");
  AddVersionOption(app);
  app.add_option("MODEL", options.model_file, "A model file")->required();
  AddDataOptions(app, options.source);
  app.add_option("--part", options.part, "Of a known data set: train or test (default: test)")
      ->check(CLI::IsMember({"train", "test"}));
  app.add_option("--model", options.architecture,
                 "The architecture, where the file does not say it or another is meant");
  app.add_option("--matrix", options.matrix, "Also draw the confusion matrix (.svg)")
      ->type_name("FILE");
  app.add_option("--batch", options.batch_size, "Examples computed at once")
      ->transform(WholeWithin(1, 1'000'000))
      ->capture_default_str();
  AddPrecisionOption(app, options.precision);
  app.add_flag("--json", options.json, "Print JSON");
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (!options.matrix.empty() && !options.matrix.ends_with(".svg")) {
    return Complain(
        Text("--matrix ", options.matrix, ": the picture is SVG, name a file that ends in .svg"),
        kUsage);
  }
  return Run(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
