#include "metis/config/part_keys.h"

#include <algorithm>

#include "metis/core/text.h"
#include "metis/policy/policy.h"

namespace metis::config {
namespace {

using federation::KeyValue;
using federation::PartKey;

constexpr auto kItself = [](auto& target) -> decltype(auto) { return (target); };

// A key of one value, whatever it is of: how that is read, checked and written.
template <typename T>
Key<T> KeyOf(const PartKey& key) {
  if constexpr (std::is_same_v<T, bool>) {
    return Flag<T>(key.name, kItself, key.documentation);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    const auto& range = std::get<federation::WholeRange>(key.allowed);
    return Whole<T>(key.name, kItself, {range.min, range.max}, key.documentation);
  } else if constexpr (std::is_same_v<T, double>) {
    const auto& range = std::get<federation::NumberRange>(key.allowed);
    return Number<T>(key.name, kItself, {range.min, range.max, range.above, range.below},
                     key.documentation);
  } else if constexpr (std::is_same_v<T, Duration>) {
    const auto& range = std::get<federation::TimeRange>(key.allowed);
    return Time<T>(key.name, kItself, {range.min, range.max, range.above}, key.documentation);
  } else {
    Words<std::string> words;
    for (std::string_view word : std::get<federation::WordList>(key.allowed).words) {
      words.push_back({word, std::string(word)});
    }
    return Word<T>(key.name, kItself, std::move(words), key.documentation);
  }
}

// `get(const Target&)` gives an optional<KeyValue>, `set(Target&, KeyValue)` takes one.
template <typename Target, typename T, typename Get, typename SetValue>
Key<Target> Bound(const PartKey& part_key, Get get, SetValue set) {
  const Key<T> value_key = KeyOf<T>(part_key);
  Key<Target> key;
  key.name = part_key.name;
  key.documentation = part_key.documentation;
  key.type = value_key.type;
  key.read = [value_key, set](const Value& value, Target& target) -> Result<void> {
    T parsed{};
    if (Result<void> read = value_key.read(value, parsed); !read) return read;
    set(target, KeyValue(std::move(parsed)));
    return {};
  };
  key.write = [value_key, get](const Target& target) -> std::optional<std::string> {
    const std::optional<KeyValue> value = get(target);
    if (!value) return std::nullopt;
    return value_key.write(std::get<T>(*value));
  };
  return key;
}

template <typename Target, typename Get, typename SetValue>
Key<Target> Bind(const PartKey& key, Get get, SetValue set) {
  return std::visit([&]<typename T>(const T&) { return Bound<Target, T>(key, get, set); },
                    key.Default());
}

Key<Draft> DraftKey(const PartKey& part_key) {
  Key<Draft> key = Bind<Draft>(
      part_key,
      [part_key](const Draft& draft) {
        return std::optional(draft.config.federation.values.Find(part_key));
      },
      [part_key](Draft& draft, KeyValue value) {
        draft.config.federation.values.Set(part_key, std::move(value));
      });
  key.default_words = part_key.default_words;
  key.suggested = part_key.suggested;
  return key;
}

Key<GroupDraft> GroupKey(const PartKey& part_key) {
  const std::string path = part_key.Path();
  Key<GroupDraft> key = Bind<GroupDraft>(
      part_key,
      [path](const GroupDraft& group) -> std::optional<KeyValue> {
        const auto found = group.own.find(path);
        if (found == group.own.end()) return std::nullopt;
        return found->second;
      },
      [path](GroupDraft& group, KeyValue value) { group.own[path] = std::move(value); });
  key.reset = [path](GroupDraft& group) { group.own.erase(path); };
  key.documentation = Text("The group's own [", part_key.section, "] ", part_key.name, ".");
  key.default_words = Text("that of [", part_key.section, "]");
  return std::move(key).OrNone();
}

}  // namespace

std::vector<Key<Draft>> ChoiceKeys() {
  std::vector<Key<Draft>> keys;
  for (size_t i = 0; i < policy::Kinds().size(); ++i) {
    const policy::Kind& kind = policy::Kinds()[i];
    if (kind.choices.size() < 2) continue;
    Words<std::string> words;
    std::vector<std::string> help;
    for (const federation::Part* part : kind.choices) {
      words.push_back({part->name, std::string(part->name)});
      help.push_back(Text(part->name, ": ", part->help));
    }
    Key<Draft> key = Word<Draft>(
        kind.key, [i](auto& draft) -> decltype(auto) { return (draft.parts[i]); }, std::move(words),
        Text(kind.documentation, " ", Join(help, "; "), "."));
    key.default_words = kind.named ? "the policy's" : Quoted(kind.choices.front()->name);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<PartSection> PartSections() {
  std::vector<PartSection> sections;
  for (const PartKey& key : policy::Keys()) {
    auto section = std::find_if(sections.begin(), sections.end(),
                                [&](const PartSection& each) { return each.name == key.section; });
    if (section == sections.end()) {
      sections.push_back({key.section, policy::SectionHelp(key.section), {}});
      section = sections.end() - 1;
    }
    section->keys.push_back(DraftKey(key));
  }
  return sections;
}

std::vector<Key<GroupDraft>> PartKeysOfGroups() {
  std::vector<Key<GroupDraft>> keys;
  for (const PartKey& key : policy::Keys()) {
    if (!key.column.empty()) keys.push_back(GroupKey(key));
  }
  return keys;
}

std::string OwnValuesInWords(std::string_view group) {
  std::vector<std::string> values;
  for (const PartKey& key : policy::Keys()) {
    for (const PartKey::OfGroup& own : key.group_defaults) {
      if (own.group != group) continue;
      const std::string value = std::visit(
          [&]<typename T>(const T&) {
            return *KeyOf<T>(key).write(std::get<T>(PartKey::Value(own.value)));
          },
          key.Default());
      values.push_back(Text("`", key.name, " = ", value, "`"));
    }
  }
  return Join(values, " and ");
}

std::string ProximalDefaultInWords() {
  std::string words;
  for (const federation::ProtocolPart* part : policy::AllParts().protocols) {
    if (!part->proximal) continue;
    words += Text(*part->proximal, " for the protocol \"", part->name, "\", ");
  }
  return Text(words, "else ", learner::TrainingSettings().proximal);
}

}  // namespace metis::config
