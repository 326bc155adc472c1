// What the directories of all kinds of runs have in common: how they are made, and the files that
// are the same in each (docs/run-directory.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/report/json_archive.h"

namespace metis::report {

inline constexpr const char* kConfigFile = "config.toml";
inline constexpr const char* kSchemaFile = "schema.json";
inline constexpr const char* kSummaryFile = "summary.json";
inline constexpr const char* kEpochsFile = "epochs.jsonl";  // the record of a `metis train`
inline constexpr const char* kLockFile = "lock";  // held by the process that writes the directory

// The options of the program that makes a directory, as messages name them.
struct DirectoryOptions {
  std::string_view choose = "--out";
  std::string_view replace = "--force";  // empty: the program replaces no run
};

// Whether a run may be written there. A directory that holds anything but a lock is refused, unless
// `replace` is set and it holds a run of the same kind: a file called `record`.
Result<void> CheckRunDirectory(const std::string& directory, std::string_view record, bool replace,
                               const DirectoryOptions& options = {});
// Makes the directory and those above it, if CheckRunDirectory() finds nothing wrong.
Result<void> MakeRunDirectory(const std::string& directory, std::string_view record, bool replace,
                              const DirectoryOptions& options = {});

// Replaces the file, if there is one, whole or not at all: also if the machine dies meanwhile.
Result<void> WriteRunFile(const std::filesystem::path& path, const std::string& text);

// A file as it is, and as JSON. kNotFound: it can't be read.
Result<std::string> ReadRunFile(const std::filesystem::path& path);
Result<Json> ReadRunJson(const std::filesystem::path& path);

// The content of schema.json.
Json SchemaJson(const Model& initial);
// The schema that it describes.
Result<SchemaPtr> ParseSchema(const Json& json);

}  // namespace metis::report
