#include "metis/data/cifar.h"

#include <array>
#include <utility>

#include "metis/core/text.h"
#include "metis/data/byte_reader.h"

namespace metis::data {
namespace {

constexpr Shape kShape = {3, 32, 32};
constexpr size_t kPixels = 3072;
constexpr uint32_t kCoarseClasses = 20;
constexpr uint32_t kFineClasses = 100;
constexpr uint32_t kTenClasses = 10;

Error BadLabel(const ByteReader& file, uint64_t offset, std::string_view kind, uint32_t label,
               uint32_t classes, uint64_t record) {
  return file.At(offset, Text(kind, " ", label, " of record ", record, ", the classes are 0 to ",
                              classes - 1, ": is this the other CIFAR, or no CIFAR file?"));
}

// The label to use out of the label bytes of one record.
Result<uint32_t> ReadLabel(ByteReader& file, CifarLabels labels, uint64_t record) {
  std::array<uint8_t, 2> bytes{};
  const uint64_t begin = file.offset();
  const bool ten = labels == CifarLabels::kTen;
  if (Result<void> read = file.Read(std::span(bytes).first(ten ? 1 : 2), "a label"); !read) {
    return read.error();
  }
  if (ten) {
    if (bytes[0] < kTenClasses) return bytes[0];
    return BadLabel(file, begin, "label", bytes[0], kTenClasses, record);
  }
  if (bytes[0] >= kCoarseClasses) {
    return BadLabel(file, begin, "coarse label", bytes[0], kCoarseClasses, record);
  }
  if (bytes[1] >= kFineClasses) {
    return BadLabel(file, begin + 1, "fine label", bytes[1], kFineClasses, record);
  }
  return bytes[labels == CifarLabels::kFine ? 1 : 0];
}

Result<void> ReadRecords(ByteReader& file, CifarLabels labels, DatasetParts& parts) {
  for (uint64_t record = 0;; ++record) {
    if (parts.labels.size() == kMostExamples) {
      return file.At(file.offset(), Text("more than ", kMostExamples, " examples"));
    }
    Result<uint32_t> label = ReadLabel(file, labels, record);
    if (!label) return label.error();
    const size_t begin = parts.pixels.size();
    parts.pixels.resize(begin + kPixels);
    Result<void> read =
        file.Read(std::span(parts.pixels).subspan(begin), Text("the pixels of record ", record));
    if (!read) return read;
    parts.labels.push_back(*label);
    if (file.AtEnd()) return file.ExpectEnd();
  }
}

}  // namespace

Result<Dataset> ReadCifar(const std::string& name, const std::vector<std::string>& files,
                          CifarLabels labels) {
  DatasetParts parts;
  parts.name = name;
  parts.shape = kShape;
  parts.class_names = CifarClassNames(labels);
  parts.classes = static_cast<uint32_t>(parts.class_names.size());
  const size_t record_size = kPixels + (labels == CifarLabels::kTen ? 1 : 2);
  for (const std::string& path : files) {
    Result<ByteReader> file = ByteReader::Open(path);
    if (!file) return file.error();
    if (file->is_plain()) {  // the size is exact: no growth by doubling
      const uint64_t records = file->most_left() / record_size;
      parts.pixels.reserve(parts.pixels.size() + records * kPixels);
      parts.labels.reserve(parts.labels.size() + records);
    }
    if (Result<void> read = ReadRecords(*file, labels, parts); !read) return read.error();
  }
  return Dataset::Make(std::move(parts));
}

const std::vector<std::string>& CifarClassNames(CifarLabels labels) {
  static const std::vector<std::string> ten = {"airplane", "automobile", "bird",  "cat",  "deer",
                                               "dog",      "frog",       "horse", "ship", "truck"};
  static const std::vector<std::string> fine = {
      "apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
      "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
      "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
      "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
      "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
      "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
      "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
      "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
      "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
      "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
      "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
      "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
      "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
      "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
      "table",       "tank",          "telephone", "television", "tiger",        "tractor",
      "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
      "willow_tree", "wolf",          "woman",     "worm"};
  static const std::vector<std::string> coarse = {"aquatic_mammals",
                                                  "fish",
                                                  "flowers",
                                                  "food_containers",
                                                  "fruit_and_vegetables",
                                                  "household_electrical_devices",
                                                  "household_furniture",
                                                  "insects",
                                                  "large_carnivores",
                                                  "large_man-made_outdoor_things",
                                                  "large_natural_outdoor_scenes",
                                                  "large_omnivores_and_herbivores",
                                                  "medium_mammals",
                                                  "non-insect_invertebrates",
                                                  "people",
                                                  "reptiles",
                                                  "small_mammals",
                                                  "trees",
                                                  "vehicles_1",
                                                  "vehicles_2"};
  switch (labels) {
    case CifarLabels::kTen:
      return ten;
    case CifarLabels::kFine:
      return fine;
    case CifarLabels::kCoarse:
      return coarse;
  }
  return ten;
}

}  // namespace metis::data
