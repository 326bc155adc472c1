#include "tests/soak/controller.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/drivers/processes.h"
#include "metis/machine/memory.h"
#include "metis/rpc/controller_server.h"
#include "metis/store/blob_store.h"
#include "metis/store/sqlite_event_log.h"

namespace metis::soak {
namespace {

class LostLines final : public drivers::Recorder {
 public:
  void Event(Instant, const federation::Event& event) override {
    if (const auto* joined = std::get_if<federation::LearnerJoined>(&event)) {
      names_[joined->learner] = joined->name;
    } else if (const auto* lost = std::get_if<federation::LearnerLost>(&event)) {
      std::cout << Text("lost ", names_[lost->learner], "\n") << std::flush;
    }
  }
  void Action(Instant, const federation::Action&) override {}

 private:
  std::map<LearnerId, std::string> names_;
};

}  // namespace

int RunController(const Options& options, const std::string& directory) {
  const std::unique_ptr<builtin::BuiltinWorkload> workload = MakeWorkload(options);
  ModelPool& pool = workload->pool();
  auto blobs = store::BlobStore::Open(Text(directory, "/blobs"), pool).value();
  auto log = store::SqliteEventLog::Open(Text(directory, "/state.db"), *blobs, "soak").value();
  LostLines lines;
  drivers::ControllerHostOptions host_options;
  host_options.settings = SettingsOf(options);
  host_options.initial = workload->initial();
  auto host = drivers::ControllerProcess::Open(std::move(host_options), pool, *log, &lines, nullptr)
                  .value();
  rpc::ControllerServerOptions server_options;
  server_options.settings.listen = "127.0.0.1:0";
  server_options.federation = "soak";
  server_options.heartbeat = SettingsOf(options).membership.heartbeat;
  server_options.keep = [&](const ModelPtr& model) -> Result<void> {
    Result<std::string> kept = blobs->Keep(model);
    if (!kept) return kept.error();
    return {};
  };
  server_options.audit = [](const rpc::Refusal& refusal) {
    std::cout << Text("refused ", refusal.reason, " ", refusal.name, "\n") << std::flush;
  };
  auto server = rpc::ControllerServer::Start(std::move(server_options), *host, pool).value();
  host->Start(*server);
  std::cout << server->port() << std::endl;
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  server->Shutdown(Duration());
  host->Stop();
  return 0;
}

ControllerProcess::ControllerProcess(const Options& options) {
  int in[2];
  int out[2];
  METIS_CHECK(pipe(in) == 0 && pipe(out) == 0);
  std::vector<std::string> arguments = {"soak_test", "--role=controller",
                                        Text("--directory=", directory_.path().string()),
                                        Text("--learners=", options.learners)};
  pid_ = fork();
  METIS_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    execv("/proc/self/exe", raw.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = fdopen(out[0], "r");
  char line[64] = {};
  METIS_CHECK_MSG(fgets(line, sizeof line, output_) != nullptr, "the controller did not start");
  port_ = static_cast<uint16_t>(std::stoi(line));
  listener_ = std::thread([this] { Listen(); });
}

ControllerProcess::~ControllerProcess() {
  close(input_);
  int status = 0;
  waitpid(pid_, &status, 0);
  listener_.join();
  fclose(output_);
}

void ControllerProcess::Listen() {
  char line[512];
  while (fgets(line, sizeof line, output_) != nullptr) {
    std::string text(line);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(text));
  }
}

double ControllerProcess::megabytes() const {
  return static_cast<double>(machine::ResidentBytes(Text(pid_))) / 1e6;
}

uint32_t ControllerProcess::descriptors() const {
  uint32_t count = 0;
  std::error_code gone;
  for (const auto& each : std::filesystem::directory_iterator(Text("/proc/", pid_, "/fd"), gone)) {
    (void)each;
    ++count;
  }
  return count;
}

bool ControllerProcess::runs() const { return descriptors() > 0; }

std::vector<std::string> ControllerProcess::Lines() const {
  std::scoped_lock lock(mutex_);
  return lines_;
}

}  // namespace metis::soak
