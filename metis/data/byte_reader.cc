#include "metis/data/byte_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "metis/core/text.h"

namespace metis::data {
namespace {

constexpr uint64_t kDeflateRatio = 1032;          // deflate never packs more bytes into one
constexpr size_t kStep = size_t{1} << 20;         // bytes asked for at a time
constexpr unsigned kBuffer = 1u << 17;            // zlib's own: larger than its default of 8 KiB
constexpr size_t kLongestLine = size_t{1} << 26;  // bytes; a file without line ends is no text

}  // namespace

struct ByteReader::Stream {
  gzFile file = nullptr;
  ~Stream() {
    if (file != nullptr) gzclose_r(file);
  }
};

ByteReader::ByteReader(std::string path, std::unique_ptr<Stream> stream, uint64_t most)
    : path_(std::move(path)), stream_(std::move(stream)), most_(most) {}
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader::~ByteReader() = default;

Result<ByteReader> ByteReader::Open(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return NotFound(path + ": there is no such file");
  if (error) return Unavailable(Text(path, ": ", error.message()));
  if (status.type() != fs::file_type::regular) {
    return Invalid(path + ": is not a regular file");
  }
  uint64_t size = fs::file_size(path, error);
  if (error) return Unavailable(Text(path, ": ", error.message()));
  auto stream = std::make_unique<Stream>();
  errno = 0;
  stream->file = gzopen(path.c_str(), "rb");
  if (stream->file == nullptr) {
    int code = errno == 0 ? ENOMEM : errno;  // zlib leaves 0 when it has no memory
    return Unavailable(Text(path, ": can't be read: ", std::generic_category().message(code)));
  }
  gzbuffer(stream->file, kBuffer);
  bool plain = gzdirect(stream->file) == 1;
  if (!plain) size = size > UINT64_MAX / kDeflateRatio ? UINT64_MAX : size * kDeflateRatio;
  return ByteReader(path, std::move(stream), size);
}

bool ByteReader::is_plain() const { return gzdirect(stream_->file) == 1; }

bool ByteReader::AtEnd() {
  int next = gzgetc(stream_->file);
  if (next == -1) return true;
  gzungetc(next, stream_->file);
  return false;
}

Error ByteReader::At(uint64_t offset, std::string_view message) const {
  return Invalid(Text(path_, ": offset ", offset, ": ", message));
}

Result<size_t> ByteReader::ReadSome(std::span<uint8_t> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    unsigned step = static_cast<unsigned>(std::min(kStep, bytes.size() - done));
    int got = gzread(stream_->file, bytes.data() + done, step);
    int code = Z_OK;
    const char* message = gzerror(stream_->file, &code);
    if (got > 0) {
      done += static_cast<size_t>(got);
      offset_ += static_cast<uint64_t>(got);
    }
    if (code == Z_BUF_ERROR) return At(offset_, "the gzipped file is cut off here");
    if (got < 0 && code == Z_ERRNO) {
      return Unavailable(Text(path_, ": can't be read: ", std::generic_category().message(errno)));
    }
    if (got < 0) return At(offset_, Text("the gzipped file is damaged (", message, ")"));
    if (static_cast<unsigned>(got) < step) break;
  }
  return done;
}

Result<void> ByteReader::Read(std::span<uint8_t> bytes, std::string_view what) {
  uint64_t begin = offset_;
  Result<size_t> got = ReadSome(bytes);
  if (!got) return got.error();
  if (*got == bytes.size()) return {};
  return At(begin + *got, Text("the file ends within ", what, ", ", bytes.size() - *got, " of ",
                               bytes.size(), " bytes are missing: is it cut off?"));
}

Result<void> ByteReader::Append(uint64_t count, std::vector<uint8_t>& out, std::string_view what) {
  if (count > most_left()) {
    return At(offset_, Text(what, " would be ", count, " bytes, but at most ", most_left(),
                            " can follow: is the file cut off, or its header damaged?"));
  }
  out.reserve(out.size() + count);  // address space; pages are touched as bytes arrive
  for (uint64_t left = count; left > 0;) {
    size_t step = static_cast<size_t>(std::min<uint64_t>(left, kStep));
    size_t begin = out.size();
    out.resize(begin + step);
    if (Result<void> read = Read(std::span(out).subspan(begin), what); !read) return read;
    left -= step;
  }
  return {};
}

Result<uint32_t> ByteReader::ReadBigEndian32(std::string_view what) {
  uint8_t bytes[4];
  if (Result<void> read = Read(bytes, what); !read) return read.error();
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

Result<void> ByteReader::ExpectEnd() {
  uint64_t end = offset_;
  uint8_t byte;
  Result<size_t> got = ReadSome(std::span(&byte, 1));
  if (!got) return got.error();
  if (*got == 0) return {};
  return At(end, "the data should end here, but more follows: is its header damaged?");
}

Result<void> ReadLines(ByteReader& file, const std::function<Result<void>(const TextLine&)>& take) {
  std::string kept;  // the beginning of a line whose end has not come yet
  TextLine line{.number = 1, .offset = file.offset()};
  std::vector<uint8_t> chunk(size_t{1} << 16);
  for (size_t got = chunk.size(); got == chunk.size();) {
    Result<size_t> read = file.ReadSome(chunk);
    if (!read) return read.error();
    got = *read;
    std::string_view text(reinterpret_cast<const char*>(chunk.data()), got);
    for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
      kept.append(text.substr(0, end));
      line.text = kept;
      if (Result<void> taken = take(line); !taken) return taken;
      ++line.number;
      line.offset += kept.size() + 1;
      kept.clear();
      text.remove_prefix(end + 1);
    }
    kept.append(text);
    if (kept.size() > kLongestLine) {
      return file.At(file.offset(),
                     Text("a line of more than ", kLongestLine, " bytes: is this a text file?"));
    }
  }
  if (kept.empty()) return {};
  line.text = kept;
  line.ended = false;
  return take(line);
}

}  // namespace metis::data
