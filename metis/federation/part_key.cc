#include "metis/federation/part_key.h"

#include <algorithm>
#include <cmath>

namespace metis::federation {

KeyValue PartKey::Value(const Constant& constant) {
  return std::visit(
      [](const auto& value) -> KeyValue {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>) {
          return std::string(value);
        } else {
          return value;
        }
      },
      constant);
}

bool PartKey::Allows(const KeyValue& value) const {
  if (std::holds_alternative<Flag>(allowed)) return std::holds_alternative<bool>(value);
  if (const auto* range = std::get_if<WholeRange>(&allowed)) {
    const auto* whole = std::get_if<int64_t>(&value);
    return whole != nullptr && *whole >= range->min && *whole <= range->max;
  }
  if (const auto* range = std::get_if<NumberRange>(&allowed)) {
    const auto* number = std::get_if<double>(&value);
    return number != nullptr && std::isfinite(*number) &&
           (range->above ? *number > range->min : *number >= range->min) &&
           (range->below ? *number < range->max : *number <= range->max);
  }
  if (const auto* range = std::get_if<TimeRange>(&allowed)) {
    const auto* time = std::get_if<Duration>(&value);
    return time != nullptr && (range->above ? *time > range->min : *time >= range->min) &&
           *time <= range->max;
  }
  const auto& words = std::get<WordList>(allowed).words;
  const auto* word = std::get_if<std::string>(&value);
  return word != nullptr && std::find(words.begin(), words.end(), *word) != words.end();
}

KeyValue PartValues::Find(const PartKey& key, std::string_view group) const {
  if (std::optional<KeyValue> own = OfGroup(key, group)) return *std::move(own);
  const auto found = values_.find(key.Path());
  return found == values_.end() ? key.Default() : found->second;
}

void PartValues::Set(const PartKey& key, KeyValue value) {
  METIS_CHECK_MSG(key.Allows(value), key.Path());
  if (value == key.Default()) {
    values_.erase(key.Path());
  } else {
    values_[key.Path()] = std::move(value);
  }
}

void PartValues::SetOfGroup(const PartKey& key, std::string_view group, KeyValue value) {
  METIS_CHECK_MSG(key.Allows(value) && !key.column.empty(), key.Path());
  groups_[std::string(group)][key.Path()] = std::move(value);
}

std::optional<KeyValue> PartValues::OfGroup(const PartKey& key, std::string_view group) const {
  const auto values = groups_.find(std::string(group));
  if (values == groups_.end()) return std::nullopt;
  const auto found = values->second.find(key.Path());
  if (found == values->second.end()) return std::nullopt;
  return found->second;
}

std::set<std::string> PartValues::Groups() const {
  std::set<std::string> names;
  for (const auto& [group, values] : groups_) names.insert(group);
  return names;
}

}  // namespace metis::federation
