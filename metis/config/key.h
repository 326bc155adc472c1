// One key of the configuration and the kinds of values it can take: how they are read, checked and
// written.
//
//   Whole<Draft>("quorum", FIELD(config.federation.membership.quorum), {1, 1000}, "The least ...")
//
// A kind is a function that makes a Key of a name, a field, its range and one sentence. `field` is
// called with a Target and gives the T, or the optional<T>, that the value goes to.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "metis/config/document.h"
#include "metis/config/suggest.h"
#include "metis/core/text.h"

namespace metis::config {

inline constexpr std::string_view kNone = "none";        // an optional key without a value
inline constexpr std::string_view kForever = "forever";  // the duration that never ends

template <typename Target>
struct Key {
  std::string_view name;
  std::string documentation;
  std::string type;           // "whole number, between 1 and 10"
  std::string default_words;  // in place of the default's value
  bool optional = false;      // takes "none"
  bool suggested = false;     // stands in the template uncommented
  std::function<Result<void>(const Value&, Target&)> read;
  std::function<void(Target&)> reset;                              // of an optional field
  std::function<std::optional<std::string>(const Target&)> write;  // as TOML; nothing if unset

  Result<void> Read(const Value& value, Target& target) const {
    if (optional && value.text() && *value.text() == kNone) {
      reset(target);
      return {};
    }
    return read(value, target);
  }
  std::string Write(const Target& target) const { return write(target).value_or(Quoted(kNone)); }

  // Whether the value can be missing, with "none" to say so.
  Key OrNone() && {
    optional = true;
    type += ", or \"none\"";
    return std::move(*this);
  }
  Key DefaultsTo(std::string words) && {
    default_words = std::move(words);
    return std::move(*this);
  }
  Key Suggested() && {
    suggested = true;
    return std::move(*this);
  }
};

namespace key_internal {

template <typename T>
struct Plain {
  using type = T;
};
template <typename T>
struct Plain<std::optional<T>> {
  using type = T;
};

// Ties a kind to a field: `parse` makes a T of a Value, `format` writes a T as TOML.
template <typename Target, typename Field, typename Parse, typename Format>
Key<Target> Make(std::string_view name, Field field, std::string type,
                 std::string_view documentation, Parse parse, Format format) {
  using Slot = std::remove_cvref_t<decltype(field(std::declval<Target&>()))>;
  using T = typename Plain<Slot>::type;
  Key<Target> key;
  key.name = name;
  key.documentation = documentation;
  key.type = std::move(type);
  key.read = [field, parse](const Value& value, Target& target) -> Result<void> {
    Result<T> parsed = parse(value);
    if (!parsed) return parsed.error();
    field(target) = std::move(parsed).value();
    return {};
  };
  key.write = [field, format](const Target& target) -> std::optional<std::string> {
    if constexpr (std::is_same_v<Slot, T>) {
      return format(field(target));
    } else {
      if (!field(target)) return std::nullopt;
      return format(*field(target));
    }
  };
  if constexpr (!std::is_same_v<Slot, T>)
    key.reset = [field](Target& target) { field(target).reset(); };
  return key;
}

template <typename Target, typename Field>
using FieldType = typename Plain<
    std::remove_cvref_t<decltype(std::declval<Field>()(std::declval<Target&>()))>>::type;

}  // namespace key_internal

// The values a key takes; without a bound of its own, `max` is the greatest T there is.
template <typename T>
struct Range {
  T min = {};
  T max = std::numeric_limits<T>::max();
  bool above = false;  // min itself is outside
  bool below = false;  // max itself is outside

  bool Holds(const T& value) const {
    return (above ? value > min : value >= min) && (below ? value < max : value <= max);
  }
  std::string Words(bool bounded) const {
    if (bounded && !above && !below) return Text("between ", min, " and ", max);
    std::string words = Text(above ? "above " : "at least ", min);
    if (bounded) words += Text(" and ", below ? "below " : "at most ", max);
    return words;
  }
};

template <typename Target, typename Field>
Key<Target> Whole(std::string_view name, Field field, Range<int64_t> range,
                  std::string_view documentation) {
  using T = key_internal::FieldType<Target, Field>;
  std::string words = range.Words(range.max != std::numeric_limits<int64_t>::max());
  return key_internal::Make<Target>(
      name, field, "whole number, " + words, documentation,
      [range, words](const Value& value) -> Result<T> {
        const auto* whole = std::get_if<int64_t>(&value.data);
        if (!whole) return Invalid(Text("expected a whole number, ", words));
        if (!range.Holds(*whole)) return Invalid(Text("must be ", words));
        return static_cast<T>(*whole);
      },
      [](const T& number) { return Text(number); });
}

template <typename Target, typename Field>
Key<Target> Number(std::string_view name, Field field, Range<double> range,
                   std::string_view documentation) {
  std::string words = range.Words(range.max != std::numeric_limits<double>::max());
  return key_internal::Make<Target>(
      name, field, "number, " + words, documentation,
      [range, words](const Value& value) -> Result<double> {
        double number = 0;
        if (const auto* whole = std::get_if<int64_t>(&value.data)) {
          number = static_cast<double>(*whole);
        } else if (const auto* floating = std::get_if<double>(&value.data)) {
          number = *floating;
        } else {
          return Invalid(Text("expected a number, ", words));
        }
        if (!std::isfinite(number)) return Invalid(Text("must be a finite number, ", words));
        if (!range.Holds(number)) return Invalid(Text("must be ", words));
        return number;
      },
      [](double number) { return Text(number); });
}

template <typename Target, typename Field>
Key<Target> Flag(std::string_view name, Field field, std::string_view documentation) {
  return key_internal::Make<Target>(
      name, field, "true or false", documentation,
      [](const Value& value) -> Result<bool> {
        const auto* flag = std::get_if<bool>(&value.data);
        if (!flag) return Invalid("expected true or false");
        return *flag;
      },
      [](bool flag) { return Text(flag); });
}

// A range that reaches to Duration::Forever() takes the word "forever", too.
template <typename Target, typename Field>
Key<Target> Time(std::string_view name, Field field, Range<Duration> range,
                 std::string_view documentation) {
  bool unbounded = range.max == Duration::Forever();
  std::string words = range.Words(!unbounded);
  return key_internal::Make<Target>(
      name, field, Text("duration, ", words, unbounded ? ", or \"forever\"" : ""), documentation,
      [range, words, unbounded](const Value& value) -> Result<Duration> {
        const std::string* text = value.text();
        if (!text) return Invalid("expected a duration with its unit, e.g. \"90s\"");
        if (unbounded && *text == kForever) return Duration::Forever();
        Result<Duration> duration = ParseDuration(*text);
        if (duration && !range.Holds(*duration)) return Invalid(Text("must be ", words));
        return duration;
      },
      [](Duration duration) {
        return Quoted(duration == Duration::Forever() ? kForever : FormatDuration(duration));
      });
}

template <typename T>
using Words = std::vector<std::pair<std::string_view, T>>;

// One word of a list, each of which means a T.
template <typename Target, typename Field, typename T>
Key<Target> Word(std::string_view name, Field field, Words<T> words,
                 std::string_view documentation) {
  std::vector<std::string> known, quoted;
  for (const auto& [word, meaning] : words) {
    known.emplace_back(word);
    quoted.push_back(Quoted(word));
  }
  std::string list = "one of " + Join(quoted);
  return key_internal::Make<Target>(
      name, field, list, documentation,
      [words, known, list](const Value& value) -> Result<T> {
        if (!value.text()) return Invalid("must be " + list);
        for (const auto& [word, meaning] : words) {
          if (word == *value.text()) return meaning;
        }
        return Invalid(Text("must be ", list, DidYouMean("; ", *value.text(), known)));
      },
      [words](const T& value) {
        for (const auto& [word, meaning] : words) {
          if (meaning == value) return Quoted(word);
        }
        METIS_CHECK_MSG(false, "a value without a word");
      });
}

// Text with a grammar of its own: `parse(text, field)` reads it in place, `format(field)` writes
// it.
template <typename Target, typename Field, typename Parse, typename Format>
Key<Target> Phrase(std::string_view name, Field field, std::string type, Parse parse, Format format,
                   std::string_view documentation) {
  Key<Target> key;
  key.name = name;
  key.documentation = documentation;
  key.type = std::move(type);
  key.read = [field, parse](const Value& value, Target& target) -> Result<void> {
    if (!value.text()) return Invalid("expected a text in quotes");
    return parse(*value.text(), field(target));
  };
  key.write = [field, format](const Target& target) { return Quoted(format(field(target))); };
  return key;
}

}  // namespace metis::config
