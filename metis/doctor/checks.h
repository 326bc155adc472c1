// The judgement of `metis doctor`: facts in, findings out. Pure functions, safe from any thread;
// `now_s` is the time in seconds of the calendar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "metis/doctor/facts.h"
#include "metis/doctor/finding.h"

namespace metis::doctor {

// What a controller will need, for a model of so many bytes.
struct Needs {
  uint64_t disk = 0;
  uint64_t memory = 0;
};
// `replayable`: the model of every update is kept.
Needs ForecastNeeds(const config::Config& config, uint64_t model_bytes, bool replayable);

Findings CheckConfig(const ConfigFacts& facts);
// `identity` is that of the settings and model that were named; none: those of the run.
Findings CheckRun(const RunFacts& facts, const std::optional<std::string>& identity,
                  const std::string& settings);
Findings CheckFileLimit(const FileLimitFacts& facts);
Findings CheckDisk(const DiskFacts& facts);
Findings CheckMemory(const MemoryFacts& facts);
Findings CheckTimeService(bool kept);
Findings CheckListen(const ListenFacts& facts, const RunFacts* run);

Findings CheckCertificate(const Result<CertificateFacts>& facts, int64_t now_s);
Findings CheckNoCertificates(const std::string& address);
Findings CheckAuthority(const AuthorityFacts& facts);
Findings CheckState(const StateFacts& facts);

Findings CheckJoin(const JoinFacts& facts, int64_t now_s);
Findings CheckClock(const ClockFacts& facts);
Findings CheckData(const DataFacts& facts);

// "2026-03-01 12:00 UTC"
std::string FormatMoment(int64_t seconds);

}  // namespace metis::doctor
