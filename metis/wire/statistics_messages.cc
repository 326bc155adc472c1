#include "metis/wire/statistics_messages.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/int128.h"
#include "metis/core/text.h"
#include "metis/wire/messages.h"

namespace metis::wire {
namespace {

// An archive (core/archive.h) of whole numbers and lists of them.
class NamedWriter {
 public:
  explicit NamedWriter(v1::Named& message) : message_(message) {}

  template <std::integral T>
  void operator()(std::string_view name, const T& value) {
    Add(name, static_cast<Int128>(value));
  }
  void operator()(std::string_view name, const Int128& value) { Add(name, value); }
  template <std::integral T>
  void operator()(std::string_view name, const std::vector<T>& values) {
    (*message_.mutable_fields())[std::string(name)];  // also where the list is empty
    for (const T value : values) Add(name, static_cast<Int128>(value));
  }

 private:
  void Add(std::string_view name, Int128 value) {
    v1::Integer* added = (*message_.mutable_fields())[std::string(name)].add_values();
    added->set_low(LowWord(value));
    added->set_high(HighWord(value));
  }

  v1::Named& message_;
};

class NamedReader {
 public:
  explicit NamedReader(const v1::Named& message) : message_(message) {}

  template <std::integral T>
  void operator()(std::string_view name, T& value) {
    if (const v1::Integer* only = Only(name)) Read(name, *only, value);
  }
  void operator()(std::string_view name, Int128& value) {
    if (const v1::Integer* only = Only(name)) Read(name, *only, value);
  }
  template <std::integral T>
  void operator()(std::string_view name, std::vector<T>& values) {
    const v1::Integers* found = Find(name);
    if (found == nullptr) return;
    values.clear();
    for (const v1::Integer& each : found->values()) Read(name, each, values.emplace_back());
  }

  Result<void> Finish() const {
    if (error_.empty()) return {};
    return Invalid(error_);
  }

 private:
  void Fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }
  const v1::Integers* Find(std::string_view name) {
    const auto found = message_.fields().find(std::string(name));
    if (found != message_.fields().end()) return &found->second;
    Fail(Text("field \"", name, "\" is missing"));
    return nullptr;
  }
  const v1::Integer* Only(std::string_view name) {
    const v1::Integers* found = Find(name);
    if (found == nullptr) return nullptr;
    if (found->values().size() == 1) return &found->values(0);
    Fail(Text("field \"", name, "\" has ", found->values().size(), " numbers, not one"));
    return nullptr;
  }
  template <typename T>
  void Read(std::string_view name, const v1::Integer& from, T& value) {
    const Int128 number = FromWords(from.high(), from.low());
    if constexpr (!std::is_same_v<T, Int128>) {
      constexpr auto kLeast = static_cast<Int128>(std::numeric_limits<T>::min());
      constexpr auto kMost = static_cast<Int128>(std::numeric_limits<T>::max());
      if (number < kLeast || number > kMost) {
        return Fail(Text("field \"", name, "\" is ", ToText(number), ", not within ",
                         ToText(kLeast), " to ", ToText(kMost)));
      }
    }
    value = static_cast<T>(number);
  }

  const v1::Named& message_;
  std::string error_;
};

template <typename T>
void EncodeNamed(const T& value, v1::Named* message) {
  message->set_kind(std::string(value.kind()));
  NamedWriter writer(*message);
  value.Visit([&](auto& kind) { kind.Describe(writer); });
}

template <typename T>
Result<T> DecodeNamed(const v1::Named& message) {
  const std::string kind = Printable(message.kind(), kMaxNameBytes);
  if (kind == ConfusionCounts::kName) {
    return Invalid("confusion counts travel as a matrix, not by name");
  }
  NamedReader reader(message);
  Result<T> read = T::OfKind(kind, [&](auto& named) { named.Describe(reader); });
  if (Result<void> whole = reader.Finish(); !whole) return whole.error().In(kind);
  return read;
}

}  // namespace

namespace statistics_internal {

void Encode(const ConfusionCounts& counts, v1::Confusion* message) {
  message->set_classes(counts.classes());
  message->mutable_counts()->Add(counts.counts().begin(), counts.counts().end());
}

void Encode(const Statistics& statistics, v1::Named* message) { EncodeNamed(statistics, message); }

}  // namespace statistics_internal

Result<Statistics> DecodeStatistics(const v1::Confusion& matrix, const v1::Named* named) {
  if (named != nullptr) {
    if (matrix.classes() == 0 && matrix.counts().empty()) return DecodeNamed<Statistics>(*named);
    return Invalid(Text("both a confusion matrix and statistics of ",
                        Printable(named->kind(), kMaxNameBytes), ": which is it?"));
  }
  if (matrix.classes() > kMaxClasses) {
    return Invalid(Text("confusion counts of ", matrix.classes(), " classes are refused, at most ",
                        kMaxClasses, " are taken"));
  }
  Result<ConfusionCounts> counts = ConfusionCounts::FromCounts(
      matrix.classes(), {matrix.counts().begin(), matrix.counts().end()});
  if (!counts) return counts.error();
  return Statistics(*std::move(counts));
}

void EncodeDeclared(const Declared& declared, v1::Join* join) {
  if (!declared.none() && declared.class_counts().empty()) {
    return EncodeNamed(declared, join->mutable_validation());
  }
  join->mutable_validation_counts()->Add(declared.class_counts().begin(),
                                         declared.class_counts().end());
}

Result<Declared> DecodeDeclared(const v1::Join& join) {
  if (join.has_validation()) {
    if (join.validation_counts().empty()) return DecodeNamed<Declared>(join.validation());
    return Invalid(Text("a validation set both of ", join.validation_counts().size(),
                        " classes and of ", Printable(join.validation().kind(), kMaxNameBytes),
                        ": which is it?"));
  }
  if (join.validation_counts().size() > static_cast<int>(kMaxClasses)) {
    return Invalid(Text("a validation set of ", join.validation_counts().size(),
                        " classes is refused, at most ", kMaxClasses, " are taken"));
  }
  return Declared(
      std::vector<uint64_t>(join.validation_counts().begin(), join.validation_counts().end()));
}

}  // namespace metis::wire
