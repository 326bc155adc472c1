#include "metis/report/training_figures.h"

#include <cmath>
#include <filesystem>
#include <optional>

#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/report/record_lines.h"
#include "metis/report/run_files.h"

namespace metis::report {

namespace fs = std::filesystem;

namespace {

double NumberOf(const Json& json) {
  return json.is_number() ? json.get<double>() : std::nan("");  // "nan", "inf": it diverged
}

// Throws what nlohmann's at() and get() throw.
TestFigures TestOf(const Json& line, double time_s) {
  const Json& test = line.at("test");
  return {.t_s = time_s,
          .accuracy = test.at("accuracy").get<double>(),
          .loss = NumberOf(test.at("loss"))};
}

Result<void> ReadEpochs(const fs::path& path, RunFigures& run) {
  Result<RecordLines> lines = RecordLines::Open(path);
  if (!lines) return lines.error();
  for (;;) {
    Result<const std::string*> text = lines->Next();
    if (!text) return text.error();
    if (*text == nullptr) return {};
    try {
      const Json line = Json::parse(**text);
      run.length_s += line.at("seconds").get<double>();
      run.tests.push_back(TestOf(line, run.length_s));
    } catch (const Json::exception& wrong) {
      return lines->Here(Invalid(Text("no line of an epoch: ", wrong.what())));
    }
  }
}

}  // namespace

Result<uint64_t> TakeSeed(FlatSettings& settings, const std::string& key,
                          const std::string& config) {
  const std::string text = settings[key];
  settings.erase(key);
  const std::optional<uint64_t> seed = ParseNumber<uint64_t>(text);
  if (!seed) {
    return Invalid(Text(config, ": ", key, " = \"", text,
                        "\" is no seed: a run directory holds the resolved configuration"));
  }
  return *seed;
}

Result<RunFigures> ReadTrainingFigures(const std::string& directory, FlatSettings settings) {
  const fs::path root(directory);
  RunFigures run;
  run.directory = directory;
  run.policy = "centralised";
  run.measured_time = true;
  Result<uint64_t> seed = TakeSeed(settings, "train.seed", (root / kConfigFile).string());
  if (!seed) return seed.error();
  run.seed = *seed;
  run.settings = std::move(settings);
  if (Result<void> read = ReadEpochs(root / kEpochsFile, run); !read) return read.error();
  if (run.tests.empty()) {
    return Invalid(
        Text(directory,
             " is a training (`metis train`) that ended before its first epoch: there is "
             "no test to show"));
  }
  std::error_code error;
  if (!fs::exists(root / kSummaryFile, error)) return run;
  Result<Json> summary = ReadRunJson(root / kSummaryFile);
  if (!summary) return summary.error();
  const auto complete = summary->find("complete");
  const auto stopped_by = summary->find("stopped_by");
  if (complete == summary->end() || !complete->is_boolean() || stopped_by == summary->end() ||
      !stopped_by->is_string()) {
    return Invalid(Text((root / kSummaryFile).string(), " is not what a training writes"));
  }
  run.complete = complete->get<bool>();
  run.stopped_by = stopped_by->get<std::string>();
  return run;
}

}  // namespace metis::report
