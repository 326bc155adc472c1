// Runs of a table as child processes, a few at once. A failure does not stop the others. Ctrl-C,
// SIGTERM or a closed terminal are passed on to the children, which end cleanly where they are, and
// nothing more is begun; asked once more, the children are killed. One thread; blocks those signals
// while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace metis::experiment {

struct Job {
  std::string name;
  std::vector<std::string> arguments;  // of the program
  std::string log;
};

struct JobEnd {
  bool begun = false;   // false: interrupted before its turn, or it could not be started
  std::string failure;  // empty: it did what it should
  double wall_s = 0;
};

struct JobsSettings {
  std::string program;
  uint32_t at_once = 1;
  // Called a few times a second, and after every start and end.
  std::function<void(size_t ended, size_t running)> progress = nullptr;
  std::function<void(size_t job, const JobEnd& end)> ended = nullptr;
};

struct JobsOutcome {
  std::vector<JobEnd> ends;  // one for each job
  bool interrupted = false;
};

JobsOutcome RunJobs(const std::vector<Job>& jobs, const JobsSettings& settings);

}  // namespace metis::experiment
