#include "metis/experiment/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "metis/core/check.h"
#include "metis/core/text.h"

extern char** environ;

namespace metis::experiment {
namespace {

// Open for appending and locked; the lock belongs to the open file, which the child inherits.
Result<int> OpenLog(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return Unavailable(Text("cannot write ", path, ": ", std::strerror(errno)));
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  ::close(file);
  return Unavailable(Text(path, " is in use: another process does this run already"));
}

int Spawn(const std::string& program, char* const* argv, int log, pid_t& child) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  METIS_CHECK(posix_spawn_file_actions_init(&files) == 0);
  METIS_CHECK(posix_spawnattr_init(&attributes) == 0);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, log, STDERR_FILENO);
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int signal : kBlockedSignals) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  int error = posix_spawn(&child, program.c_str(), &files, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

Result<pid_t> StartChild(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& log) {
  Result<int> file = OpenLog(log);
  if (!file) return file.error();
  std::vector<std::string> owned = {program};
  owned.insert(owned.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : owned) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  int error = Spawn(program, argv.data(), *file, child);
  ::close(*file);
  if (error != 0) return Unavailable(Text(program, " can't be run: ", std::strerror(error)));
  return child;
}

std::string WhatHappened(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return Text("was killed by signal ", signal, " (", ::strsignal(signal), ")");
  }
  const int code = WEXITSTATUS(wait_status);
  return code == 0 ? "" : Text("ended with exit code ", code);
}

uint64_t LogSize(const std::string& log) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(log, error);
  return error ? 0 : size;
}

std::string LastWords(const std::string& log, uint64_t from) {
  constexpr std::string_view kComplaint = "metis: ";
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(from));
  std::string last;
  bool complained = false;
  for (std::string line; std::getline(file, line);) {
    const bool complaint = line.starts_with(kComplaint);
    if (line.empty() || (complained && !complaint)) continue;
    complained = complaint;
    last = complaint ? line.substr(kComplaint.size()) : line;
  }
  return last;
}

}  // namespace metis::experiment
