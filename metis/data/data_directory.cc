#include "metis/data/data_directory.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <system_error>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::data {
namespace {

namespace fs = std::filesystem;

using Chosen = std::map<std::string, fs::path>;  // by official name

Result<void> Choose(const KnownSet& set, const fs::path& file, Chosen& chosen) {
  std::string official = OfficialName(set, file.filename().string());
  if (official.empty()) {
    return Invalid(Text(file.string(), ": ", set.name, " has no file of this name; it has ",
                        Join(FilesOf(set, Part::kTrain)), ", ", Join(FilesOf(set, Part::kTest)),
                        " (or .gz)"));
  }
  auto [other, fresh] = chosen.try_emplace(official, file);
  if (fresh) return {};
  return Invalid(Text(file.string(), " and ", other->second.string(), " are both ", official,
                      ": give one of them"));
}

Result<Chosen> ChooseAll(const KnownSet& set, const std::vector<std::string>& files) {
  Chosen chosen;
  for (const std::string& file : files) {
    std::error_code error;
    if (!fs::is_directory(file, error)) {
      if (Result<void> one = Choose(set, file, chosen); !one) return one.error();
      continue;
    }
    for (fs::directory_iterator i(file, error), end; !error && i != end; i.increment(error)) {
      if (OfficialName(set, i->path().filename().string()).empty()) continue;
      if (Result<void> one = Choose(set, i->path(), chosen); !one) return one.error();
    }
    if (error) return Unavailable(Text(file, ": can't be listed: ", error.message()));
  }
  std::vector<std::string> missing;
  for (Part part : kParts) {
    for (const std::string& name : FilesOf(set, part)) {
      if (!chosen.contains(name)) missing.push_back(name);
    }
  }
  if (missing.empty()) return chosen;
  return NotFound(Text("of ", set.name, " these files are missing: ", Join(missing),
                       "\nTheir makers offer them at ", set.origin, "."));
}

Result<void> CopyAndRead(const KnownSet& set, const Chosen& chosen, const fs::path& directory,
                         Trust trust) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Unavailable(Text(directory.string(), ": ", error.message()));
  for (const auto& [name, from] : chosen) {
    fs::path to = directory / (name + (from.extension() == ".gz" ? ".gz" : ""));
    fs::copy_file(from, to, error);
    if (error) {
      return Unavailable(
          Text(from.string(), ": can't be copied to ", directory.string(), ": ", error.message()));
    }
  }
  for (Part part : kParts) {
    Result<Dataset> read = LoadKnown(set, directory.string(), part);
    if (!read) return read.error();
    if (trust == Trust::kAsRecorded && !IsAsRecorded(set, part, *read)) {
      return Invalid(Text(read->name(), " is not the content that it should be (fingerprint ",
                          Hex(read->ContentFingerprint()), "): nothing was kept"));
    }
  }
  return {};
}

// `fresh` becomes `place`; what was there goes only once the new one stands.
Result<void> PutInPlace(const fs::path& fresh, const fs::path& place) {
  const fs::path old = fresh.string() + ".old";
  std::error_code error;
  std::error_code ignored;
  const bool replaces = fs::exists(place, ignored);
  if (replaces) fs::rename(place, old, error);
  if (!error) {
    fs::rename(fresh, place, error);
    if (error && replaces) fs::rename(old, place, ignored);
  }
  if (error) return Unavailable(Text(place.string(), ": can't be replaced: ", error.message()));
  fs::remove_all(old, ignored);
  return {};
}

}  // namespace

std::string Locate(const KnownSet& set, const std::string& data_directory) {
  std::string own = (fs::path(data_directory) / set.name).string();
  if (IsComplete(set, own)) return own;
  std::string system(set.system_directory);
  return !system.empty() && IsComplete(set, system) ? system : "";
}

Result<std::string> Import(const KnownSet& set, const std::vector<std::string>& files,
                           const std::string& data_directory, Trust trust) {
  Result<Chosen> chosen = ChooseAll(set, files);
  if (!chosen) return chosen.error();
  const fs::path place = fs::path(data_directory) / set.name;
  const fs::path fresh = fs::path(data_directory) / Text(".", set.name, "-", ::getpid());
  Result<void> done = CopyAndRead(set, *chosen, fresh, trust);
  if (done) done = PutInPlace(fresh, place);
  std::error_code ignored;
  fs::remove_all(fresh, ignored);
  if (!done) return done.error();
  return place.string();
}

}  // namespace metis::data
