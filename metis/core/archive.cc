#include "metis/core/archive.h"

#include <bit>

#include "metis/core/text.h"

namespace metis {

static_assert(std::endian::native == std::endian::little, "the binary form is little-endian");

namespace {
// Confusion counts came before there were kinds and keep their form, without a name. Instead of
// their number of classes or examples other kinds have one that no confusion counts can have, then
// the name and the fields of the kind.
constexpr uint32_t kNamedClasses = UINT32_MAX;
constexpr uint64_t kNamedCounts = UINT64_MAX;
}  // namespace

void BinaryWriter::Raw(const void* data, size_t size) {
  out_.bytes.append(static_cast<const char*>(data), size);
}

void BinaryWriter::Write(const std::string& value) {
  Write(static_cast<uint64_t>(value.size()));
  Raw(value.data(), value.size());
}

void BinaryWriter::Write(Int128 value) {
  Write(LowWord(value));
  Write(HighWord(value));
}

void BinaryWriter::Write(const Statistics& value) {
  const ConfusionCounts& counts = value.AsConfusion();
  if (counts.classes() > 0 || value.none()) {
    Write(counts.classes());
    Write(counts.counts());
    return;
  }
  Write(kNamedClasses);
  Write(std::string(value.kind()));
  value.Visit([this](auto& kind) { kind.Describe(*this); });
}

void BinaryWriter::Write(const Declared& value) {
  if (value.none() || !value.class_counts().empty()) return Write(value.class_counts());
  Write(kNamedCounts);
  Write(std::string(value.kind()));
  value.Visit([this](auto& kind) { kind.Describe(*this); });
}

void BinaryWriter::Write(const StatisticsForm& value) {
  if (!value.known() || value.kind == ConfusionCounts::kName) return Write(value.parts);
  Write(kNamedClasses);
  Write(value.kind);
  Write(value.parts);
}

void BinaryWriter::Write(const ModelPtr& model) {
  Write(model != nullptr);
  if (!model) return;
  Write(model->Fingerprint());
  if (mode_ == Mode::kHash) return;
  auto [place, added] = places_.emplace(model.get(), out_.models.size());
  if (added) out_.models.push_back(model);
  Write(place->second);
}

void BinaryWriter::Write(const StoredModel& stored) {
  if (stored.model || !stored.exists()) return Write(stored.model);
  Write(true);
  Write(stored.fingerprint);
  if (mode_ == Mode::kHash) return;
  const uint64_t place = out_.models.size();
  out_.models.push_back(nullptr);
  out_.files[place] = stored.file;
  Write(place);
}

void BinaryReader::Fail(std::string_view why) {
  if (error_.empty()) error_ = why;
}

bool BinaryReader::Raw(void* data, size_t size) {
  if (!error_.empty()) return false;
  if (in_.bytes.size() - at_ < size) {
    Fail("cut short");
    return false;
  }
  std::memcpy(data, in_.bytes.data() + at_, size);
  at_ += size;
  return true;
}

uint64_t BinaryReader::ReadCount() {
  uint64_t count = 0;
  Read(count);
  if (error_.empty() && count > in_.bytes.size() - at_) Fail("a count exceeds the data");
  return error_.empty() ? count : 0;
}

void BinaryReader::Read(bool& value) {
  uint8_t raw = 0;
  Read(raw);
  if (raw > 1) Fail("a truth value is neither 0 nor 1");
  value = raw == 1;
}

void BinaryReader::Read(std::string& value) {
  uint64_t size = ReadCount();
  value.resize(size);
  Raw(value.data(), size);
}

void BinaryReader::Read(Instant& value) {
  int64_t ns = 0;
  Read(ns);
  value = Instant::FromNanoseconds(ns);
}

void BinaryReader::Read(Duration& value) {
  int64_t ns = 0;
  Read(ns);
  value = Duration::Nanoseconds(ns);
}

void BinaryReader::Read(Int128& value) {
  uint64_t low = 0;
  int64_t high = 0;
  Read(low);
  Read(high);
  value = FromWords(high, low);
}

void BinaryReader::Read(Statistics& value) {
  value = {};
  uint32_t classes = 0;
  Read(classes);
  if (classes != kNamedClasses) {
    std::vector<uint64_t> counts;
    Read(counts);
    if (!error_.empty()) return;
    Result<ConfusionCounts> read = ConfusionCounts::FromCounts(classes, std::move(counts));
    if (!read) return Fail(read.error().message);
    value = *std::move(read);
    return;
  }
  std::string kind;
  Read(kind);
  if (!error_.empty()) return;
  Result<Statistics> read =
      Statistics::OfKind(kind, [this](auto& named) { named.Describe(*this); });
  if (!read) return Fail(read.error().message);
  value = *std::move(read);
}

void BinaryReader::Read(Declared& value) {
  value = {};
  uint64_t size = 0;
  Read(size);
  if (!error_.empty()) return;
  if (size != kNamedCounts) {
    if (size > in_.bytes.size() - at_) return Fail("a count exceeds the data");
    std::vector<uint64_t> counts;
    for (; size > 0 && error_.empty(); --size) Read(counts.emplace_back());
    value = Declared(std::move(counts));
    return;
  }
  std::string kind;
  Read(kind);
  if (!error_.empty()) return;
  Result<Declared> read = Declared::OfKind(kind, [this](auto& named) { named.Describe(*this); });
  if (!read) return Fail(read.error().message);
  value = *std::move(read);
}

void BinaryReader::Read(StatisticsForm& value) {
  value = {};
  Read(value.parts);
  if (value.parts == 0) return;
  if (value.parts != kNamedClasses) {
    value.kind = ConfusionCounts::kName;
    return;
  }
  Read(value.kind);
  Read(value.parts);
  if (error_.empty() && !value.known()) Fail("statistics of a kind without a name");
}

void BinaryReader::Read(ModelPtr& model) {
  StoredModel stored;
  Read(stored);
  model = nullptr;
  if (!stored.exists() || !error_.empty()) return;
  Result<ModelPtr> loaded = Load(stored);
  if (!loaded) return Fail(loaded.error().message);
  model = *std::move(loaded);
}

void BinaryReader::Read(StoredModel& stored) {
  bool present = false;
  Read(present);
  stored = {};
  if (!present || !error_.empty()) return;
  uint64_t place = 0;
  Read(stored.fingerprint);
  Read(place);
  if (!error_.empty()) return;
  if (place < in_.models.size()) stored.model = in_.models[place];
  if (const auto file = in_.files.find(place); file != in_.files.end()) stored.file = file->second;
  if (!stored.exists()) return Fail("a model is missing");
}

Result<ModelPtr> BinaryReader::Load(const StoredModel& stored) {
  METIS_CHECK(stored.exists());
  ModelPtr model = stored.model;
  if (!model) {
    std::weak_ptr<const Model>& known = loaded_[stored.file];
    model = known.lock();
    if (!model && in_.read) {
      Result<ModelPtr> read = in_.read(stored.file);
      if (!read) return read.error();
      known = model = *std::move(read);
    }
  }
  if (!model) return Invalid("a model is missing");
  if (model->Fingerprint() != stored.fingerprint) return Invalid("a model is damaged");
  return model;
}

Result<void> BinaryReader::Finish() const {
  if (!error_.empty()) {
    return Invalid(Text(error_, " at byte ", at_, ", field \"", field_, "\""));
  }
  if (at_ != in_.bytes.size()) {
    return Invalid(Text(in_.bytes.size() - at_, " bytes left over after the last field"));
  }
  return {};
}

}  // namespace metis
