#include "metis/simulation/simulation_task.h"

#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "metis/builtin/workload.h"
#include "metis/core/display.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/data/source.h"
#include "metis/federation/settings.h"
#include "metis/machine/memory.h"
#include "metis/simulation/run_forecast.h"
#include "metis/task/model_facts.h"
#include "metis/task/torch_workload.h"

namespace metis::simulation {
namespace {

Error ForRealData(std::string_view key, std::string_view value, std::string_view instead = {}) {
  return Invalid(Text(key, " = ", value, " is for real data, and data.dataset is \"",
                      data::kBuiltinData, "\": name a data set (--dataset fashion-mnist, or a ",
                      "file), or leave ", key, " out",
                      instead.empty() ? "" : Text("; of built-in data it is ", instead)));
}

Result<void> CheckBuiltin(const config::Config& config) {
  const data::SourceSettings& source = config.source;
  const learner::TrainingSettings& training = config.training;
  if (!source.faulty.empty()) {
    return ForRealData("data.faulty", data::FormatFaultyList(source.faulty));
  }
  if (source.examples) {
    return ForRealData("data.examples", Text(*source.examples), "builtin.training_examples");
  }
  if (source.test_examples) {
    return ForRealData("data.test_examples", Text(*source.test_examples), "builtin.test_examples");
  }
  if (training.model != task::kAutoModel) return ForRealData("training.model", training.model);
  if (training.augmentation) return ForRealData("training.augmentation", "true");
  return {};
}

Error TooLarge(const config::Config& config, const std::optional<uint64_t>& free) {
  const builtin::BuiltinData& data = config.simulation.builtin;
  const uint32_t learners = config.federation.membership.learners;
  return Invalid(
      Text("builtin.features = ", data.features, ", builtin.training_examples = ",
           data.training_examples, ", builtin.test_examples = ", data.test_examples,
           " and builtin.classes = ", data.classes, " at ", learners, " learners need at least ",
           FormatBytes(BuiltinBytes(data, learners)), " of memory, ",
           free ? Text(FormatBytes(*free), " are free") : "more than this process can have",
           ": choose fewer features or examples"));
}

Result<Task> DealBuiltin(const config::Config& config) {
  auto made = builtin::BuiltinWorkload::Create(
      config.simulation.builtin, config.data, config.training,
      config.federation.membership.learners,
      federation::NeedsValidationSet(config.federation.policy), config.simulation.seed);
  if (!made) return made.error();
  return Task{*std::move(made), {}, {}};
}

Result<Task> MakeBuiltinTask(const config::Config& config) {
  if (Result<void> fits = CheckBuiltin(config); !fits) return fits.error();
  // Before they are made: a kernel that promises more than it has would kill the process later.
  std::optional<uint64_t> free;
  if (const auto memory = machine::ReadMemory()) free = memory->free_at_most;
  const uint64_t needed =
      BuiltinBytes(config.simulation.builtin, config.federation.membership.learners);
  if (free && needed > *free) return TooLarge(config, free);
  try {
    return DealBuiltin(config);
  } catch (const std::bad_alloc&) {  // the process may have less than the machine: ulimit -v
    return TooLarge(config, std::nullopt);
  } catch (const std::length_error&) {
    return TooLarge(config, std::nullopt);
  }
}

Result<Task> MakeRealTask(const config::Config& config, const std::string& data_directory) {
  Result<std::unique_ptr<task::TorchWorkload>> made =
      task::TorchWorkload::Create(config, data_directory);
  if (!made) return made.error();
  const task::DataFingerprints& data = (*made)->data();
  report::Json read{{"training", Hex(data.training)}, {"test", Hex(data.test)}};
  store::ModelFacts facts = task::FactsOf((*made)->architecture().settings(), std::nullopt);
  return Task{*std::move(made), std::move(facts), std::move(read)};
}

}  // namespace

Result<Task> MakeTask(const config::Config& config, const std::string& data_directory) {
  const bool builtin = config.source.dataset == data::kBuiltinData;
  Result<Task> task = builtin ? MakeBuiltinTask(config) : MakeRealTask(config, data_directory);
  if (!task) return task;
  task->facts["dataset"] = config.source.dataset;
  // Of data.classes = "table:FILE", which is read again at every start.
  const auto& table = config.data.table.counts;
  if (!table.empty()) task->read["table"] = Hex(Fingerprint(report::Json(table).dump()));
  return task;
}

}  // namespace metis::simulation
