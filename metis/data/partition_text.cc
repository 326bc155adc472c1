// The words in which a partition is asked for.
#include <optional>

#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/data/partition.h"

namespace metis::data {
namespace {

constexpr std::string_view kSizesAllowed =
    "write \"uniform\", \"skewed\", \"powerlaw\" or \"powerlaw:1.2\" (an exponent above 0, up to "
    "100)";
constexpr std::string_view kClassesAllowed =
    "write \"iid\", \"noniid:3\" (3 classes each), \"noniid:8x1,4x1,3x8\" (8 classes for one "
    "learner, 4 for "
    "the next, 3 for eight), \"dirichlet:0.5\" (alpha from 0.001 to 1000000), "
    "\"table:counts.csv\" (a line a learner, a column a class) or \"writers\" (whole writers)";

Error Bad(std::string_view what, std::string_view text, std::string_view why,
          std::string_view allowed) {
  return Invalid(Text(what, " \"", text, "\": ", why, "; ", allowed));
}

Error Unknown(std::string_view what, std::string_view text, std::string_view word,
              const std::vector<std::string>& words, std::string_view allowed) {
  std::string near = Nearest(word, words);
  std::string why = near.empty()
                        ? Text("\"", word, "\" is not known")
                        : Text("\"", word, "\" is not known, did you mean \"", near, "\"?");
  return Bad(what, text, why, allowed);
}

// "8x1" or, for all remaining learners, "8".
std::optional<ClassRun> ParseRun(std::string_view text) {
  size_t cross = text.find('x');
  std::optional<uint32_t> classes = ParseNumber<uint32_t>(text.substr(0, cross));
  if (!classes || *classes == 0) return std::nullopt;
  if (cross == std::string_view::npos) return ClassRun{*classes, 0};
  std::optional<uint32_t> learners = ParseNumber<uint32_t>(text.substr(cross + 1));
  if (!learners || *learners == 0) return std::nullopt;
  return ClassRun{*classes, *learners};
}

Result<std::vector<ClassRun>> ParseRuns(std::string_view text, std::string_view list) {
  std::vector<ClassRun> runs;
  for (bool more = true; more;) {
    size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
    std::optional<ClassRun> run = ParseRun(item);
    if (!run) {
      return Bad("classes", text, Text("\"", item, "\" is no number of classes (at least 1)"),
                 kClassesAllowed);
    }
    if (run->learners == 0 && more) {
      return Bad("classes", text,
                 Text("only the last of a list may stand for all remaining learners, \"", item,
                      "\" lacks its number of learners (\"", item, "x1\")"),
                 kClassesAllowed);
    }
    runs.push_back(*run);
  }
  return runs;
}

}  // namespace

Result<void> ParseSizes(std::string_view text, PartitionSettings& settings) {
  size_t colon = text.find(':');
  std::string_view word = text.substr(0, colon);
  bool has_value = colon != std::string_view::npos;
  if (word == "powerlaw") {
    double exponent = PartitionSettings().powerlaw_exponent;
    if (has_value) {
      std::optional<double> number = ParseNumber<double>(text.substr(colon + 1));
      if (!number || !ValidPowerLawExponent(*number)) {
        return Bad("sizes", text, Text("\"", text.substr(colon + 1), "\" is no such exponent"),
                   kSizesAllowed);
      }
      exponent = *number;
    }
    settings.sizes = SizeDistribution::kPowerLaw;
    settings.powerlaw_exponent = exponent;
    return {};
  }
  if (word != "uniform" && word != "skewed") {
    return Unknown("sizes", text, word, {"uniform", "skewed", "powerlaw"}, kSizesAllowed);
  }
  if (has_value) return Bad("sizes", text, Text(word, " takes no value"), kSizesAllowed);
  settings.sizes = word == "uniform" ? SizeDistribution::kUniform : SizeDistribution::kSkewed;
  return {};
}

Result<void> ParseClasses(std::string_view text, PartitionSettings& settings) {
  size_t colon = text.find(':');
  std::string_view word = text.substr(0, colon);
  bool has_value = colon != std::string_view::npos;
  std::string_view value = has_value ? text.substr(colon + 1) : std::string_view();
  if (word == "iid" || word == "writers") {
    if (has_value) return Bad("classes", text, Text(word, " takes no value"), kClassesAllowed);
    settings.classes = word == "iid" ? ClassDistribution::kIid : ClassDistribution::kWriters;
    return {};
  }
  if (word == "noniid") {
    if (!has_value) {
      return Bad("classes", text, "noniid needs a number of classes", kClassesAllowed);
    }
    Result<std::vector<ClassRun>> runs = ParseRuns(text, value);
    if (!runs) return runs.error();
    settings.classes = ClassDistribution::kNonIid;
    settings.class_runs = *std::move(runs);
    return {};
  }
  if (word == "dirichlet") {
    std::optional<double> alpha = ParseNumber<double>(value);
    if (!alpha || !ValidDirichletAlpha(*alpha)) {
      return Bad("classes", text, Text("\"", value, "\" is no such alpha"), kClassesAllowed);
    }
    settings.classes = ClassDistribution::kDirichlet;
    settings.dirichlet_alpha = *alpha;
    return {};
  }
  if (word == "table") {
    if (value.empty()) return Bad("classes", text, "table needs a file", kClassesAllowed);
    settings.classes = ClassDistribution::kTable;
    settings.table = {.file = std::string(value), .titles = {}, .counts = {}};
    return {};
  }
  return Unknown("classes", text, word, {"iid", "noniid", "dirichlet", "table", "writers"},
                 kClassesAllowed);
}

std::string FormatSizes(const PartitionSettings& settings) {
  switch (settings.sizes) {
    case SizeDistribution::kUniform:
      return "uniform";
    case SizeDistribution::kSkewed:
      return "skewed";
    case SizeDistribution::kPowerLaw:
      return Text("powerlaw:", settings.powerlaw_exponent);
  }
  METIS_CHECK(false);
}

std::string FormatClasses(const PartitionSettings& settings) {
  switch (settings.classes) {
    case ClassDistribution::kIid:
      return "iid";
    case ClassDistribution::kNonIid: {
      std::vector<std::string> runs;
      for (const ClassRun& run : settings.class_runs) {
        runs.push_back(run.learners == 0 ? Text(run.classes)
                                         : Text(run.classes, "x", run.learners));
      }
      return Text("noniid:", Join(runs, ","));
    }
    case ClassDistribution::kDirichlet:
      return Text("dirichlet:", settings.dirichlet_alpha);
    case ClassDistribution::kTable:
      return Text("table:", settings.table.file);
    case ClassDistribution::kWriters:
      return "writers";
  }
  METIS_CHECK(false);
}

Result<void> ReadTable(PartitionSettings& settings) {
  if (settings.classes != ClassDistribution::kTable) return {};
  Result<ClassTable> table = ReadClassTable(settings.table.file);
  if (!table) return table.error();
  settings.table = *std::move(table);
  return {};
}

}  // namespace metis::data
