// `metis experiment list`, `show`, `run` and `table`: what they do once the command line is read.
// Each returns the exit code.
#pragma once

#include <cstdint>
#include <string>

#include "metis/experiment/scale.h"

namespace metis::apps {

enum class TableForm { kText, kJson, kMarkdown, kCsv };

struct ExperimentOptions {
  std::string experiments;  // empty: ./experiments, or those that were installed
  std::string table;
  std::string rows;     // of `show` the one
  std::string columns;  // the same
  experiment::Scale scale;
  uint32_t seeds = 1;
  uint32_t jobs = 1;
  uint32_t threads = 0;  // of each run; 0: cores / jobs
  std::string out = "runs/experiments";
  std::string data_directory;  // passed on, unless empty
  bool dry_run = false;
  TableForm form = TableForm::kText;
};

struct CacheOptions {
  std::string models = "resnet-cifar:20,resnet-cifar:56,resnet-cifar:110";
  std::string learners = "10,50,100,250,500,1000";
  uint32_t repetitions = 5;
  std::string out = "runs/experiments";  // the figure goes to OUT/cache
  bool dry_run = false;
};

int ListTables(const ExperimentOptions& options);
// The configuration of the cell that `rows` and `columns` name.
int ShowCell(const ExperimentOptions& options);
int RunTable(const ExperimentOptions& options);
int ShowTable(const ExperimentOptions& options);
int RunCacheFigure(const CacheOptions& options);

}  // namespace metis::apps
