// `metis experiment list`, `run TABLE` and `table TABLE`: what they do once the command line is
// read. Each returns the exit code.
#pragma once

#include <cstdint>
#include <string>

#include "apps/experiment/scale.h"
#include "apps/experiment/table_spec.h"
#include "metis/core/result.h"

namespace metis::apps {

enum class TableForm { kText, kJson, kMarkdown, kCsv };

struct ExperimentOptions {
  std::string experiments;  // empty: ./experiments, or those that were installed
  std::string table;
  std::string rows;
  std::string columns;
  Scale scale;
  uint32_t seeds = 1;
  uint32_t jobs = 1;
  uint32_t threads = 0;  // of each run; 0: cores / jobs
  std::string out = "runs/experiments";
  std::string data_directory;  // passed on, unless empty
  bool dry_run = false;
  TableForm form = TableForm::kText;
};

// The directory of the tables.
std::string ExperimentsDirectory(const ExperimentOptions& options);

int ListTables(const ExperimentOptions& options);
int RunTable(const ExperimentOptions& options);
int ShowTable(const ExperimentOptions& options);

}  // namespace metis::apps
