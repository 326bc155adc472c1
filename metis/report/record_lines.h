// The lines of a record (docs/run-directory.md), each a JSON object: what all readers of one share.
// One thread; memory for one line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/report/run_files.h"

namespace metis::report {

class RecordLines {
 public:
  // kNotFound if the file cannot be opened.
  static Result<RecordLines> Open(const std::filesystem::path& path);

  // The next line without its end, valid until the next call; null at the end. What follows the
  // last end of line is not a line: see torn(). kUnavailable if the file cannot be read on.
  Result<const std::string*> Next();
  // Whether the file ended within a line: the run was cut off while it wrote that.
  bool torn() const { return torn_; }
  // Of the latest line, from 1; 0 before the first.
  uint64_t number() const { return number_; }
  // The same error, said to have happened in the latest line: "runs/7/events.jsonl:12: message".
  Error Here(const Error& error) const;

 private:
  explicit RecordLines(std::filesystem::path path);

  std::filesystem::path path_;
  std::ifstream file_;
  std::string text_;
  uint64_t number_ = 0;
  bool torn_ = false;
};

// A line of events.jsonl and its time.
struct TimedLine {
  Instant time;
  Json json;  // an object
};
Result<TimedLine> ParseTimedLine(const std::string& text);

}  // namespace metis::report
