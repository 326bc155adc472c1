// One description of a type's fields serves for writing, reading and hashing it:
//
//   template <typename A>
//   void Fields(A& archive, LearnerLost& event) {
//     archive("learner", event.learner);
//     archive("incarnation", event.incarnation);
//   }
//
// BinaryWriter and BinaryReader are the compact little-endian form (snapshots, logs); the record of
// a run has a JSON form of the same descriptions. Reading is safe on any bytes: it fails, it never
// overruns.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/int128.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/core/statistics.h"
#include "metis/core/time.h"

namespace metis {

template <typename T>
concept IsStrongId = requires(T t) {
  typename T::rep;
  { t.value() } -> std::same_as<typename T::rep>;
};

// A model in memory, or one that is only in a file: archived without being read, for whoever keeps
// the archive beside that file.
struct StoredModel {
  ModelPtr model;
  uint64_t fingerprint = 0;  // without a model
  std::string file;

  bool exists() const { return model != nullptr || !file.empty(); }
};

// Models stand beside the bytes, each once, and are referred to by their place in the table.
struct Archived {
  std::string bytes;
  std::vector<ModelPtr> models;
  std::map<size_t, std::string> files = {};  // of those places whose model is null
  // Reads one of the files; null where they cannot be read.
  std::function<Result<ModelPtr>(const std::string& file)> read = nullptr;
};

class BinaryWriter {
 public:
  // For kHash, models are written as their fingerprints only: equal states give equal bytes.
  enum class Mode { kStore, kHash };
  explicit BinaryWriter(Mode mode = Mode::kStore) : mode_(mode) {}

  template <typename T>
  void operator()(std::string_view /*name*/, const T& value) {
    Write(value);
  }

  const Archived& archived() const { return out_; }
  Archived Take() && { return std::move(out_); }

 private:
  void Raw(const void* data, size_t size);
  void Write(bool value) { Write(static_cast<uint8_t>(value)); }
  void Write(double value) { Raw(&value, sizeof value); }
  void Write(const std::string& value);
  void Write(Instant value) { Write(value.nanoseconds()); }
  void Write(Duration value) { Write(value.nanoseconds()); }
  void Write(Int128 value);
  void Write(const Statistics& value);
  void Write(const Declared& value);
  void Write(const StatisticsForm& value);
  void Write(const ModelPtr& model);
  void Write(const StoredModel& stored);
  template <std::integral T>
  void Write(T value) {
    Raw(&value, sizeof value);
  }
  template <typename T>
  requires std::is_enum_v<T>
  void Write(T value) { Write(static_cast<uint8_t>(value)); }
  template <IsStrongId T>
  void Write(T value) {
    Write(value.value());
  }
  template <typename T>
  void Write(const std::vector<T>& values) {
    WriteAll(values);
  }
  template <typename T>
  void Write(const std::set<T>& values) {
    WriteAll(values);
  }
  template <typename K, typename V>
  void Write(const std::map<K, V>& values) {
    WriteAll(values);
  }
  template <typename A, typename B>
  void Write(const std::pair<A, B>& value) {
    Write(value.first);
    Write(value.second);
  }
  template <typename T>
  void Write(const std::optional<T>& value) {
    Write(value.has_value());
    if (value) Write(*value);
  }
  template <typename... T>
  void Write(const std::variant<T...>& value) {
    Write(static_cast<uint8_t>(value.index()));
    std::visit([this](const auto& alternative) { this->Write(alternative); }, value);
  }
  // A struct with a Fields() description, which takes it by mutable reference for the reader's
  // sake.
  template <typename T>
  requires requires(BinaryWriter& w, T& t) { Fields(w, t); }
  void Write(const T& value) { Fields(*this, const_cast<T&>(value)); }
  template <typename Range>
  void WriteAll(const Range& values) {
    Write(static_cast<uint64_t>(values.size()));
    for (const auto& value : values) Write(value);
  }

  Mode mode_;
  Archived out_;
  std::map<const Model*, uint64_t> places_;
};

class BinaryReader {
 public:
  explicit BinaryReader(const Archived& in) : in_(in) {}

  template <typename T>
  void operator()(std::string_view name, T& value) {
    if (!error_.empty()) return;
    Read(value);
    if (!error_.empty() && field_.empty()) field_ = name;
  }

  // The model of a StoredModel that was read from this archive, which does not read its file: for
  // whoever has more models than memory. Checked: it has one. No file is read twice while its model
  // is held.
  Result<ModelPtr> Load(const StoredModel& stored);

  // An error if anything was missing, out of range, or left over.
  Result<void> Finish() const;

 private:
  void Fail(std::string_view why);
  bool Raw(void* data, size_t size);
  // A count of items that take at least a byte each: more than the rest of the bytes is damage.
  uint64_t ReadCount();
  void Read(bool& value);
  void Read(double& value) { Raw(&value, sizeof value); }
  void Read(std::string& value);
  void Read(Instant& value);
  void Read(Duration& value);
  void Read(Int128& value);
  void Read(Statistics& value);
  void Read(Declared& value);
  void Read(StatisticsForm& value);
  void Read(ModelPtr& model);
  void Read(StoredModel& stored);
  template <std::integral T>
  void Read(T& value) {
    Raw(&value, sizeof value);
  }
  template <typename T>
  requires std::is_enum_v<T>
  void Read(T& value) {
    uint8_t raw = 0;
    Read(raw);
    if constexpr (requires { EnumNames(T{}); }) {
      if (raw >= EnumNames(T{}).size()) return Fail("an unknown kind");
    }
    value = static_cast<T>(raw);
  }
  template <IsStrongId T>
  void Read(T& value) {
    typename T::rep raw = 0;
    Read(raw);
    value = T(raw);
  }
  template <typename T>
  void Read(std::vector<T>& values) {
    values.clear();
    for (uint64_t n = ReadCount(); n > 0 && error_.empty(); --n) Read(values.emplace_back());
  }
  template <typename T>
  void Read(std::set<T>& values) {
    values.clear();
    for (uint64_t n = ReadCount(); n > 0 && error_.empty(); --n) {
      T value{};
      Read(value);
      values.insert(std::move(value));
    }
  }
  template <typename K, typename V>
  void Read(std::map<K, V>& values) {
    values.clear();
    for (uint64_t n = ReadCount(); n > 0 && error_.empty(); --n) {
      std::pair<K, V> value{};
      Read(value);
      values.insert(std::move(value));
    }
  }
  template <typename A, typename B>
  void Read(std::pair<A, B>& value) {
    Read(value.first);
    Read(value.second);
  }
  template <typename T>
  void Read(std::optional<T>& value) {
    bool present = false;
    Read(present);
    value.reset();
    if (present && error_.empty()) Read(value.emplace());
  }
  template <typename... T>
  void Read(std::variant<T...>& value) {
    uint8_t index = 0;
    Read(index);
    if (index >= sizeof...(T)) return Fail("unknown kind");
    uint8_t at = 0;
    ((at++ == index ? Read(value.template emplace<T>()) : void()), ...);
  }
  template <typename T>
  requires requires(BinaryReader& r, T& t) { Fields(r, t); }
  void Read(T& value) { Fields(*this, value); }

  const Archived& in_;
  size_t at_ = 0;
  std::map<std::string, std::weak_ptr<const Model>> loaded_;  // by file
  std::string error_;
  std::string field_;
};

}  // namespace metis
