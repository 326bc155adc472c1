#include "metis/experiment/jobs.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/experiment/child.h"

namespace metis::experiment {
namespace {

using Clock = std::chrono::steady_clock;

// Blocks what sigtimedwait() is to hear, and puts the mask back.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigemptyset(&set_);
    for (int signal : kBlockedSignals) sigaddset(&set_, signal);
    METIS_CHECK(sigprocmask(SIG_BLOCK, &set_, &before_) == 0);
  }
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // The next signal, or 0 after a moment without one.
  int Next() const {
    timespec moment{.tv_sec = 0, .tv_nsec = 200'000'000};
    int signal = sigtimedwait(&set_, nullptr, &moment);
    return signal < 0 ? 0 : signal;
  }

 private:
  sigset_t set_;
  sigset_t before_;
};

class Runner {
 public:
  Runner(const std::vector<Job>& jobs, const JobsSettings& settings)
      : jobs_(jobs), settings_(settings) {
    outcome_.ends.resize(jobs.size());
  }

  JobsOutcome Run() {
    while (true) {
      StartSome();
      Report();
      if (running_.empty()) break;
      int signal = signals_.Next();
      if (signal == SIGCHLD) {
        Collect();
      } else if (signal != 0) {
        PassOn();
      }
    }
    return std::move(outcome_);
  }

 private:
  struct Running {
    size_t job = 0;
    Clock::time_point start;
    uint64_t log_size = 0;  // what the log held before
  };

  void StartSome() {
    while (!outcome_.interrupted && next_ < jobs_.size() && running_.size() < settings_.at_once) {
      const size_t job = next_++;
      const uint64_t log_size = LogSize(jobs_[job].log);
      Result<pid_t> child = StartChild(settings_.program, jobs_[job].arguments, jobs_[job].log);
      if (child) {
        running_[*child] = {job, Clock::now(), log_size};
      } else {
        End(job, {.begun = false, .failure = child.error().message});
      }
    }
  }

  // Signals are not counted while they wait to be heard: one may stand for several children.
  void Collect() {
    int status = 0;
    for (pid_t child = 0; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      auto found = running_.find(child);
      if (found == running_.end()) continue;
      const Running running = found->second;
      running_.erase(found);
      std::string failure = WhatHappened(status);
      if (!failure.empty()) {
        const std::string words = LastWords(jobs_[running.job].log, running.log_size);
        if (!words.empty()) failure = words;
        if (outcome_.interrupted) failure = "interrupted";
      }
      std::chrono::duration<double> wall = Clock::now() - running.start;
      End(running.job, {.begun = true, .failure = std::move(failure), .wall_s = wall.count()});
    }
  }

  void PassOn() {
    const int signal = outcome_.interrupted ? SIGKILL : SIGINT;
    outcome_.interrupted = true;
    for (const auto& [child, running] : running_) ::kill(child, signal);
  }

  void End(size_t job, JobEnd end) {
    outcome_.ends[job] = std::move(end);
    ++ended_;
    if (settings_.ended) settings_.ended(job, outcome_.ends[job]);
  }

  void Report() {
    if (settings_.progress) settings_.progress(ended_, running_.size());
  }

  const std::vector<Job>& jobs_;
  const JobsSettings& settings_;
  const BlockedSignals signals_;
  std::map<pid_t, Running> running_;
  size_t next_ = 0;
  size_t ended_ = 0;
  JobsOutcome outcome_;
};

}  // namespace

JobsOutcome RunJobs(const std::vector<Job>& jobs, const JobsSettings& settings) {
  return Runner(jobs, settings).Run();
}

}  // namespace metis::experiment
