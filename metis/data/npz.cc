#include "metis/data/npz.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "metis/core/text.h"
#include "metis/data/byte_reader.h"
#include "metis/data/zip.h"

namespace metis::data {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are read as they lie in memory");

using Bytes = std::vector<uint8_t>;

struct Array {
  NpyHeader header;
  Bytes member;  // header and values

  size_t size() const {
    size_t values = 1;
    for (uint64_t length : header.shape) values *= length;  // checked against the member
    return values;
  }
  template <typename T>
  T At(size_t i) const {
    T value;
    std::memcpy(&value, member.data() + header.begin + i * sizeof(T), sizeof(T));
    return value;
  }
};

Result<Bytes> ReadArchive(const std::string& path) {
  Result<ByteReader> file = ByteReader::Open(path);
  if (!file) return file.error();
  if (!file->is_plain()) return file->At(0, "the file is gzipped: unpack it first (gunzip)");
  Bytes archive;
  if (Result<void> read = file->Append(file->most_left(), archive, "the archive"); !read) {
    return read.error();
  }
  return archive;
}

Result<Array> ReadArray(const Bytes& archive, const std::vector<ZipMember>& members,
                        std::string_view name, const std::string& path) {
  const std::string file = Text(name, ".npy");
  std::vector<std::string> names;
  const ZipMember* found = nullptr;
  for (const ZipMember& member : members) {
    if (member.name == file && found != nullptr) {
      return Invalid(Text(path, ": offset ", member.header, ": there are two arrays ", name));
    }
    if (member.name == file) found = &member;
    if (names.size() < 8) names.push_back(member.name);
  }
  if (found == nullptr) {
    return Invalid(Text(path, ": there is no array ", name, " (the archive holds: ", Join(names),
                        "): save it with numpy.savez(path, x=examples, y=labels)"));
  }
  Result<Bytes> bytes = UnpackZip(archive, *found, path);
  if (!bytes) return bytes.error();
  Result<NpyHeader> header = ParseNpyHeader(*bytes);
  if (!header) return header.error().In(Text(path, ": member ", file));
  return Array{std::move(*header), std::move(*bytes)};
}

bool IsChannels(uint64_t length) { return length == 1 || length == 3 || length == 4; }

// How one example lies in `x`; channels may come last, as image libraries have them.
Result<Shape> ShapeOf(const std::vector<uint64_t>& lengths, bool& channels_last) {
  if (lengths.size() < 2 || lengths.size() > 4) {
    return Invalid(Text("x has ", lengths.size(),
                        " dimension(s): (examples, features), (examples, "
                        "height, width) or (examples, height, width, channels) are possible"));
  }
  uint64_t values = 1;
  for (size_t i = 1; i < lengths.size(); ++i) {
    if (lengths[i] > kMostValuesPerExample / values) {
      return Invalid(Text("examples of more than ", kMostValuesPerExample, " values"));
    }
    values *= lengths[i];
  }
  auto at = [&](size_t i) { return static_cast<uint32_t>(lengths[i]); };
  if (lengths.size() == 2) return Shape{1, 1, at(1)};
  if (lengths.size() == 3) return Shape{1, at(1), at(2)};
  channels_last = IsChannels(lengths[3]);
  if (channels_last) return Shape{at(3), at(1), at(2)};
  if (IsChannels(lengths[1])) return Shape{at(1), at(2), at(3)};
  return Invalid("x has neither 1, 3 nor 4 channels in its second or last dimension");
}

// Rows of pixels with all channels together become one plane a channel.
template <typename T>
void ToPlanes(std::vector<T>& values, const Shape& shape) {
  if (shape.channels == 1) return;
  const size_t plane = size_t{shape.height} * shape.width;
  std::vector<T> example(shape.size());
  for (size_t at = 0; at < values.size(); at += example.size()) {
    std::copy_n(values.begin() + static_cast<ptrdiff_t>(at), example.size(), example.begin());
    for (size_t p = 0; p < plane; ++p) {
      for (size_t c = 0; c < shape.channels; ++c) {
        values[at + c * plane + p] = example[p * shape.channels + c];
      }
    }
  }
}

template <typename T>
Result<std::vector<float>> ToFloats(const Array& array) {
  std::vector<float> values(array.size());
  for (size_t i = 0; i < values.size(); ++i) {
    T value = array.At<T>(i);
    if (!(std::abs(static_cast<double>(value)) <= std::numeric_limits<float>::max())) {
      return Invalid(Text("offset ", array.header.begin + i * sizeof(T), ": value ", i, " is ",
                          value, ": only finite 32-bit floats can be learnt from"));
    }
    values[i] = static_cast<float>(value);
  }
  return values;
}

Result<std::vector<float>> Floats(const Array& array) {
  switch (array.header.type) {
    case NpyType::kUint8:
      return ToFloats<uint8_t>(array);
    case NpyType::kInt32:
      return ToFloats<int32_t>(array);
    case NpyType::kInt64:
      return ToFloats<int64_t>(array);
    case NpyType::kFloat32:
      return ToFloats<float>(array);
    case NpyType::kFloat64:
      return ToFloats<double>(array);
  }
  return Invalid("unknown type");
}

Result<void> TakeExamples(Array array, DatasetParts& parts) {
  bool channels_last = false;
  Result<Shape> shape = ShapeOf(array.header.shape, channels_last);
  if (!shape) return shape.error();
  parts.shape = *shape;
  if (array.header.type == NpyType::kUint8) {
    parts.pixels = std::move(array.member);
    parts.pixels.erase(parts.pixels.begin(),
                       parts.pixels.begin() + static_cast<ptrdiff_t>(array.header.begin));
    if (channels_last) ToPlanes(parts.pixels, parts.shape);
    return {};
  }
  Result<std::vector<float>> values = Floats(array);
  if (!values) return values.error();
  parts.features = std::move(*values);
  if (channels_last) ToPlanes(parts.features, parts.shape);
  return {};
}

template <typename T>
Result<void> ToLabels(const Array& array, uint32_t classes, std::vector<uint32_t>& labels) {
  for (size_t i = 0; i < array.size(); ++i) {
    T value = array.At<T>(i);
    if (std::cmp_less(value, 0) || std::cmp_greater_equal(value, classes)) {
      return Invalid(Text("offset ", array.header.begin + i * sizeof(T), ": label ", value,
                          " of example ", i, ", the classes are 0 to ", classes - 1));
    }
    labels.push_back(static_cast<uint32_t>(value));
  }
  return {};
}

Result<void> TakeLabels(const Array& array, uint64_t examples, DatasetParts& parts) {
  const std::vector<uint64_t>& shape = array.header.shape;
  if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[1] != 1)) {
    return Invalid("y has to be one label an example: shape (examples,)");
  }
  if (shape[0] != examples) return Invalid(Text(shape[0], " labels for ", examples, " examples"));
  const uint32_t classes = parts.classes == 0 ? kMostClasses : parts.classes;
  switch (array.header.type) {
    case NpyType::kUint8:
      return ToLabels<uint8_t>(array, classes, parts.labels);
    case NpyType::kInt32:
      return ToLabels<int32_t>(array, classes, parts.labels);
    case NpyType::kInt64:
      return ToLabels<int64_t>(array, classes, parts.labels);
    default:
      return Invalid("y holds floats: save labels as integers, y.astype('int32')");
  }
}

}  // namespace

Result<Dataset> ReadNpz(const std::string& path, const NpzOptions& options) {
  Result<Bytes> archive = ReadArchive(path);
  if (!archive) return archive.error();
  Result<std::vector<ZipMember>> members = ListZip(*archive, path);
  if (!members) return members.error();
  DatasetParts parts;
  parts.name = options.name.empty() ? path : options.name;
  parts.classes = options.classes;
  Result<Array> x = ReadArray(*archive, *members, "x", path);
  if (!x) return x.error();
  const uint64_t examples = x->header.shape.empty() ? 0 : x->header.shape[0];
  if (Result<void> taken = TakeExamples(std::move(*x), parts); !taken) {
    return taken.error().In(Text(path, ": member x.npy"));
  }
  Result<Array> y = ReadArray(*archive, *members, "y", path);
  if (!y) return y.error();
  if (Result<void> taken = TakeLabels(*y, examples, parts); !taken) {
    return taken.error().In(Text(path, ": member y.npy"));
  }
  return Dataset::Make(std::move(parts));
}

}  // namespace metis::data
