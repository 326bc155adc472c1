#include "apps/export_model.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "apps/cli.h"
#include "apps/siblings.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/report/run_files.h"
#include "metis/store/kept_models.h"
#include "metis/store/model_file.h"

namespace metis::apps {
namespace {

namespace fs = std::filesystem;
using report::Json;
using store::ModelFile;

constexpr std::string_view kOwn = ".metis";
constexpr std::string_view kPython = ".pt";

// Checked against what it says of itself: it came over a network.
Result<ModelFile> Decode(const rpc::FetchedModel& fetched) {
  const Json facts = Json::parse(fetched.facts_json, nullptr, false);
  const Json described = Json::parse(fetched.schema_json, nullptr, false);
  if (!facts.is_object() || described.is_discarded()) {
    return Invalid("the controller's answer describes no model: is it of another version?");
  }
  Result<SchemaPtr> schema = report::ParseSchema(described);
  if (!schema) return schema.error().In("the controller's model");
  if (fetched.data.size() != (*schema)->bytes()) {
    return Invalid(Text("the controller sent ", fetched.data.size(), " bytes of a model of ",
                        (*schema)->bytes(), ": try again"));
  }
  ModelFile file;
  for (const auto& [name, value] : facts.items()) {
    if (value.is_string()) file.facts[name] = value.get<std::string>();
  }
  ModelPool pool(*schema);
  ModelDraft draft = pool.Draft();
  std::memcpy(draft.parameters().data(), fetched.data.data(), fetched.data.size());
  file.model = std::move(draft).Seal();
  if (file.model->Fingerprint() != fetched.fingerprint) {
    return Invalid(Text("the model was damaged on its way: its fingerprint is ",
                        Hex(file.model->Fingerprint()), ", not ", Hex(fetched.fingerprint),
                        ": try again"));
  }
  return file;
}

// Runs `metis model export FROM TO`: libtorch is in that program alone.
Result<void> ConvertToPython(const std::string& from, const std::string& to) {
  std::optional<Sibling> sibling = FindSibling("model");
  if (!sibling) {
    return NotFound(
        "metis-model, which writes .pt files, is not installed here: export to .metis, and run "
        "`metis model export` where it is");
  }
  std::vector<std::string> words = {sibling->path, "export", from, to, "--force", "--json"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  ::posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, sibling->path.c_str(), &quiet, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&quiet);
  int status = 0;
  if (failed != 0) return Unavailable(Text(sibling->path, ": ", std::strerror(failed)));
  if (::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  return Unavailable(Text(sibling->path, " could not write ", to, ": it has said why"));
}

Result<std::string> Write(const ModelFile& file, const ExportOptions& options) {
  const bool python = options.out.ends_with(kPython);
  const std::string path = python ? options.out + std::string(kOwn) : options.out;
  if (Result<void> written = store::WriteModelFile(path, file.facts, *file.model); !written) {
    return written.error();
  }
  if (python) {
    Result<void> converted = ConvertToPython(path, options.out);
    std::error_code ignored;
    fs::remove(path, ignored);
    if (!converted) return converted.error();
  }
  const auto fact = [&](const char* name) {
    const auto found = file.facts.find(name);
    return found == file.facts.end() ? std::string() : Printable(found->second);
  };
  return Text("wrote ", options.out, ": version ", fact("version"), ", ", file.model->size(),
              " parameters, fingerprint ", Hex(file.model->Fingerprint()),
              fact("accuracy").empty() ? "" : Text(", accuracy ", fact("accuracy")));
}

}  // namespace

Result<void> CheckExport(const ExportOptions& options) {
  if (!options.out.ends_with(kOwn) && !options.out.ends_with(kPython)) {
    return Invalid(Text("--out ", options.out, " ends neither in ", kOwn, " (our format) nor in ",
                        kPython, " (for Python's torch.load): which one is meant?"));
  }
  return CheckFree(options.out, options.force);
}

Result<std::string> ExportLive(rpc::OperatorClient& client, const ExportOptions& options) {
  Result<rpc::FetchedModel> fetched = client.Export(options.best);
  if (!fetched) return fetched.error();
  Result<ModelFile> file = Decode(*fetched);
  if (!file) return file.error();
  return Write(*file, options);
}

Result<std::string> ExportKept(const std::string& run, const ExportOptions& options) {
  const std::string path =
      (fs::path(run) / (options.best ? store::kBestModelFile : store::kFinalModelFile)).string();
  std::error_code absent;
  if (!fs::exists(path, absent)) {
    return Unavailable(Text("the controller of ", run, " is not running, and it left no ",
                            options.best ? store::kBestModelFile : store::kFinalModelFile,
                            options.best ? " (nothing was tested)" : " (it was killed)",
                            ": start it again, metis controller --run ", run, ", then export"));
  }
  Result<ModelFile> file = store::ReadModelFile(path);
  if (!file) return file.error();
  Result<std::string> said = Write(*file, options);
  if (!said) return said;
  return Text(*said, "\n(the controller is not running: this is its ",
              options.best ? "best" : "last", " model, ", path, ")");
}

}  // namespace metis::apps
