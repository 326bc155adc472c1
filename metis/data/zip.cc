#include "metis/data/zip.h"

#include <zlib.h>

#include <algorithm>

#include "metis/core/text.h"

namespace metis::data {
namespace {

constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22, kDirectorySize = 46, kLocalSize = 30;
constexpr size_t kLongestComment = 65535;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint64_t kLargestRatio = 1032;  // deflate never packs more bytes into one
constexpr size_t kInflateStep = size_t{1} << 20;

using Archive = std::span<const uint8_t>;

uint16_t Little16(Archive bytes, uint64_t at) {
  return static_cast<uint16_t>(bytes[at] | bytes[at + 1] << 8);
}
uint32_t Little32(Archive bytes, uint64_t at) {
  return Little16(bytes, at) | uint32_t{Little16(bytes, at + 2)} << 16;
}

Error At(const std::string& path, uint64_t offset, std::string_view message) {
  return Invalid(Text(path, ": offset ", offset, ": ", message));
}

// Where the end record begins: the last place that looks like one and ends with the file.
Result<uint64_t> FindEnd(Archive archive, const std::string& path) {
  if (archive.size() >= kEndSize) {
    uint64_t last = archive.size() - kEndSize;
    uint64_t first = last > kLongestComment ? last - kLongestComment : 0;
    for (uint64_t at = last + 1; at-- > first;) {
      if (Little32(archive, at) == kEndSignature &&
          at + kEndSize + Little16(archive, at + 20) == archive.size()) {
        return at;
      }
    }
  }
  return At(path, archive.size(), "no zip archive ends here: is the file cut off, or no NPZ file?");
}

Result<ZipMember> ReadEntry(Archive archive, uint64_t at, uint64_t end, const std::string& path) {
  if (at + kDirectorySize > end || Little32(archive, at) != kDirectorySignature) {
    return At(path, at, "the archive's directory is damaged");
  }
  ZipMember member;
  member.method = Little16(archive, at + 10);
  member.crc = Little32(archive, at + 16);
  member.packed = Little32(archive, at + 20);
  member.size = Little32(archive, at + 24);
  member.header = Little32(archive, at + 42);
  const uint16_t name = Little16(archive, at + 28);
  if (at + kDirectorySize + name > end) return At(path, at, "a name leaves the directory");
  Archive text = archive.subspan(at + kDirectorySize, name);
  member.name.assign(text.begin(), text.end());
  if ((Little16(archive, at + 8) & 1) != 0) {
    return At(path, at, Text("member ", member.name, " is encrypted"));
  }
  if (member.packed == UINT32_MAX || member.size == UINT32_MAX || member.header == UINT32_MAX) {
    return At(path, at, "zip64 (members of 4 GiB and more) can't be read: split the data");
  }
  return member;
}

// Raw deflate, `member.size` bytes if all is well. Memory grows as bytes come out.
bool Inflate(Archive packed, size_t size, std::vector<uint8_t>& out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  stream.next_in = const_cast<Bytef*>(packed.data());  // zlib does not write there
  stream.avail_in = static_cast<uInt>(packed.size());
  out.reserve(size);
  int code = Z_OK;
  while (code == Z_OK) {
    const size_t done = out.size();
    // One byte more than promised shows a member that is too long.
    const size_t step = std::min(kInflateStep, size - done + 1);
    out.resize(done + step);
    stream.next_out = out.data() + done;
    stream.avail_out = static_cast<uInt>(step);
    code = inflate(&stream, Z_NO_FLUSH);
    out.resize(done + step - stream.avail_out);
    if (out.size() > size) break;
  }
  const bool whole = code == Z_STREAM_END && stream.avail_in == 0 && out.size() == size;
  inflateEnd(&stream);
  return whole;
}

}  // namespace

Result<std::vector<ZipMember>> ListZip(Archive archive, const std::string& path) {
  Result<uint64_t> end = FindEnd(archive, path);
  if (!end) return end.error();
  const uint16_t count = Little16(archive, *end + 10);
  const uint64_t size = Little32(archive, *end + 12);
  uint64_t at = Little32(archive, *end + 16);
  if (count == UINT16_MAX || at == UINT32_MAX) {
    return At(path, *end, "zip64 archives (4 GiB and more) can't be read: split the data");
  }
  if (at + size > *end) return At(path, *end, "the archive's directory lies outside of the file");
  const uint64_t directory_end = at + size;
  std::vector<ZipMember> members;
  for (uint16_t i = 0; i < count; ++i) {
    Result<ZipMember> member = ReadEntry(archive, at, directory_end, path);
    if (!member) return member.error();
    at += kDirectorySize + Little16(archive, at + 28) + Little16(archive, at + 30) +
          Little16(archive, at + 32);
    members.push_back(std::move(*member));
  }
  return members;
}

Result<std::vector<uint8_t>> UnpackZip(Archive archive, const ZipMember& member,
                                       const std::string& path) {
  const uint64_t at = member.header;
  if (at + kLocalSize > archive.size() || Little32(archive, at) != kLocalSignature) {
    return At(path, at, Text("member ", member.name, " does not begin here"));
  }
  const uint64_t begin = at + kLocalSize + Little16(archive, at + 26) + Little16(archive, at + 28);
  if (begin + member.packed > archive.size()) {
    return At(path, begin, Text("member ", member.name, " leaves the file: is it cut off?"));
  }
  Archive packed = archive.subspan(begin, member.packed);
  std::vector<uint8_t> out;
  if (member.method == kStored) {
    if (member.size != member.packed) {
      return At(path, at, Text("member ", member.name, " is stored, with two different sizes"));
    }
    out.assign(packed.begin(), packed.end());
  } else if (member.method == kDeflated) {
    if (member.size > kLargestRatio * member.packed || !Inflate(packed, member.size, out)) {
      return At(path, begin, Text("member ", member.name, " can't be unpacked: it is damaged"));
    }
  } else {
    return At(path, at,
              Text("member ", member.name, " is packed by method ", member.method,
                   ", only stored and deflated ones can be read"));
  }
  if (crc32_z(crc32_z(0, nullptr, 0), out.data(), out.size()) != member.crc) {
    return At(path, begin, Text("member ", member.name, " has another checksum: it is damaged"));
  }
  return out;
}

}  // namespace metis::data
