// The header of a .npy array: a magic, a length, and a Python dictionary as text.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "metis/core/text.h"
#include "metis/data/npz.h"

namespace metis::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDimensions = 8;

Error At(size_t offset, std::string_view message) {
  return Invalid(Text("offset ", offset, ": ", message));
}

size_t SizeOf(NpyType type) {
  switch (type) {
    case NpyType::kUint8:
      return 1;
    case NpyType::kInt32:
    case NpyType::kFloat32:
      return 4;
    case NpyType::kInt64:
    case NpyType::kFloat64:
      return 8;
  }
  return 8;
}

// What follows "'key':" in the dictionary, without leading spaces; empty if the key is missing.
std::string_view ValueOf(std::string_view dictionary, std::string_view key) {
  size_t at = dictionary.find(Text("'", key, "'"));
  if (at == dictionary.npos) return {};
  std::string_view rest = dictionary.substr(at + key.size() + 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (!rest.starts_with(':')) return {};
  rest.remove_prefix(1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

Result<NpyType> ParseType(std::string_view value) {
  size_t close = value.empty() ? value.npos : value.find('\'', 1);
  if (!value.starts_with('\'') || close == value.npos) {
    return Invalid("the type of the values ('descr') is missing or a structure");
  }
  std::string_view type = value.substr(1, close - 1);
  if (type == "|u1" || type == "<u1" || type == "u1") return NpyType::kUint8;
  if (type == "<i4") return NpyType::kInt32;
  if (type == "<i8") return NpyType::kInt64;
  if (type == "<f4") return NpyType::kFloat32;
  if (type == "<f8") return NpyType::kFloat64;
  if (type.starts_with('>')) {
    return Invalid(Text("type ", type, " is big-endian: save it as little-endian"));
  }
  return Invalid(
      Text("type ", type, " can't be read: save as uint8, int32, int64, float32 or float64"));
}

// "(3, 4)", "(3,)"; every length at least 1.
std::optional<std::vector<uint64_t>> ParseShape(std::string_view value) {
  if (!value.starts_with('(')) return std::nullopt;
  value.remove_prefix(1);
  std::vector<uint64_t> shape;
  while (shape.size() <= kMostDimensions) {
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (value.starts_with(')')) return shape;
    uint64_t length = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (error != std::errc() || length == 0) return std::nullopt;
    shape.push_back(length);
    value.remove_prefix(static_cast<size_t>(end - value.data()));
    if (value.starts_with(',')) {
      value.remove_prefix(1);
    } else if (!value.starts_with(')')) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<NpyHeader> ParseNpyHeader(std::span<const uint8_t> member) {
  std::string_view text(reinterpret_cast<const char*>(member.data()), member.size());
  if (!text.starts_with(kMagic) || text.size() < 12) return At(0, "this is no .npy array");
  const uint8_t major = member[6];
  if (major != 1 && major != 2) {
    return At(6, Text(".npy version ", major, ", versions 1 and 2 can be read"));
  }
  const size_t start = major == 1 ? 10 : 12;
  uint64_t length = member[8] | uint32_t{member[9]} << 8;
  if (major == 2) length |= uint32_t{member[10]} << 16 | uint32_t{member[11]} << 24;
  if (length > member.size() - start) {
    return At(8, Text("a header of ", length, " bytes leaves the array"));
  }
  std::string_view dictionary = text.substr(start, length);
  NpyHeader header;
  header.begin = start + length;
  Result<NpyType> type = ParseType(ValueOf(dictionary, "descr"));
  if (!type) return At(start, type.error().message);
  header.type = *type;
  std::string_view order = ValueOf(dictionary, "fortran_order");
  std::optional<std::vector<uint64_t>> shape = ParseShape(ValueOf(dictionary, "shape"));
  if (!shape) return At(start, "the shape is missing, empty or damaged");
  if (!order.starts_with("False") && shape->size() > 1) {
    return At(start, order.starts_with("True")
                         ? "the array is in Fortran order: save numpy.ascontiguousarray() of it"
                         : "the order of the values is missing or damaged");
  }
  header.shape = std::move(*shape);
  const uint64_t bytes = member.size() - header.begin;
  uint64_t values = bytes / SizeOf(header.type);
  for (uint64_t dimension : header.shape) {
    if (values % dimension != 0) values = 0;
    values /= dimension;
  }
  if (values != 1 || bytes % SizeOf(header.type) != 0) {
    return At(header.begin, Text(bytes, " bytes of values don't fit the array's shape and type"));
  }
  return header;
}

}  // namespace metis::data
