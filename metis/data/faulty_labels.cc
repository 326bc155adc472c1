#include "metis/data/faulty_labels.h"

#include <optional>
#include <set>

#include "metis/core/check.h"
#include "metis/core/number.h"
#include "metis/core/random.h"
#include "metis/core/text.h"

namespace metis::data {
namespace {

constexpr std::string_view kAllowed =
    "write \"1:labels=random\", \"1:labels=noise:0.3\" (a probability above 0, up to 1), "
    "\"1:labels=constant:0\" (a class) or \"1:labels=swap:3-5\" (two classes), with the learner's "
    "number, from 0, for 1";

Error Bad(std::string_view text, std::string_view why) {
  return Invalid(Text("faulty labels \"", text, "\": ", why, "; ", kAllowed));
}

Result<FaultyLabels> ParseFault(std::string_view text, uint32_t learner, std::string_view fault) {
  const size_t colon = fault.find(':');
  const std::string_view word = fault.substr(0, colon);
  const bool has_value = colon != std::string_view::npos;
  const std::string_view value = has_value ? fault.substr(colon + 1) : std::string_view();
  FaultyLabels faulty{.learner = learner};
  if (word == "random") {
    if (has_value) return Bad(text, "random takes no value");
    return faulty;
  }
  if (word == "noise") {
    const std::optional<double> rate = ParseNumber<double>(value);
    if (!rate || !(*rate > 0 && *rate <= 1)) {
      return Bad(text, Text("\"", value, "\" is no such probability"));
    }
    faulty.fault = LabelFault::kNoise;
    faulty.rate = *rate;
    return faulty;
  }
  if (word == "constant") {
    const std::optional<uint32_t> cls = ParseNumber<uint32_t>(value);
    if (!cls) return Bad(text, Text("\"", value, "\" is no class"));
    faulty.fault = LabelFault::kConstant;
    faulty.first = *cls;
    return faulty;
  }
  if (word == "swap") {
    const size_t dash = std::min(value.find('-'), value.size());
    const std::optional<uint32_t> first = ParseNumber<uint32_t>(value.substr(0, dash));
    const std::optional<uint32_t> second =
        ParseNumber<uint32_t>(value.substr(std::min(dash + 1, value.size())));
    if (!first || !second || *first == *second) {
      return Bad(text, Text("\"", value, "\" are no two classes"));
    }
    faulty.fault = LabelFault::kSwap;
    faulty.first = *first;
    faulty.second = *second;
    return faulty;
  }
  const std::string near =
      Nearest(word, std::vector<std::string>{"random", "noise", "constant", "swap"});
  return Bad(text, Text("\"", word, "\" is not known",
                        near.empty() ? "" : Text(", did you mean \"", near, "\"?")));
}

uint32_t Spoiled(const FaultyLabels& faulty, uint32_t label, uint32_t classes, Random random) {
  switch (faulty.fault) {
    case LabelFault::kNoise: {
      if (!random.Chance(faulty.rate)) return label;
      const auto other = static_cast<uint32_t>(random.Below(classes - 1));
      return other < label ? other : other + 1;
    }
    case LabelFault::kRandom:
      return static_cast<uint32_t>(random.Below(classes));
    case LabelFault::kConstant:
      return faulty.first;
    case LabelFault::kSwap:
      return label == faulty.first ? faulty.second : label == faulty.second ? faulty.first : label;
  }
  METIS_CHECK(false);
}

}  // namespace

Result<FaultyLabels> ParseFaultyLabels(std::string_view text) {
  constexpr std::string_view kWhat = "labels=";
  const size_t colon = text.find(':');
  const std::optional<uint32_t> learner = ParseNumber<uint32_t>(text.substr(0, colon));
  if (!learner || colon == std::string_view::npos) {
    return Bad(text, Text("\"", text.substr(0, colon), "\" is no learner's number"));
  }
  std::string_view fault = text.substr(colon + 1);
  if (!fault.starts_with(kWhat)) return Bad(text, "only labels can be faulty");
  return ParseFault(text, *learner, fault.substr(kWhat.size()));
}

std::string FormatFaultyLabels(const FaultyLabels& faulty) {
  const std::string begin = Text(faulty.learner, ":labels=");
  switch (faulty.fault) {
    case LabelFault::kNoise:
      return Text(begin, "noise:", faulty.rate);
    case LabelFault::kRandom:
      return begin + "random";
    case LabelFault::kConstant:
      return Text(begin, "constant:", faulty.first);
    case LabelFault::kSwap:
      return Text(begin, "swap:", faulty.first, "-", faulty.second);
  }
  METIS_CHECK(false);
}

Result<void> CheckFaultyLabels(std::span<const FaultyLabels> faulty, uint32_t learners,
                               uint32_t classes) {
  std::set<uint32_t> seen;
  for (const FaultyLabels& one : faulty) {
    auto bad = [&](std::string_view why) {
      return Invalid(Text("faulty labels \"", FormatFaultyLabels(one), "\": ", why));
    };
    if (one.learner >= learners) {
      return bad(Text("there are ", learners, " learners, 0 to ", learners - 1));
    }
    if (!seen.insert(one.learner).second) {
      return bad(Text("learner ", one.learner, " has faulty labels already: one fault a learner"));
    }
    if (one.first >= classes || one.second >= classes) {
      return bad(Text("there are ", classes, " classes, 0 to ", classes - 1));
    }
    if (one.fault == LabelFault::kNoise && classes < 2) {
      return bad("with one class there is no other that a label could become");
    }
  }
  return {};
}

uint64_t SpoilLabels(const FaultyLabels& faulty, std::span<const uint32_t> examples,
                     uint32_t classes, uint64_t seed, std::span<uint32_t> labels) {
  uint64_t changed = 0;
  for (uint32_t example : examples) {
    Random random({.seed = seed,
                   .learner = faulty.learner,
                   .cycle = example,
                   .purpose = Purpose::kFaultyLabels});
    const uint32_t label = Spoiled(faulty, labels[example], classes, random);
    changed += label != labels[example] ? 1 : 0;
    labels[example] = label;
  }
  return changed;
}

}  // namespace metis::data
