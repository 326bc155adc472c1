// Where a simulation may write: one process in a directory at a time, and never over what `metis
// controller` keeps of a federation. Looks at a few files with every call.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "metis/core/result.h"
#include "metis/store/posix_file.h"

namespace metis::simulation {

// Refuses a directory that holds a federation over the network (docs/run-directory.md): its record
// looks like that of a simulation, but what it recorded cannot be made again.
Result<void> RefuseFederation(const std::string& directory);

// Whether a simulation may begin there, `replace` set if in place of another. Changes nothing.
Result<void> CheckSimulationDirectory(const std::string& directory, bool replace);

// Whether several simulations may begin below the directory, one for each policy. Refuses one that
// is itself a run or a federation: who looks for runs there (`metis compare`) looks no further.
// Changes nothing.
Result<void> CheckDirectoryOfRuns(const std::string& directory);

// Keeps every other process out of a directory, however this one ends. The file of the lock stays
// behind, empty unless the process was killed: directories of the same run are the same.
class DirectoryLock {
 public:
  // The directory exists. An error names the process that holds it.
  static Result<std::unique_ptr<DirectoryLock>> Take(const std::string& directory);
  ~DirectoryLock();

 private:
  DirectoryLock(std::string path, store::ProcessLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const store::ProcessLock lock_;
};

}  // namespace metis::simulation
