// The data sets that Metis knows by name: their files, sizes and classes, and where they come from.
// And the way from a path to a data set, by the names of its files (docs/datasets.md). Pure
// functions beside the files that they read: any thread may call them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"
#include "metis/data/dataset.h"

namespace metis::data {

enum class Part { kTrain, kTest };
inline constexpr Part kParts[] = {Part::kTrain, Part::kTest};
std::string_view PartName(Part part);  // "train", "test"

enum class KnownFormat { kIdx, kIdxTransposed, kCifarTen, kCifarHundred };

struct KnownSet {
  std::string_view name;
  std::string_view title;
  std::string_view origin;  // where its makers offer it
  KnownFormat format = KnownFormat::kIdx;
  uint32_t classes = 0;
  uint64_t train_examples = 0;
  uint64_t test_examples = 0;
  std::string_view file_prefix;       // of the official file names
  std::string_view system_directory;  // where a package of the system puts it, or empty
  uint64_t train_fingerprint = 0;     // of the content once seen and found right; 0: none
  uint64_t test_fingerprint = 0;
};

std::span<const KnownSet> KnownSets();
// Null if there is none of that name.
const KnownSet* FindKnown(std::string_view name);
// Of its examples, without having them.
Shape ShapeOf(const KnownSet& set);

// The official names of the files of one part; of IDX pairs the images come first. On disk each may
// be gzipped (".gz").
std::vector<std::string> FilesOf(const KnownSet& set, Part part);
// The official name under which a file belongs to the set: without ".gz", and "images.idx3" read as
// "images-idx3"; empty if it doesn't.
std::string OfficialName(const KnownSet& set, std::string_view file_name);

// Whether all files of both parts are in the directory.
bool IsComplete(const KnownSet& set, const std::string& directory);
// What some formats leave to choose. Asked of another format it is an error, never passed over.
struct LoadOptions {
  std::string label_column = {};  // of a CSV file with a header, by name; empty: the last
  bool coarse_labels = false;     // of CIFAR-100: the 20 coarse labels
};

// One part, out of the files in `directory`; fails also if the number of examples isn't the
// official one.
Result<Dataset> LoadKnown(const KnownSet& set, const std::string& directory, Part part,
                          const LoadOptions& options = {});

// Whether it is bit for bit what the fingerprints stand for; false where there are none.
bool IsAsRecorded(const KnownSet& set, Part part, const Dataset& loaded);

// One data set out of one file: .npz, .csv, CIFAR's .bin or IDX images (the labels, and the writers
// if there are, lie beside them), by its name; of all but .npz also gzipped.
Result<Dataset> LoadFile(const std::string& path, const LoadOptions& options = {});

}  // namespace metis::data
