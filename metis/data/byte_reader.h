// The bytes of a file in order, gzipped or not: a gzipped one is recognised by its first bytes and
// unpacked on the way. Every error names the file and the offset in the unpacked content. Memory is
// taken as bytes arrive, and never for more than a file of that size can hold: a forged length
// costs nothing. One thread uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"

namespace metis::data {

class ByteReader {
 public:
  // Fails with kNotFound if there is no such file.
  static Result<ByteReader> Open(const std::string& path);
  ByteReader(ByteReader&&) noexcept;
  ~ByteReader();

  const std::string& path() const { return path_; }
  uint64_t offset() const { return offset_; }
  // No more than this many bytes can follow: exact for a plain file, for a gzipped one what the
  // best compression could hide in it.
  uint64_t most_left() const { return most_ > offset_ ? most_ - offset_ : 0; }

  bool is_plain() const;
  // Whether a next byte is surely missing. A gzipped file may still have a bad checksum: see
  // ExpectEnd().
  bool AtEnd();

  // Fills `bytes`; fails if the file ends before. `what` says what is read, for the message.
  Result<void> Read(std::span<uint8_t> bytes, std::string_view what);
  // As Read(), appending `count` bytes to `out`.
  Result<void> Append(uint64_t count, std::vector<uint8_t>& out, std::string_view what);
  Result<uint32_t> ReadBigEndian32(std::string_view what);
  // Reads up to bytes.size() bytes; fewer only at the end.
  Result<size_t> ReadSome(std::span<uint8_t> bytes);
  // Fails unless all has been read; only here is the checksum of a gzipped file complete.
  Result<void> ExpectEnd();

  // An error at `offset` of this file.
  Error At(uint64_t offset, std::string_view message) const;

 private:
  struct Stream;
  ByteReader(std::string path, std::unique_ptr<Stream> stream, uint64_t most);

  std::string path_;
  std::unique_ptr<Stream> stream_;
  uint64_t most_ = 0;
  uint64_t offset_ = 0;
};

struct TextLine {
  std::string_view text = {};  // without its end; valid until the next line
  size_t number = 0;           // from 1
  uint64_t offset = 0;         // of its first byte
  bool ended = true;           // false: the file's last, without an end of line
};

// Passes every line of the rest of the file to `take`, in order; the first error of either ends it.
// Memory: one line, of at most 64 MiB. A file that ends with an end of line has no empty line after
// it.
Result<void> ReadLines(ByteReader& file, const std::function<Result<void>(const TextLine&)>& take);

}  // namespace metis::data
