// For tests: run directories written by hand, the lines of a record with just the fields that the
// format asks for; and a disk that is full.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/report/run_figures.h"

namespace metis::report {

// A disk that is full, as far as this process is concerned: no file grows beyond `bytes`.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class HandmadeRuns : public FileTest {
 protected:
  std::string PathOf(const std::string& name) const { return (home_ / name).string(); }

  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((home_ / name).parent_path());
    std::ofstream(home_ / name, std::ios::binary) << text;
  }

  // config.toml has lines "key = value", as ReadFlat() reads them.
  std::string WriteRun(const std::string& name, const std::string& config,
                       const std::vector<std::string>& lines) const {
    Write(name + "/config.toml", config);
    std::string record;
    for (const std::string& line : lines) record += line + "\n";
    Write(name + "/events.jsonl", record);
    return PathOf(name);
  }

  const std::filesystem::path home_ = directory();
};

inline std::string Config(const std::string& policy, int seed, const std::string& more = "") {
  return Text("federation.policy = ", policy, "\nfederation.seed = ", seed, "\n", more);
}

inline Result<FlatSettings> ReadFlat(const std::string& text, const std::string&) {
  FlatSettings flat;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" = ");
    if (equals == line.npos) return Invalid(Text("\"", line, "\" is no setting"));
    flat[line.substr(0, equals)] = line.substr(equals + 3);
  }
  return flat;
}

inline std::string At(double t_s, const std::string& rest) {
  return Text("{\"t_ns\":", static_cast<int64_t>(t_s * 1e9), ",", rest, "}");
}

inline std::string Joined(int learner, const std::string& group, int examples,
                          const std::string& role = "learner") {
  return At(0, Text("\"event\":\"joined\",\"learner\":", learner, ",\"incarnation\":1,\"role\":\"",
                    role, "\",\"name\":\"", role, "-", learner, "\",\"group\":\"", group,
                    "\",\"training_examples\":", examples,
                    ",\"validation_counts\":[2,3],\"schema_hash\":\"0x1\""));
}

// Without spaces: "[8,2,3,9]". Of the version that is the time in whole seconds.
inline std::string Tested(double t_s, const std::string& counts, const std::string& loss = "1.5") {
  return At(t_s, Text("\"event\":\"tested\",\"observer\":9,\"incarnation\":1,\"version\":",
                      static_cast<int>(t_s), ",\"counts\":", counts, ",\"loss\":", loss));
}

// Of ten examples, `right` of them recognised.
inline std::string TestedTenths(double t_s, int right) {
  return Tested(t_s, Text("[", right, ",", 10 - right, ",0,0]"));
}

struct Cycle {
  int epochs = 4;
  std::string losses = "";
  std::string reason = "epochs";
  int staleness = 1;
  std::string Fields() const {
    return Text("\"cycle\":{\"cycle\":1,\"epochs\":", epochs, ",\"losses\":[", losses,
                "],\"failures\":3,\"reason\":\"", reason, "\",\"staleness\":", staleness, "}");
  }
};

inline std::string Id(int learner, int sequence) {
  return Text("\"id\":{\"learner\":", learner, ",\"incarnation\":1,\"sequence\":", sequence, "}");
}

inline std::string Update(double t_s, int learner, int sequence, const Cycle& cycle) {
  return At(t_s, Text("\"event\":\"update\",", Id(learner, sequence),
                      ",\"base\":0,\"steps\":5,\"model\":{\"record\":null,\"fingerprint\":\"a\"},"
                      "\"own_counts\":[1,0,0,1],",
                      cycle.Fields()));
}

// One update of a commit; `staleness` is the effective one.
inline std::string Part(int learner, int sequence, int staleness, const Cycle& cycle = {},
                        double contribution = 0.5) {
  return Text("{", Id(learner, sequence), ",\"contribution\":", contribution,
              ",\"coverage\":1.0,\"kept_previous\":false,\"steps\":5,\"staleness\":", staleness,
              ",\"version_staleness\":0,", cycle.Fields(), "}");
}

// `version`: more than any test of these runs has.
inline std::string Committed(double t_s, const std::vector<std::string>& parts,
                             int version = 1000) {
  return At(t_s,
            Text("\"note\":\"committed\",\"version\":", version, ",\"updates\":[", Join(parts, ","),
                 "],\"withdrawn\":null,\"total_contribution\":0.5,\"committed_steps\":5,"
                 "\"model\":\"ab\""));
}

inline std::string Rejected(double t_s, int learner, int sequence, const std::string& reason) {
  return At(t_s, Text("\"note\":\"rejected\",", Id(learner, sequence), ",\"reason\":\"", reason,
                      "\",\"message\":\"no\""));
}

// Of an observer.
inline std::string TestRefused(double t_s) {
  return At(t_s,
            "\"note\":\"counts-refused\",\"evaluator\":9,\"update\":{\"learner\":9,"
            "\"incarnation\":1,\"sequence\":0},\"message\":\"no\"");
}

inline std::string Counts(double t_s) {
  return At(t_s, "\"event\":\"counts\",\"evaluator\":1,\"incarnation\":1,\"counts\":[1,0,0,1]");
}

}  // namespace metis::report
