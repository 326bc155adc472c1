#include "metis/data/catalogue.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "metis/core/text.h"
#include "metis/data/cifar.h"
#include "metis/data/csv.h"
#include "metis/data/idx.h"
#include "metis/data/npz.h"

namespace metis::data {
namespace {

namespace fs = std::filesystem;

constexpr KnownSet kKnown[] = {
    {"mnist", "MNIST, handwritten digits", "yann.lecun.com/exdb/mnist", KnownFormat::kIdx, 10,
     60'000, 10'000, "", "", 0x3728a38188ecb1c7, 0x5d592a2e62422e3c},
    {"fashion-mnist", "Fashion-MNIST, articles of clothing",
     "Debian's package dataset-fashion-mnist, or github.com/zalandoresearch/fashion-mnist",
     KnownFormat::kIdx, 10, 60'000, 10'000, "", "/usr/share/datasets/fashion-mnist",
     0x8456ce9578af31b8, 0x2dfa526925dfb70f},
    {"emnist-byclass", "EMNIST ByClass, handwritten digits and letters",
     "www.nist.gov/itl/products-and-services/emnist-dataset (gzip.zip, binary format)",
     KnownFormat::kIdxTransposed, 62, 697'932, 116'323, "emnist-byclass-", ""},
    {"cifar10", "CIFAR-10, small colour photographs",
     "www.cs.toronto.edu/~kriz/cifar.html (binary version)", KnownFormat::kCifarTen, 10, 50'000,
     10'000, "", "", 0x34bc495a5634ca4d, 0xf3ffb4ae325192ba},
    {"cifar100", "CIFAR-100, small colour photographs of 100 classes",
     "www.cs.toronto.edu/~kriz/cifar.html (binary version)", KnownFormat::kCifarHundred, 100,
     50'000, 10'000, "", ""},
};

std::vector<std::string> ClassNamesOf(const KnownSet& set) {
  if (set.name == "fashion-mnist") {
    return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
            "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  }
  if (set.name == "emnist-byclass") {
    std::vector<std::string> names;
    for (auto [first, last] : {std::pair('0', '9'), std::pair('A', 'Z'), std::pair('a', 'z')}) {
      for (char c = first; c <= last; ++c) names.emplace_back(1, c);
    }
    return names;
  }
  return {};
}

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The file itself, or gzipped; empty if there is neither.
std::string Plainly(const fs::path& path) {
  if (IsFile(path)) return path.string();
  fs::path zipped = path.string() + ".gz";
  return IsFile(zipped) ? zipped.string() : "";
}

bool Replace(std::string& text, std::string_view from, std::string_view to) {
  size_t at = text.rfind(from);
  if (at == text.npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

std::string WithoutGz(std::string_view name) {
  if (name.ends_with(".gz")) name.remove_suffix(3);
  return std::string(name);
}

// IDX images with what lies beside them.
Result<Dataset> LoadIdxBeside(const fs::path& images) {
  auto beside = [&](std::string_view from, std::string_view to) {
    std::string name = WithoutGz(images.filename().string());
    return Replace(name, from, to) ? Plainly(images.parent_path() / name) : std::string();
  };
  std::string labels = beside("images-idx3", "labels-idx1");
  if (labels.empty()) labels = beside("images.idx3", "labels.idx1");
  if (labels.empty()) {
    return NotFound(Text(images.string(),
                         ": its labels should lie beside it, as ...labels-idx1-"
                         "ubyte or ...labels-idx1-ubyte.gz"));
  }
  IdxOptions options;
  options.writers = beside("images-idx3-ubyte", "writers.txt");
  options.transposed = images.filename().string().starts_with("emnist-");
  return ReadIdx(images.string(), labels, options);
}

// Fails if an option is asked for that does not go with the format.
Result<void> CheckOptions(std::string_view what, const LoadOptions& options, bool csv,
                          bool cifar_hundred) {
  if (!options.label_column.empty() && !csv) {
    return Invalid(Text(what, ": a column of labels (\"", options.label_column,
                        "\") can be named for CSV files only"));
  }
  if (options.coarse_labels && !cifar_hundred) {
    return Invalid(Text(what, ": only CIFAR-100 has coarse labels"));
  }
  return {};
}

}  // namespace

std::string_view PartName(Part part) { return part == Part::kTrain ? "train" : "test"; }

std::span<const KnownSet> KnownSets() { return kKnown; }

const KnownSet* FindKnown(std::string_view name) {
  auto found = std::find_if(std::begin(kKnown), std::end(kKnown),
                            [&](const KnownSet& set) { return set.name == name; });
  return found == std::end(kKnown) ? nullptr : found;
}

Shape ShapeOf(const KnownSet& set) {
  const bool idx = set.format == KnownFormat::kIdx || set.format == KnownFormat::kIdxTransposed;
  return idx ? Shape{1, 28, 28} : Shape{3, 32, 32};
}

std::vector<std::string> FilesOf(const KnownSet& set, Part part) {
  const bool train = part == Part::kTrain;
  switch (set.format) {
    case KnownFormat::kIdx:
    case KnownFormat::kIdxTransposed: {
      std::string_view word = train ? "train" : set.file_prefix.empty() ? "t10k" : "test";
      return {Text(set.file_prefix, word, "-images-idx3-ubyte"),
              Text(set.file_prefix, word, "-labels-idx1-ubyte")};
    }
    case KnownFormat::kCifarTen: {
      if (!train) return {"test_batch.bin"};
      std::vector<std::string> names;
      for (int i = 1; i <= 5; ++i) names.push_back(Text("data_batch_", i, ".bin"));
      return names;
    }
    case KnownFormat::kCifarHundred:
      return {train ? "train.bin" : "test.bin"};
  }
  return {};
}

std::string OfficialName(const KnownSet& set, std::string_view file_name) {
  std::string name = WithoutGz(file_name);
  Replace(name, "images.idx3", "images-idx3");
  Replace(name, "labels.idx1", "labels-idx1");
  for (Part part : kParts) {
    for (const std::string& official : FilesOf(set, part)) {
      if (name == official) return official;
    }
  }
  return "";
}

bool IsComplete(const KnownSet& set, const std::string& directory) {
  for (Part part : kParts) {
    for (const std::string& name : FilesOf(set, part)) {
      if (Plainly(fs::path(directory) / name).empty()) return false;
    }
  }
  return true;
}

Result<Dataset> LoadKnown(const KnownSet& set, const std::string& directory, Part part,
                          const LoadOptions& options) {
  Result<void> fits =
      CheckOptions(set.name, options, false, set.format == KnownFormat::kCifarHundred);
  if (!fits) return fits.error();
  std::vector<std::string> paths;
  for (const std::string& name : FilesOf(set, part)) {
    paths.push_back(Plainly(fs::path(directory) / name));
    if (paths.back().empty()) {
      return NotFound(Text(directory, ": ", name, " of ", set.name, " is missing"));
    }
  }
  const std::string name = Text(set.name, " ", PartName(part));
  const bool idx = set.format == KnownFormat::kIdx || set.format == KnownFormat::kIdxTransposed;
  Result<Dataset> loaded = idx ? ReadIdx(paths[0], paths[1],
                                         {.name = name,
                                          .classes = set.classes,
                                          .class_names = ClassNamesOf(set),
                                          .transposed = set.format == KnownFormat::kIdxTransposed})
                               : ReadCifar(name, paths,
                                           set.format == KnownFormat::kCifarTen ? CifarLabels::kTen
                                           : options.coarse_labels ? CifarLabels::kCoarse
                                                                   : CifarLabels::kFine);
  if (!loaded) return loaded;
  const uint64_t expected = part == Part::kTrain ? set.train_examples : set.test_examples;
  if (loaded->size() != expected) {
    return Invalid(Text(directory, ": ", name, " has ", expected, " examples, these files have ",
                        loaded->size(), ": is this another data set?"));
  }
  return loaded;
}

bool IsAsRecorded(const KnownSet& set, Part part, const Dataset& loaded) {
  const uint64_t official = part == Part::kTrain ? set.train_fingerprint : set.test_fingerprint;
  return official != 0 && loaded.ContentFingerprint() == official;
}

Result<Dataset> LoadFile(const std::string& path, const LoadOptions& options) {
  if (!IsFile(path)) return NotFound(path + ": there is no such file");
  const std::string name = WithoutGz(fs::path(path).filename().string());
  const bool csv = name.ends_with(".csv");
  const bool hundred = name == "train.bin" || name == "test.bin";
  if (Result<void> fits = CheckOptions(path, options, csv, hundred); !fits) return fits.error();
  if (name.ends_with(".npz")) return ReadNpz(path);
  if (csv) return ReadCsv(path, {.label_column = options.label_column});
  if (name.ends_with(".bin")) {
    return ReadCifar(path, {path},
                     !hundred                ? CifarLabels::kTen
                     : options.coarse_labels ? CifarLabels::kCoarse
                                             : CifarLabels::kFine);
  }
  if (name.find("idx3") != name.npos) return LoadIdxBeside(path);
  return Invalid(path +
                 ": no known format by its name: .npz, .csv, .bin (CIFAR) and "
                 "...images-idx3-ubyte can be read");
}

}  // namespace metis::data
