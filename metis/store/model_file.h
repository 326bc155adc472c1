// A model in a file (docs/model-file.md): facts about it as text, its schema, its values, each part
// with a checksum. No code in it: reading one is safe, whoever made it. Files are written whole or
// not at all.
#pragma once

#include <map>
#include <string>

#include "metis/core/model.h"
#include "metis/core/result.h"

namespace metis::store {

// What is known about a model besides its values: "architecture", "classes", "example", "seed".
// Names of at most 64 letters, digits, '-', '_', '.'; any text as value.
using ModelFacts = std::map<std::string, std::string>;

struct ModelFile {
  ModelFacts facts;
  ModelPtr model;
};

// Replaces the file, if there is one; durable when it returns.
Result<void> WriteModelFile(const std::string& path, const ModelFacts& facts, const Model& model);

// Errors name the file, and the offset where one can be told. Reads no more than the file holds
// into memory.
Result<ModelFile> ReadModelFile(const std::string& path);

}  // namespace metis::store
