// What `metis compare` and `metis report` share: the runs and target accuracies on the command
// line, and how the configuration of a run becomes flat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"
#include "metis/report/figures.h"

namespace CLI {
class App;
}

namespace metis::apps {

struct RunArguments {
  std::vector<std::string> places;
  std::vector<double> targets;
};

// RUN... and --target.
void AddRunArguments(CLI::App& app, RunArguments& arguments);

// Complains of what was left out, run by run, on standard error. kInvalid, kNotFound: as
// report::GatherFigures() says.
Result<report::Figures> GatherFigures(const RunArguments& arguments);

// Every key of a TOML text as "section.key", of a [[group]] as "group.NAME.key"; values as text
// without quotes.
Result<report::FlatSettings> FlattenSettings(const std::string& text,
                                             const std::string& source_name);

}  // namespace metis::apps
