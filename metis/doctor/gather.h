// The facts that `metis doctor` judges, gathered from this machine, the disk and the network.
// Nothing is changed by it; only a port is bound for a moment. Waits for the network at most
// `patience_s` at each step. Free functions without state, except that GatherJoin() ignores SIGPIPE
// for the whole process while it shakes hands: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "metis/data/dataset.h"
#include "metis/doctor/facts.h"
#include "metis/rpc/credentials.h"

namespace metis::doctor {

// What a controller keeps in its run directory beside the record, by the names of those who write
// it.
struct ControllerFiles {
  std::string state;                // its event log
  std::string blobs;                // the directory of the log's models
  std::string address;              // where it listens, while it does
  std::vector<std::string> needed;  // further files without which it can't go on
  // Whether a controller ended in that directory before its federation had a name: a new one may
  // begin there.
  std::function<bool(const std::string& run)> never_named;
};
RunFacts GatherRun(const std::string& directory, const ControllerFiles& files);

FileLimitFacts GatherFileLimit(uint32_t connections);
// Of a directory that need not exist yet.
DiskFacts GatherDisk(const std::string& directory);
// `proc` and `cgroup` are where the system tells of itself.
MemoryFacts GatherMemory(const std::string& proc = "/proc",
                         const std::string& cgroup = "/sys/fs/cgroup");
bool HasTimeService();
ListenFacts GatherListen(const std::string& address);

Result<CertificateFacts> GatherCertificate(const rpc::TlsFiles& files, bool for_server);
AuthorityFacts GatherAuthority(const std::string& directory);
StateFacts GatherState(const std::string& directory);
// Where an authority keeps the controller's files, and a participant its own.
rpc::TlsFiles FilesOfAuthority(const std::string& directory);
rpc::TlsFiles FilesOfState(const std::string& directory);

// As whom, and believing whom: any of the files may be empty.
JoinFacts GatherJoin(const std::string& address, const rpc::TlsFiles& files, bool insecure,
                     double patience_s = 5);
ClockFacts GatherClock(const std::string& address, const rpc::TlsFiles& files, bool insecure,
                       double patience_s = 5);

// Of data that were read. `what` is the name of a known set, or of a file; a set with its own
// classes (not `coarse_labels`) is compared with what is recorded of it. `test` is null for a file.
DataFacts DescribeData(const std::string& what, const data::Dataset& train,
                       const data::Dataset* test, bool coarse_labels);

}  // namespace metis::doctor
