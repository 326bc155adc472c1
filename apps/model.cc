// metis-model: model files: how they begin, what is in them, the way to and from Python.
#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/data_options.h"
#include "apps/table.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/report/json_archive.h"
#include "metis/store/model_file.h"
#include "metis/task/model_facts.h"
#include "metis/train/architecture.h"
#include "metis/train/pt_file.h"

namespace metis::apps {
namespace {

using report::Json;
using store::ModelFacts;
using store::ModelFile;

struct Options {
  std::string architecture;
  data::DataSource source;  // what the model is for: these data,
  std::string shape;        // or examples of this shape
  uint32_t classes = 0;
  uint64_t seed = 1990;
  bool local_statistics = false;
  std::string file;  // that is read
  std::string like;
  std::string out = "model.metis";
  bool force = false;
  bool json = false;
};

Json Describe(const std::string& path, const ModelFile& file) {
  const ModelSchema& schema = *file.model->schema();
  Json tensors = Json::array();
  for (size_t i = 0; i < schema.tensors().size(); ++i) {
    const TensorSpec& tensor = schema.tensors()[i];
    tensors.push_back(
        {{"name", tensor.name}, {"shape", tensor.shape}, {"parameters", schema.parameters(i)}});
  }
  return {{"file", path},
          {"facts", file.facts},
          {"parameters", schema.parameters()},
          {"schema_hash", Hex(schema.hash())},
          {"fingerprint", Hex(file.model->Fingerprint())},
          {"largest_magnitude", report::NumberJson(static_cast<double>(file.model->Magnitude()))},
          {"tensors", std::move(tensors)}};
}

int PrintJson(const std::string& path, const ModelFile& file) {
  // Names and facts of a file need not be UTF-8, JSON is.
  std::cout << Describe(path, file).dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  return Finish();
}

int Info(const Options& options) {
  Result<ModelFile> file = store::ReadModelFile(options.file);
  if (!file) return Complain(file.error().message);
  if (options.json) return PrintJson(options.file, *file);
  const ModelSchema& schema = *file->model->schema();
  Table facts({{""}, {""}});
  for (const auto& [name, value] : file->facts) facts.AddRow({name, Printable(value)});
  facts.AddRow({"parameters", Text(schema.parameters())});
  facts.AddRow({"schema", Hex(schema.hash())});
  facts.AddRow({"fingerprint", Hex(file->model->Fingerprint())});
  std::ostringstream magnitude;
  magnitude << file->model->Magnitude();  // six digits are enough to see
  facts.AddRow({"largest magnitude", magnitude.str()});
  facts.Print(std::cout);
  std::cout << "\n";
  Table tensors({{"tensor"}, {"shape"}, {"parameters", Align::kRight}});
  for (size_t i = 0; i < schema.tensors().size(); ++i) {
    const TensorSpec& tensor = schema.tensors()[i];
    tensors.AddRow({Printable(tensor.name), FormatShape(tensor.shape), Text(schema.parameters(i))});
  }
  tensors.Print(std::cout, OutputIsTerminal());
  return Finish();
}

// The command line leaves one thing open that it must say.
int Unsaid(std::string_view question) {
  return Complain(Text(question, "\nSee `metis model --help`."), kUsage);
}
constexpr std::string_view kForWhat =
    "what is the model for? Name --dataset, or --shape and --classes";

bool SaysForWhat(const Options& options) {
  return !options.source.what.empty() || !options.shape.empty();
}

// What the model is for: of --dataset, or of --shape and --classes.
Result<task::ExampleKind> Kind(const Options& options) {
  if (options.shape.empty()) return task::KindOf(options.source);
  Result<data::Shape> shape = task::ParseShape(options.shape);
  if (!shape) return shape.error().In("--shape");
  return task::ExampleKind{*shape, options.classes};
}

Result<train::ArchitecturePtr> Named(const Options& options) {
  Result<task::ExampleKind> kind = Kind(options);
  if (!kind) return kind.error();
  const bool suits = options.architecture == task::kAutoModel;
  return train::Architecture::Create(
      {.name = suits ? task::ModelFor(options.source.what, *kind) : options.architecture,
       .example = kind->shape,
       .classes = kind->classes,
       .share_statistics = !options.local_statistics});
}

int Keep(const Options& options, const ModelFile& file) {
  Result<void> written = store::WriteModelFile(options.out, file.facts, *file.model);
  if (!written) return Complain(written.error().message);
  if (options.json) return PrintJson(options.out, file);
  std::cout << "wrote " << options.out << ": " << file.model->size() << " parameters, fingerprint "
            << Hex(file.model->Fingerprint()) << "\n";
  return Finish();
}

int Init(const Options& options) {
  if (!SaysForWhat(options)) return Unsaid(kForWhat);
  if (Result<void> free = CheckFree(options.out, options.force); !free) {
    return Complain(free.error().message);
  }
  Result<train::ArchitecturePtr> architecture = Named(options);
  if (!architecture) return Complain(architecture.error().message);
  ModelPool pool((*architecture)->schema());
  return Keep(options, {task::FactsOf((*architecture)->settings(), options.seed),
                        (*architecture)->Initial(pool, options.seed)});
}

int Export(const Options& options) {
  if (Result<void> free = CheckFree(options.out, options.force); !free) {
    return Complain(free.error().message);
  }
  Result<ModelFile> file = store::ReadModelFile(options.file);
  if (!file) return Complain(file.error().message);
  Result<void> written = train::WritePt(options.out, *file->model);
  if (!written) return Complain(written.error().message);
  if (options.json) return PrintJson(options.out, *file);
  std::cout << "wrote " << options.out << ": " << file->model->schema()->tensors().size()
            << " tensors; in Python: module.load_state_dict(torch.load(\"" << options.out
            << "\"), strict=False)\n";
  return Finish();
}

// The facts and the schema that the tensors are to fit.
Result<std::pair<ModelFacts, SchemaPtr>> Wanted(const Options& options) {
  if (!options.like.empty()) {
    Result<ModelFile> like = store::ReadModelFile(options.like);
    if (!like) return like.error();
    return std::pair(std::move(like->facts), like->model->schema());
  }
  Result<train::ArchitecturePtr> architecture = Named(options);
  if (!architecture) return architecture.error();
  return std::pair(task::FactsOf((*architecture)->settings(), std::nullopt),
                   (*architecture)->schema());
}

int Import(const Options& options) {
  if (options.like.empty() && options.architecture.empty()) {
    return Unsaid("which model are these the tensors of? Name --like or --model");
  }
  if (options.like.empty() && !SaysForWhat(options)) return Unsaid(kForWhat);
  if (Result<void> free = CheckFree(options.out, options.force); !free) {
    return Complain(free.error().message);
  }
  Result<std::pair<ModelFacts, SchemaPtr>> wanted = Wanted(options);
  if (!wanted) return Complain(wanted.error().message);
  Result<std::vector<train::PtTensor>> tensors = train::ReadPt(options.file);
  if (!tensors) return Complain(tensors.error().message);
  ModelPool pool(wanted->second);
  Result<ModelPtr> model = train::FitTo(*tensors, pool);
  if (!model) return Complain(model.error().In(options.file).message);
  wanted->first["imported_from"] = options.file;
  return Keep(options, {std::move(wanted->first), *std::move(model)});
}

CLI::App* AddCommand(CLI::App& app, const std::string& word, const std::string& description,
                     const std::string& example, Options& options) {
  CLI::App* command = apps::AddCommand(app, word, description, example);
  command->add_flag("--json", options.json, "Print what the model is as JSON");
  return command;
}

void AddKindOptions(CLI::App& command, Options& options) {
  CLI::Option* data = command.add_option("--dataset", options.source.what,
                                         "The data that it is for: a known name, or a file");
  CLI::Option* shape = command.add_option("--shape", options.shape,
                                          "Or the shape of its examples, as 1x28x28 or 20");
  CLI::Option* classes =
      command.add_option("--classes", options.classes, "and the number of classes")
          ->transform(WholeWithin(2, data::kMostClasses));
  shape->excludes(data)->needs(classes);
  classes->needs(shape);
  AddLoadOptions(command, options.source);
  command.add_flag("--local-statistics", options.local_statistics,
                   "Keep running statistics of batch normalisation out of the model: every\n"
                   "learner has its own");
}

void AddOutOptions(CLI::App& command, Options& options) {
  command.add_option("--out", options.out, "The file to write")->capture_default_str();
  command.add_flag("--force", options.force, "Replace the file if it exists");
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app("Model files: how a model begins, what is in a file, the way to and from Python.",
               "metis model");
  app.footer(
      "Example:\n"
      "  metis model init mnist-cnn --dataset fashion-mnist --seed 1990 --out model.metis\n"
      "  metis model info model.metis\n"
      "  metis model export model.metis model.pt");
  app.require_subcommand(1);
  AddVersionOption(app);
  const std::string names =
      Text("One of ", Join(train::ArchitectureNames()), ", or auto: one that suits the data");

  CLI::App* init = AddCommand(app, "init", "Write the model that a federation begins with",
                              "  metis model init mnist-cnn --dataset fashion-mnist --seed 1990\n"
                              "  metis model init resnet-cifar:20 --shape 3x32x32 --classes 100\n"
                              "  metis model init torchscript:net.pt --dataset measurements.csv",
                              options);
  init->add_option("ARCHITECTURE", options.architecture, names)->required();
  AddSeedOption(*init, options.seed, "Seed of the initial values");
  AddKindOptions(*init, options);
  AddOutOptions(*init, options);

  CLI::App* info = AddCommand(app, "info", "Say what is in a model file",
                              "  metis model info model.metis", options);
  info->add_option("FILE", options.file, "A model file")->required();

  CLI::App* export_ =
      AddCommand(app, "export", "Write the tensors of a model for Python's torch.load",
                 "  metis model export runs/train/best.metis best.pt", options);
  export_->add_option("FILE", options.file, "A model file")->required();
  export_->add_option("OUT", options.out, "The .pt file to write")->required();
  export_->add_flag("--force", options.force, "Replace the file if it exists");

  CLI::App* import = AddCommand(app, "import", "Make a model file of a state_dict from Python",
                                "  metis model import best.pt --like model.metis --out new.metis\n"
                                "  metis model import best.pt --model mnist-cnn --dataset mnist",
                                options);
  import->add_option("FILE", options.file, "What torch.save(module.state_dict(), FILE) wrote")
      ->required();
  CLI::Option* like =
      import->add_option("--like", options.like, "A model file of the same tensors and facts");
  import->add_option("--model", options.architecture, names)->excludes(like);
  AddKindOptions(*import, options);
  AddOutOptions(*import, options);
  for (const char* name : {"--dataset", "--shape", "--classes", "--local-statistics"}) {
    like->excludes(import->get_option(name));
  }

  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (init->parsed()) return Init(options);
  if (info->parsed()) return Info(options);
  if (export_->parsed()) return Export(options);
  return Import(options);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
