#include "metis/config/config.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "metis/config/document.h"
#include "metis/config/reader.h"
#include "metis/core/text.h"

namespace metis::config {
namespace {

constexpr size_t kMaxBytes = 1 << 20;  // a federation of thousands of groups is smaller

Error CannotRead(const std::string& path, int error_number) {
  return Unavailable(
      Text(path, ": can't be read: ", std::generic_category().message(error_number)));
}

Result<std::string> ReadText(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Unavailable(Text(path, ": is a directory, not a file"));
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file && errno == ENOENT) {
    return NotFound(Text(path, ": there is no such file; `metis init ", path, "` writes one"));
  }
  if (!file) return CannotRead(path, errno);
  std::string text;
  std::array<char, 4096> chunk;
  while (size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    text.append(chunk.data(), count);
    if (text.size() > kMaxBytes) {
      return Invalid(Text(path, ": is larger than 1 MiB: is it a configuration?"));
    }
  }
  if (std::ferror(file.get())) return CannotRead(path, errno);
  return text;
}

}  // namespace

Result<Assignment> ParseAssignment(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Invalid(Text("--set ", text, ": write section.key=value, e.g. --set stop.duration=30s"));
  }
  auto trimmed = [](std::string_view piece) {
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    while (piece.ends_with(' ')) piece.remove_suffix(1);
    return std::string(piece);
  };
  return Assignment{.key = trimmed(text.substr(0, equals)),
                    .value = trimmed(text.substr(equals + 1)),
                    .origin = Text("--set ", text)};
}

Result<Config> ParseConfig(std::string_view text, std::string_view source_name,
                           std::span<const Assignment> overrides) {
  Result<Document> document = ParseDocument(text, source_name);
  if (!document) return document.error();
  return ParseConfig(*document, source_name, overrides);
}

Result<Config> ParseConfig(const Document& document, std::string_view source_name,
                           std::span<const Assignment> overrides) {
  Reader reader(source_name);
  reader.ReadDocument(document);
  reader.Assign(overrides);
  return reader.Finish();
}

Result<Config> ReadConfig(const std::string& path, std::span<const Assignment> overrides) {
  Result<std::string> text = ReadText(path);
  if (!text) return text.error();
  return ParseConfig(*text, path, overrides);
}

Config DefaultConfig() { return ParseConfig("", "defaults").value(); }

}  // namespace metis::config
