// How many examples of each class each learner is to get, as a table in a CSV file: one line a
// learner, one column a class, each cell a whole number of examples (docs/datasets.md). Plain or
// gzipped. Pure functions beside the file that is read: any thread may call them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/result.h"

namespace metis::data {

class Dataset;

struct ClassTable {
  std::string file;                           // for messages, too
  std::vector<std::string> titles;            // of the classes' columns; empty: no header
  std::vector<std::vector<uint64_t>> counts;  // of learner k, class c; empty: not read yet
  size_t first_column = 0;                    // of the counts: 1 after a column of learners

  friend bool operator==(const ClassTable&, const ClassTable&) = default;
};

// The first line is a header if its first field is "learner" or one of its fields is not a number;
// if the first is "learner", that column names the learners and is passed over. All other lines are
// learners, in this order. Empty lines are passed over. Fails on lines of unequal length, a cell
// that is not a whole number from 0 to 2^32-1, and a learner without examples, naming the place.
Result<ClassTable> ReadClassTable(const std::string& file);

// Whether each title of the header is the name or the number of the class at its place. A table
// without a header fits always.
Result<void> CheckTitles(const ClassTable& table, const Dataset& set);

// A table that ReadClassTable() reads back: a header of these titles, or of numbers if there are
// none, then learners numbered from 0. Quotes in titles become apostrophes.
std::string FormatClassTable(const std::vector<std::string>& titles,
                             std::span<const std::vector<uint64_t>> counts);

}  // namespace metis::data
