// A program run as a child process: its own process group, so that a Ctrl-C reaches only its
// parent, which passes it on; no input; what it says goes to a log file. Free functions; whoever
// starts a child waits for it.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "metis/core/result.h"

namespace metis::experiment {

// Signals that the parent handles itself while children run; they are unblocked in children.
inline constexpr int kBlockedSignals[] = {SIGHUP, SIGINT, SIGTERM, SIGCHLD};

// Starts `program` with `arguments` after its name and appends its output to the file `log`, whose
// directory is made. The log is locked as long as the child lives: kUnavailable if another process
// runs this already.
Result<pid_t> StartChild(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& log);

// "ended with exit code 1", "was killed by signal 9 (Killed)"; empty for success.
std::string WhatHappened(int wait_status);

// How long the log is; 0 if there is none.
uint64_t LogSize(const std::string& log);
// Of the log from byte `from`: the last line that begins with "metis: ", without that; else the
// last line at all.
std::string LastWords(const std::string& log, uint64_t from);

}  // namespace metis::experiment
