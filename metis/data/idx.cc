#include "metis/data/idx.h"

#include <algorithm>
#include <map>
#include <utility>

#include "metis/core/text.h"
#include "metis/data/byte_reader.h"

namespace metis::data {
namespace {

constexpr uint32_t kUnsignedBytes = 0x08;  // the only element type of these data sets

std::string_view TypeName(uint32_t type) {
  switch (type) {
    case 0x08:
      return "unsigned bytes";
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "16-bit integers";
    case 0x0c:
      return "32-bit integers";
    case 0x0d:
      return "floats";
    case 0x0e:
      return "doubles";
    default:
      return "";
  }
}

// The lengths of the `dimensions` dimensions, checked one by one.
Result<std::vector<uint32_t>> ReadHeader(ByteReader& file, uint32_t dimensions,
                                         std::string_view what) {
  Result<uint32_t> magic = file.ReadBigEndian32("the header");
  if (!magic) return magic.error();
  uint32_t type = *magic >> 8, found = *magic & 0xff;
  if (TypeName(type).empty()) {
    return file.At(0, Text("this is no IDX file: it begins with ", *magic, ", IDX ", what, " with ",
                           kUnsignedBytes << 8 | dimensions));
  }
  if (type != kUnsignedBytes) {
    return file.At(2, Text("the file holds ", TypeName(type), ", only unsigned bytes can be read"));
  }
  if (found != dimensions) {
    return file.At(3, Text("the file has ", found, " dimension(s), ", what, " have ", dimensions,
                           ": are images and labels mixed up?"));
  }
  std::vector<uint32_t> lengths;
  for (uint32_t i = 0; i < dimensions; ++i) {
    uint64_t offset = file.offset();
    Result<uint32_t> length = file.ReadBigEndian32("the header");
    if (!length) return length.error();
    uint32_t most = i == 0 ? kMostExamples : kMostValuesPerExample;
    if (*length == 0 || *length > most) {
      return file.At(offset,
                     Text("dimension ", i, " is ", *length, ", 1 to ", most, " is possible"));
    }
    lengths.push_back(*length);
  }
  return lengths;
}

Result<void> ReadImages(const std::string& path, DatasetParts& parts, uint32_t& count) {
  Result<ByteReader> file = ByteReader::Open(path);
  if (!file) return file.error();
  Result<std::vector<uint32_t>> header = ReadHeader(*file, 3, "images");
  if (!header) return header.error();
  count = header->at(0);
  parts.shape = {1, header->at(1), header->at(2)};
  uint64_t pixels = uint64_t{parts.shape.height} * parts.shape.width;
  if (pixels > kMostValuesPerExample) {
    return file->At(8, Text("images of ", FormatShape(parts.shape), " pixels, at most ",
                            kMostValuesPerExample, " are possible"));
  }
  // Below 2^57: no overflow.
  if (Result<void> read = file->Append(count * pixels, parts.pixels, "the images"); !read) {
    return read;
  }
  return file->ExpectEnd();
}

Result<void> ReadLabels(const std::string& path, uint32_t images, DatasetParts& parts) {
  Result<ByteReader> file = ByteReader::Open(path);
  if (!file) return file.error();
  Result<std::vector<uint32_t>> header = ReadHeader(*file, 1, "labels");
  if (!header) return header.error();
  if (header->at(0) != images) {
    return file->At(4, Text(header->at(0), " labels for ", images,
                            " images: do the two files belong together?"));
  }
  uint64_t begin = file->offset();
  std::vector<uint8_t> bytes;
  if (Result<void> read = file->Append(images, bytes, "the labels"); !read) return read;
  if (Result<void> end = file->ExpectEnd(); !end) return end;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (parts.classes > 0 && bytes[i] >= parts.classes) {
      return file->At(begin + i, Text("label ", bytes[i], " of example ", i,
                                      ", the classes are 0 to ", parts.classes - 1));
    }
  }
  parts.labels.assign(bytes.begin(), bytes.end());
  return {};
}

// Names are numbered in the order in which they first appear.
Result<void> ReadWriters(const std::string& path, DatasetParts& parts) {
  Result<ByteReader> file = ByteReader::Open(path);
  if (!file) return file.error();
  std::map<std::string, uint32_t> numbers;
  uint64_t whole = 0;  // where the last whole line ended
  const size_t examples = parts.labels.size();
  Result<void> read = ReadLines(*file, [&](const TextLine& line) -> Result<void> {
    if (!line.ended) return {};  // said below, with the number of lines
    if (line.text.empty() || line.number > examples) {
      return file->At(line.offset + line.text.size(),
                      Text("line ", line.number, " of ", examples,
                           line.text.empty() ? " names no writer" : " is one too many"));
    }
    auto [writer, fresh] =
        numbers.try_emplace(std::string(line.text), static_cast<uint32_t>(numbers.size()));
    if (fresh) parts.writer_names.emplace_back(line.text);
    parts.writers.push_back(writer->second);
    whole = line.offset + line.text.size() + 1;
    return {};
  });
  if (!read) return read;
  if (whole == file->offset() && parts.writers.size() == examples) return {};
  return file->At(file->offset(),
                  Text("the file ends after ", parts.writers.size(), " whole lines, there are ",
                       examples, " examples: one writer a line, each line ended"));
}

// Turns each image around its diagonal; height and width change places.
void Transpose(DatasetParts& parts) {
  const size_t height = parts.shape.height, width = parts.shape.width;
  std::vector<uint8_t> image(height * width);
  for (size_t at = 0; at < parts.pixels.size(); at += image.size()) {
    std::copy_n(parts.pixels.begin() + static_cast<ptrdiff_t>(at), image.size(), image.begin());
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) parts.pixels[at + x * height + y] = image[y * width + x];
    }
  }
  std::swap(parts.shape.height, parts.shape.width);
}

}  // namespace

Result<Dataset> ReadIdx(const std::string& images, const std::string& labels,
                        const IdxOptions& options) {
  DatasetParts parts;
  parts.name = options.name.empty() ? images : options.name;
  parts.classes = options.classes;
  parts.class_names = options.class_names;
  uint32_t count = 0;
  if (Result<void> read = ReadImages(images, parts, count); !read) return read.error();
  if (Result<void> read = ReadLabels(labels, count, parts); !read) return read.error();
  if (!options.writers.empty()) {
    if (Result<void> read = ReadWriters(options.writers, parts); !read) return read.error();
  }
  if (options.transposed) Transpose(parts);
  return Dataset::Make(std::move(parts));
}

}  // namespace metis::data
