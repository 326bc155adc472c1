#include "apps/run_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>

#include "apps/cli.h"
#include "metis/config/document.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

std::string TextOf(const config::Value& value) {
  return value.text() != nullptr ? *value.text() : value.written;
}

// "group.fast" of a [[group]] with that name, "group.2" of one without.
std::string PrefixOf(const config::DocumentSection& section, size_t number) {
  if (!section.repeated) return section.name;
  for (const config::Entry& entry : section.entries) {
    if (entry.key == "name") return Text(section.name, ".", TextOf(entry.value));
  }
  return Text(section.name, ".", number);
}

}  // namespace

void AddRunArguments(CLI::App& app, RunArguments& arguments) {
  app.add_option("RUN", arguments.places,
                 "Run directories, or directories that hold some, such as runs/demo")
      ->required();
  app.add_option("--target", arguments.targets,
                 "An accuracy, such as 0.8: the time until a test first reaches it is shown; up to "
                 "three; default: chosen from the runs")
      ->check(NumberWithin(0, 1))
      ->allow_extra_args(false);
}

Result<report::Figures> GatherFigures(const RunArguments& arguments) {
  std::vector<double> targets = arguments.targets;
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  if (targets.size() > report::kMaxTargets) {
    return Invalid(Text("--target is given ", targets.size(), " times: at most ",
                        report::kMaxTargets, " accuracies have room"));
  }
  Result<report::Figures> figures =
      report::GatherFigures(arguments.places, std::move(targets), FlattenSettings);
  if (!figures) return figures.error();
  for (const std::string& notice : figures->notices) std::cerr << "metis: " << notice << "\n";
  return figures;
}

Result<report::FlatSettings> FlattenSettings(const std::string& text,
                                             const std::string& source_name) {
  Result<config::Document> document = config::ParseDocument(text, source_name);
  if (!document) return document.error();
  report::FlatSettings flat;
  for (const config::Entry& entry : document->loose) flat[entry.key] = TextOf(entry.value);
  std::map<std::string, size_t> numbers;
  for (const config::DocumentSection& section : document->sections) {
    const std::string prefix = PrefixOf(section, ++numbers[section.name]);
    for (const config::Entry& entry : section.entries) {
      const bool is_prefix = section.repeated && entry.key == "name";
      if (!is_prefix) flat[Text(prefix, ".", entry.key)] = TextOf(entry.value);
    }
  }
  return flat;
}

}  // namespace metis::apps
