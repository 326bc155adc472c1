// The JSON form of what Fields() describes (core/archive.h): the lines of events.jsonl. Names
// instead of positions, enums and ids readable; numbers read back to the same bits. Models stand in
// a file of their own: a line only refers to them.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "metis/core/archive.h"
#include "metis/core/enum_name.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::report {

using Json =
    nlohmann::ordered_json;  // keeps the order of fields, so that equal records are equal bytes

// JSON has no words for infinities and NaN: they are texts.
inline Json NumberJson(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

class JsonWriter {
 public:
  // How a model is referred to.
  using ModelName = std::function<Json(const ModelPtr&)>;

  explicit JsonWriter(const ModelName& name_model) : name_model_(name_model) {}

  template <typename T>
  void operator()(std::string_view name, const T& value) {
    object_[std::string(name)] = Value(value);
  }
  Json Take() && { return std::move(object_); }

 private:
  Json Value(bool value) const { return value; }
  Json Value(const std::string& value) const { return value; }
  Json Value(Instant value) const { return value.nanoseconds(); }
  Json Value(Duration value) const { return value.nanoseconds(); }
  Json Value(double value) const { return NumberJson(value); }
  // Confusion counts are a list, as they were before there were kinds; others say what they are.
  Json Value(const Statistics& value) const {
    if (value.none() || value.AsConfusion().classes() > 0) return value.AsConfusion().counts();
    return Named(value);
  }
  Json Value(const Declared& value) const {
    if (value.none() || !value.class_counts().empty()) return Value(value.class_counts());
    return Named(value);
  }
  template <typename T>
  Json Named(const T& value) const {
    JsonWriter nested(name_model_);
    nested.object_["kind"] = std::string(value.kind());
    value.Visit([&](auto& kind) { kind.Describe(nested); });
    return std::move(nested).Take();
  }
  // Beyond 2^53 as decimal text.
  Json Value(Int128 value) const {
    constexpr Int128 kExact = Int128{1} << 53;
    if (value > kExact || value < -kExact) return ToText(value);
    return static_cast<int64_t>(value);
  }
  Json Value(const ModelPtr& value) const { return name_model_(value); }
  // Beyond 2^53 as hexadecimal text: readers that know only doubles would round the number.
  template <std::integral T>
  Json Value(T value) const {
    if constexpr (std::unsigned_integral<T> && sizeof(T) == 8) {
      if (value > (uint64_t{1} << 53)) return "0x" + Hex(value);
    }
    return value;
  }
  template <typename T>
  requires std::is_enum_v<T> Json Value(T value)
  const { return std::string(NameOf(value)); }
  template <IsStrongId T>
  Json Value(T value) const {
    return value.value();
  }
  template <typename T>
  Json Value(const std::vector<T>& values) const {
    Json list = Json::array();
    for (const T& value : values) list.push_back(Value(value));
    return list;
  }
  template <typename T>
  Json Value(const std::optional<T>& value) const {
    return value ? Value(*value) : Json(nullptr);
  }
  template <typename T>
  requires requires(JsonWriter& w, T& t) { Fields(w, t); }
  Json Value(const T& value) const {
    JsonWriter nested(name_model_);
    Fields(nested, const_cast<T&>(value));
    return std::move(nested).Take();
  }

  const ModelName& name_model_;
  Json object_ = Json::object();
};

class JsonReader {
 public:
  using FindModel = std::function<Result<ModelPtr>(const Json&)>;

  JsonReader(const Json& object, const FindModel& find_model)
      : object_(object), find_model_(find_model) {}

  template <typename T>
  void operator()(std::string_view name, T& value) {
    if (!error_.empty()) return;
    auto found = object_.find(std::string(name));
    if (found == object_.end()) return Fail(name, "is missing");
    Read(*found, value, name);
  }

  Result<void> Finish() const {
    if (error_.empty()) return {};
    return Invalid(error_);
  }

 private:
  void Fail(std::string_view name, std::string_view why) {
    if (error_.empty()) error_ = Text("field \"", name, "\" ", why);
  }

  void Read(const Json& json, bool& value, std::string_view name) {
    if (!json.is_boolean()) return Fail(name, "is no truth value");
    value = json.get<bool>();
  }
  void Read(const Json& json, std::string& value, std::string_view name) {
    if (!json.is_string()) return Fail(name, "is no text");
    value = json.get<std::string>();
  }
  void Read(const Json& json, double& value, std::string_view name) {
    if (json.is_number()) {
      value = json.get<double>();
    } else if (json == "nan") {
      value = std::nan("");
    } else if (json == "inf" || json == "-inf") {
      value = json == "inf" ? HUGE_VAL : -HUGE_VAL;
    } else {
      Fail(name, "is no number");
    }
  }
  template <std::integral T>
  void Read(const Json& json, T& value, std::string_view name) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) == 8) {
      if (json.is_string()) {
        const auto& text = json.get_ref<const std::string&>();
        const char* end = text.data() + text.size();
        if (text.starts_with("0x")) {
          // Without digits, or with too many for 64 bits, all of the text is passed over as well.
          const auto [rest, error] = std::from_chars(text.data() + 2, end, value, 16);
          if (rest == end && error == std::errc()) return;
        }
      }
    }
    if (!json.is_number_integer()) return Fail(name, "is no whole number");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>())
                                                : std::in_range<T>(json.get<int64_t>());
    if (!fits) {
      return Fail(name, Text("is ", json.dump(), ", not within ", std::numeric_limits<T>::min(),
                             " to ", std::numeric_limits<T>::max(), ": is the line damaged?"));
    }
    value = json.get<T>();
  }
  template <typename T>
  requires std::is_enum_v<T>
  void Read(const Json& json, T& value, std::string_view name) {
    constexpr auto kNames = EnumNames(T{});
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (json == kNames[i]) {
        value = static_cast<T>(i);
        return;
      }
    }
    Fail(name, "is an unknown word");
  }
  template <IsStrongId T>
  void Read(const Json& json, T& value, std::string_view name) {
    typename T::rep raw = 0;
    Read(json, raw, name);
    value = T(raw);
  }
  template <typename T>
  void Read(const Json& json, std::vector<T>& values, std::string_view name) {
    if (!json.is_array()) return Fail(name, "is no list");
    values.clear();
    for (const Json& each : json) Read(each, values.emplace_back(), name);
  }
  template <typename T>
  void Read(const Json& json, std::optional<T>& value, std::string_view name) {
    value.reset();
    if (!json.is_null()) Read(json, value.emplace(), name);
  }
  void Read(const Json& json, Int128& value, std::string_view name) {
    if (json.is_number_integer() && !json.is_number_unsigned()) {
      value = json.get<int64_t>();
      return;
    }
    if (json.is_number_unsigned()) {
      value = json.get<uint64_t>();
      return;
    }
    std::optional<Int128> read;
    if (json.is_string()) read = Int128FromText(json.get_ref<const std::string&>());
    if (!read) return Fail(name, "is no whole number");
    value = *read;
  }
  // What Named() wrote.
  template <typename T>
  void ReadNamed(const Json& json, T& value, std::string_view name) {
    auto kind = json.find("kind");
    if (kind == json.end() || !kind->is_string()) return Fail(name, "lacks its kind");
    JsonReader nested(json, find_model_);
    Result<T> read = T::OfKind(kind->get_ref<const std::string&>(),
                               [&](auto& named) { named.Describe(nested); });
    if (Result<void> whole = nested.Finish(); !whole) return Fail(name, whole.error().message);
    if (!read) return Fail(name, read.error().message);
    value = *std::move(read);
  }
  void Read(const Json& json, Declared& value, std::string_view name) {
    if (json.is_object()) return ReadNamed(json, value, name);
    std::vector<uint64_t> counts;
    Read(json, counts, name);
    value = Declared(std::move(counts));
  }
  void Read(const Json& json, Statistics& value, std::string_view name) {
    if (json.is_object()) return ReadNamed(json, value, name);
    std::vector<uint64_t> counts;
    Read(json, counts, name);
    auto classes =
        static_cast<uint32_t>(std::lround(std::sqrt(static_cast<double>(counts.size()))));
    Result<ConfusionCounts> read = ConfusionCounts::FromCounts(classes, std::move(counts));
    if (!read) return Fail(name, read.error().message);
    value = *std::move(read);
  }
  void Read(const Json& json, ModelPtr& value, std::string_view name) {
    Result<ModelPtr> found = find_model_(json);
    if (!found) return Fail(name, found.error().message);
    value = *std::move(found);
  }
  template <typename T>
  requires requires(JsonReader& r, T& t) { Fields(r, t); }
  void Read(const Json& json, T& value, std::string_view name) {
    if (!json.is_object()) return Fail(name, "is no object");
    JsonReader nested(json, find_model_);
    Fields(nested, value);
    if (Result<void> read = nested.Finish(); !read) Fail(name, read.error().message);
  }

  const Json& object_;
  const FindModel& find_model_;
  std::string error_;
};

}  // namespace metis::report
