// The facts that `metis doctor` judges, gathered from this machine and the network. Nothing is
// changed by it; only a port is bound for a moment. Waits for the network at most `patience_s` at
// each step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "apps/doctor/facts.h"
#include "metis/data/load_data.h"
#include "metis/rpc/credentials.h"

namespace metis::apps::doctor {

RunFacts GatherRun(const std::string& directory);
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
DataFacts GatherData(const data::DataSource& source,
                     const std::map<std::string, std::string>& model);

}  // namespace metis::apps::doctor
