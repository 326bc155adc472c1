// The configuration keys of a policy's parts, as plain data, and the values that they have in the
// settings of one federation. A part declares its keys beside its code (part.h); reading, checking
// and documenting them is metis/config's, which knows no part by name:
//
//   constexpr PartKey kAlpha = {.section = "fedasync", .name = "alpha", .fallback = 0.5,
//                               .allowed = NumberRange{0, 1, kAbove}, .documentation = "..."};
//   double alpha = settings.values.Get<double>(kAlpha);
//
// A PartKey is a constant of the program. PartValues is a value: one Settings owns one.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "metis/core/check.h"
#include "metis/core/time.h"

namespace metis::federation {

inline constexpr bool kAbove = true;  // the lower bound itself is outside
inline constexpr bool kBelow = true;  // the upper bound itself is outside

struct Flag {};
struct WholeRange {
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
};
struct NumberRange {
  double min = 0;
  double max = std::numeric_limits<double>::max();
  bool above = false;
  bool below = false;
};
struct TimeRange {
  Duration min = {};
  Duration max = Duration::Forever();  // then the word "forever" is a value, too
  bool above = false;
};
// Where they mean the values of an enumeration, they stand in its order.
struct WordList {
  std::span<const std::string_view> words;
};

using KeyValue = std::variant<bool, int64_t, double, Duration, std::string>;

struct PartKey {
  // A text is one of the words of `allowed`.
  using Constant = std::variant<bool, int64_t, double, Duration, std::string_view>;
  struct OfGroup {
    std::string_view group;
    Constant value;
  };

  std::string_view section;
  std::string_view name;
  Constant fallback;  // what it is where it is not set; of the type that `allowed` asks for
  std::variant<Flag, WholeRange, NumberRange, TimeRange, WordList> allowed;
  std::string_view documentation;       // one sentence
  std::string_view default_words = {};  // in place of the fallback's value
  bool suggested = false;               // stands in the template uncommented
  // Not empty: a [[group]] may have a value of its own, under this heading in `metis check`.
  std::string_view column = {};
  std::span<const OfGroup> group_defaults = {};  // of the groups there are without any in the file

  std::string Path() const { return std::string(section) + "." + std::string(name); }
  KeyValue Default() const { return Value(fallback); }
  static KeyValue Value(const Constant& constant);
  // Is this a value that the key may have?
  bool Allows(const KeyValue& value) const;
};

class PartValues {
 public:
  // T is the type of the key's values; any integer for whole numbers, and for words the
  // enumeration whose values they are. `group` asks for the group's own value where it has one.
  template <typename T>
  T Get(const PartKey& key, std::string_view group = {}) const {
    const KeyValue value = Find(key, group);
    if constexpr (std::is_enum_v<T>) {
      const auto& words = std::get<WordList>(key.allowed).words;
      for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == std::get<std::string>(value)) return static_cast<T>(i);
      }
      METIS_CHECK_MSG(false, key.Path());
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return static_cast<T>(std::get<int64_t>(value));
    } else {
      return std::get<T>(value);
    }
  }
  KeyValue Find(const PartKey& key, std::string_view group = {}) const;

  // Checked: the key allows the value. The fallback is not kept: equal settings are equal values,
  // however they were written.
  void Set(const PartKey& key, KeyValue value);

  // A value of the group's own, also where it equals everybody's.
  void SetOfGroup(const PartKey& key, std::string_view group, KeyValue value);
  std::optional<KeyValue> OfGroup(const PartKey& key, std::string_view group) const;
  std::set<std::string> Groups() const;  // that have values of their own
  void ClearGroups() { groups_.clear(); }
  void CopyGroups(const PartValues& other) { groups_ = other.groups_; }

  friend bool operator==(const PartValues&, const PartValues&) = default;

 private:
  std::map<std::string, KeyValue> values_;                         // by path
  std::map<std::string, std::map<std::string, KeyValue>> groups_;  // by group and path
};

}  // namespace metis::federation
