// Data sets as text: one example a line, numbers between commas, one column the class
// (docs/datasets.md). Plain or gzipped. Errors name the line and the column.
#pragma once

#include <cstdint>
#include <string>

#include "metis/core/result.h"
#include "metis/data/dataset.h"

namespace metis::data {

struct CsvOptions {
  std::string name = {};          // default: the path
  std::string label_column = {};  // by name, needs a header; empty: the last column
  uint32_t classes = 0;           // 0: one more than the largest label
};

// The first line is a header if one of its fields is not a number. Labels are whole numbers from 0,
// all other columns features. Fields may stand in double quotes; empty lines are passed over.
// Memory: the features and one line of text.
Result<Dataset> ReadCsv(const std::string& path, const CsvOptions& options = {});

}  // namespace metis::data
