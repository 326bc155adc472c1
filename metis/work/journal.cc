#include "metis/work/journal.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::work {
namespace {

constexpr std::string_view kMagic = "metis work 2\n";
constexpr uint32_t kMaxIdentity = 1 << 16;
constexpr size_t kKeyBytes = 1 + 4 + 4 * 8;

template <typename T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string Encode(const WorkKey& key) {
  std::string bytes;
  Append(bytes, key.kind);
  Append(bytes, key.who);
  Append(bytes, key.model);
  Append(bytes, key.state);
  Append(bytes, key.cycle);
  Append(bytes, key.epoch);
  return bytes;
}

template <typename T>
T Take(std::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

WorkKey Decode(std::string_view bytes) {
  WorkKey key;
  key.kind = Take<Kind>(bytes);
  key.who = Take<uint32_t>(bytes);
  key.model = Take<uint64_t>(bytes);
  key.state = Take<uint64_t>(bytes);
  key.cycle = Take<uint64_t>(bytes);
  key.epoch = Take<uint64_t>(bytes);
  return key;
}

template <typename T>
bool Read(std::istream& in, T& value) {
  return static_cast<bool>(in.read(reinterpret_cast<char*>(&value), sizeof value));
}

bool Read(std::istream& in, std::string& bytes, uint64_t size) {
  bytes.resize(size);
  return static_cast<bool>(in.read(bytes.data(), static_cast<std::streamsize>(size)));
}

}  // namespace

Result<std::unique_ptr<WorkJournal>> WorkJournal::Create(const std::string& path,
                                                         std::string_view identity) {
  METIS_CHECK(identity.size() <= kMaxIdentity);
  std::unique_ptr<WorkJournal> journal(new WorkJournal(path, std::string(identity)));
  journal->out_.open(path, std::ios::binary | std::ios::trunc);
  std::string header(kMagic);
  Append(header, static_cast<uint32_t>(identity.size()));
  header += identity;
  journal->out_ << header << std::flush;
  if (!journal->out_) return Unavailable(Text("cannot write ", path, ": ", std::strerror(errno)));
  return journal;
}

Result<std::unique_ptr<WorkJournal>> WorkJournal::Open(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound(Text("cannot read ", path, ": ", std::strerror(errno)));
  std::string magic;
  uint32_t length = 0;
  std::string identity;
  if (!Read(in, magic, kMagic.size()) || magic != kMagic || !Read(in, length) ||
      length > kMaxIdentity || !Read(in, identity, length)) {
    return Invalid(Text(path, " is not a record of work done, or one of another version of Metis"));
  }
  std::unique_ptr<WorkJournal> journal(new WorkJournal(path, std::move(identity)));
  journal->in_ = std::move(in);
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  const uint64_t whole = error ? 0 : journal->Scan(size);
  if (!error && whole < size) std::filesystem::resize_file(path, whole, error);
  if (error) return Unavailable(Text("cannot go on with ", path, ": ", error.message()));
  journal->out_.open(path, std::ios::binary | std::ios::app);
  if (!journal->out_) return Unavailable(Text("cannot write ", path, ": ", std::strerror(errno)));
  return journal;
}

uint64_t WorkJournal::Scan(uint64_t size) {
  auto at = static_cast<uint64_t>(in_.tellg());
  std::string body;
  while (true) {
    uint64_t length = 0;
    uint64_t checksum = 0;
    if (!Read(in_, length) || length > size) break;
    if (!Read(in_, body, kKeyBytes + length) || !Read(in_, checksum)) break;
    if (Fingerprint(body) != checksum) break;
    const uint64_t payload = at + sizeof length + kKeyBytes;
    places_[Decode(body)] = {payload, length};
    at = payload + length + sizeof checksum;
  }
  in_.clear();
  return at;
}

std::optional<std::string> WorkJournal::Find(const WorkKey& key) {
  auto found = places_.find(key);
  if (found == places_.end()) return std::nullopt;
  std::string payload;
  std::lock_guard lock(mutex_);
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(found->second.offset));
  if (!Read(in_, payload, found->second.size)) return std::nullopt;  // computed again
  return payload;
}

void WorkJournal::Keep(const WorkKey& key, std::string_view payload) {
  std::string record;
  record.reserve(payload.size() + kKeyBytes + 2 * sizeof(uint64_t));
  Append(record, static_cast<uint64_t>(payload.size()));
  record += Encode(key);
  record += payload;
  Append(record, Fingerprint(std::string_view(record).substr(sizeof(uint64_t))));
  std::lock_guard lock(mutex_);
  if (failure_) return;
  out_.write(record.data(), static_cast<std::streamsize>(record.size()));
  // A killed process has lost little; evaluations are cheap and wait for the next epoch's end.
  if (key.kind == Kind::kEpoch || key.kind == Kind::kModel) out_.flush();
  if (!out_) failure_ = Unavailable(Text("cannot write ", path_, ": ", std::strerror(errno)));
}

std::optional<Error> WorkJournal::failure() {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace metis::work
