#include "metis/report/run_files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/report/append_file.h"

namespace metis::report {

namespace fs = std::filesystem;

namespace {

bool HoldsNothing(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
    if (i->path().filename() != kLockFile) return false;
  }
  return !error;
}

}  // namespace

Result<void> CheckRunDirectory(const std::string& directory, std::string_view record, bool replace,
                               const DirectoryOptions& options) {
  std::error_code error;
  if (directory.empty()) {
    return Invalid(Text(options.choose, " is empty: name a directory for the run"));
  }
  if (fs::exists(directory, error) && !fs::is_directory(directory, error)) {
    return Invalid(
        Text(directory, " is a file: ", options.choose, " needs a directory for the run"));
  }
  if (fs::exists(directory, error)) {
    bool run = fs::exists(fs::path(directory) / record, error);
    bool empty = HoldsNothing(directory);
    if (!empty && !(run && replace)) {
      const bool replaceable = run && !options.replace.empty();
      return Invalid(
          Text(directory, run ? " already holds a run" : " holds other files", ": choose another ",
               options.choose,
               replaceable ? Text(", or ", options.replace, " to replace it") : std::string()));
    }
  }
  return {};
}

Result<void> MakeRunDirectory(const std::string& directory, std::string_view record, bool replace,
                              const DirectoryOptions& options) {
  Result<void> free = CheckRunDirectory(directory, record, replace, options);
  if (!free) return free;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Unavailable(Text("cannot make ", directory, ": ", error.message()));
  return {};
}

Result<void> WriteRunFile(const fs::path& path, const std::string& text) {
  const fs::path fresh = path.string() + ".new";
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code error(file ? 0 : errno != 0 ? errno : EIO, std::generic_category());
  Result<void> wrote;
  if (!error) wrote = SyncPath(fresh);  // a name must not be there before its content
  if (!error && wrote) fs::rename(fresh, path, error);
  if (error) wrote = Unavailable(Text("cannot write ", path.string(), ": ", error.message()));
  std::error_code absent;
  if (!wrote) fs::remove(fresh, absent);
  return wrote;
}

Result<std::string> ReadRunFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(Text("cannot read ", path.string(), ": ", std::strerror(errno)));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

Result<Json> ReadRunJson(const fs::path& path) {
  Result<std::string> text = ReadRunFile(path);
  if (!text) return text.error();
  Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded()) return Invalid(Text(path.string(), " is no JSON: is it cut off?"));
  return json;
}

Json SchemaJson(const Model& initial) {
  const ModelSchema& schema = *initial.schema();
  Json tensors = Json::array();
  for (const TensorSpec& tensor : schema.tensors()) {
    tensors.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  }
  return {{"tensors", std::move(tensors)},
          {"parameters", schema.parameters()},
          {"hash", Hex(schema.hash())},
          {"initial_fingerprint", Hex(initial.Fingerprint())}};
}

Result<SchemaPtr> ParseSchema(const Json& json) {
  std::vector<TensorSpec> tensors;
  const Json& listed = json.is_object() ? json.value("tensors", Json::array()) : Json();
  for (const Json& tensor : listed) {
    if (!tensor.is_object() || !tensor.contains("name") || !tensor["name"].is_string() ||
        !tensor.contains("shape") || !tensor["shape"].is_array()) {
      return Invalid("a tensor needs a name and a shape");
    }
    TensorSpec spec{tensor["name"].get<std::string>(), {}};
    for (const Json& dimension : tensor["shape"]) {
      if (!dimension.is_number_unsigned()) {
        return Invalid(Text("tensor \"", spec.name, "\" has no valid shape"));
      }
      spec.shape.push_back(dimension.get<uint64_t>());
    }
    tensors.push_back(std::move(spec));
  }
  return ModelSchema::Create(std::move(tensors));
}

}  // namespace metis::report
