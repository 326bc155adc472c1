// `metis status` as a user types it, beside many connected learners of which some move large models
// without pause: how long it takes from the start of the program to its end.
//
//   status_load_test BIN            200 learners, 8 of them moving models of 10 million parameters
//   status_load_test BIN --short    50 learners, 4 of them, 1 million
//   status_load_test BIN [--short] --beside COMMAND...
//
// BIN is the directory of the programs. The command is run after that, while models move on; its
// last two arguments are the run directory and the address of the dashboard. It must not fail.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "metis/core/testing.h"
#include "metis/operations/status.h"
#include "metis/rpc/operator_client.h"
#include "metis/store/model_file.h"
#include "tests/loopback/raw_client.h"

namespace metis::soak {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Load {
  std::string programs;
  uint32_t learners = 200;
  uint32_t movers = 8;
  uint64_t parameters = 10'000'000;
  uint32_t looks = 100;
  std::vector<std::string> beside;  // another program's words; may be empty
};
Load load;

// Ends what hangs, on a busy machine too; the goal is 0.2 s.
constexpr Seconds kHung{60};
// How long learners stay, whatever looks at them: longer than ctest lets it look.
constexpr std::chrono::minutes kHeld{30};

// Not by fork(): copying this process, which holds the models, would be measured as well. Without a
// file for its output the program speaks where this one does.
pid_t Spawn(std::vector<std::string> words, const std::optional<std::string>& output) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  if (output) {
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output->c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  METIS_CHECK(::posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ) == 0);
  ::posix_spawn_file_actions_destroy(&files);
  return child;
}

int Wait(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void Say(const char* what, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) {
    const auto index = static_cast<size_t>(part * static_cast<double>(seconds.size() - 1));
    return 1000 * seconds[index];
  };
  std::printf("%s: p50 %.1f ms, p99 %.1f ms, max %.1f ms (%zu times; goal 200 ms)\n", what, at(0.5),
              at(0.99), at(1), seconds.size());
  std::fflush(stdout);
}

// A learner by hand; one that moves sends its model again and again. It listens, and fetches
// nothing.
class Learner {
 public:
  Learner(const std::string& address, uint32_t k, ModelPool& pool)
      : pool_(pool), channel_(rpc::Dial(address)), talk_(channel_, Text("site-", k), 1, kHeld) {
    EXPECT_TRUE(talk_.Join(*pool.schema(), 30 + 7 * k));
  }
  ~Learner() {
    talk_.Cancel();
    for (std::thread* each : {&reader_, &mover_}) {
      if (each->joinable()) each->join();
    }
  }

  void Move(std::atomic<bool>& over, std::atomic<uint64_t>& updates) {
    reader_ = std::thread([this] {
      v1::ToParticipant message;
      while (talk_.Read(message)) continue;
    });
    mover_ = std::thread([this, &over, &updates] {
      ModelDraft draft = pool_.Draft();
      std::fill(draft.parameters().begin(), draft.parameters().end(), 0.25f);
      const ModelPtr model = std::move(draft).Seal();
      for (uint64_t sequence = 1; !over; ++sequence) {
        rpc::Transfer transfer(channel_, "Upload");
        if (!transfer.Open(rpc::OpeningOf(talk_, model, sequence)) || !transfer.Read()) return;
        wire::ModelSender sender(model, wire::Encoding::kRaw);
        rpc::SendChunks(transfer, sender);
        if (!transfer.Read()) return;
        ++updates;
      }
    });
  }

 private:
  ModelPool& pool_;
  const std::shared_ptr<grpc::Channel> channel_;
  rpc::Talk talk_;
  std::thread reader_;
  std::thread mover_;
};

class StatusLoad : public testing::Test {
 protected:
  void SetUp() override {
    StartController();
    if (!HasFatalFailure()) LetModelsMove();
  }
  ~StatusLoad() override {
    over_ = true;
    learners_.clear();
    if (controller_ > 0) {
      ::kill(controller_, SIGKILL);
      (void)Wait(controller_);
    }
  }

  void StartController() {
    run_ = directory_ / "run";
    const std::string initial = directory_ / "initial.metis";
    ASSERT_TRUE(store::WriteModelFile(initial, {}, *pool_.Zero()));
    controller_ = Spawn({load.programs + "/metis-controller",
                         "--run",
                         run_,
                         "--model",
                         initial,
                         "--listen",
                         "127.0.0.1:0",
                         "--insecure",
                         "--dashboard",
                         "127.0.0.1:0",
                         "--set",
                         "federation.policy=async-fedavg",
                         "--set",
                         Text("federation.learners=", load.learners),
                         "--set",
                         "membership.heartbeat=10min",
                         "--set",
                         "membership.silence=40min",
                         "--set",
                         "membership.lease=1h",
                         "--set",
                         "storage.snapshot_every=20",
                         "--set",
                         "stop.duration=10h"},
                        directory_ / "controller.log");
    ASSERT_TRUE(rpc::WaitFor([&] {
      return Read(run_ + "/address").ends_with("\n") ||
             ::waitpid(controller_, nullptr, WNOHANG) != 0;
    }));
    ASSERT_TRUE(fs::exists(run_ + "/address")) << Read(directory_ / "controller.log");
    address_ = Read(run_ + "/address");
    address_.pop_back();
  }

  // All are connected and a model of each mover has arrived when it returns.
  void LetModelsMove() {
    for (uint32_t k = 0; k < load.learners; ++k) {
      learners_.push_back(std::make_unique<Learner>(address_, k, pool_));
    }
    for (uint32_t k = 0; k < load.movers; ++k) learners_[k]->Move(over_, updates_);
    ASSERT_TRUE(rpc::WaitFor([&] { return updates_ >= load.movers; }));
    // What is seen is what was published last, a moment ago.
    ASSERT_TRUE(rpc::WaitFor([&] {
      const operations::Status status = Ask().second;
      return status.connected == load.learners && status.participants.size() == load.learners &&
             status.phase == "running";
    }));
  }

  // How long the program took; the status it printed.
  std::pair<double, operations::Status> Ask() {
    const std::string output = directory_ / "status.json";
    const Clock::time_point begin = Clock::now();
    const int code =
        Wait(Spawn({load.programs + "/metis-operate", "status", run_, "--json"}, output));
    const double took = Seconds(Clock::now() - begin).count();
    EXPECT_EQ(code, 0) << Read(output);
    Result<operations::Status> status = operations::ParseStatus(Read(output));
    EXPECT_TRUE(status) << Read(output);
    return {took, status ? *status : operations::Status()};
  }

  // As the controller says it to its user; it does before it has an address.
  std::string Dashboard() const {
    constexpr std::string_view kSays = "dashboard at ";
    const std::string said = Read(directory_ / "controller.log");
    const size_t found = said.find(kSays);
    if (found == said.npos) return "";
    const size_t begin = found + kSays.size();
    return said.substr(begin, said.find('\n', begin) - begin);
  }

  void Look();
  void RunBeside();

  ModelPool pool_{ModelSchema::Create({{"weight", {load.parameters}}}).value()};
  const TemporaryDirectory directory_;
  std::string run_;
  std::string address_;
  pid_t controller_ = 0;
  std::vector<std::unique_ptr<Learner>> learners_;
  std::atomic<bool> over_ = false;
  std::atomic<uint64_t> updates_ = 0;
};

void StatusLoad::Look() {
  std::vector<double> typed;
  std::vector<double> asked;
  const uint64_t before = updates_;
  const Clock::time_point begin = Clock::now();
  rpc::OperatorClient client(run_ + "/control.sock");
  // Where the disk is slow, until a model has moved.
  for (uint32_t i = 0; i < load.looks || updates_ == before; ++i) {
    const auto [took, status] = Ask();
    typed.push_back(took);
    EXPECT_EQ(status.connected, load.learners);
    EXPECT_EQ(status.participants.size(), load.learners);
    EXPECT_EQ(status.phase, "running");
    const Clock::time_point now = Clock::now();
    EXPECT_TRUE(client.Status());
    asked.push_back(Seconds(Clock::now() - now).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const double passed = Seconds(Clock::now() - begin).count();
  const double moved = static_cast<double>((updates_ - before) * load.parameters * sizeof(float));
  std::printf(
      "%u learners connected, %u of them moving models of %.0f million parameters: %.1f "
      "updates/s, %.0f MB/s\n",
      load.learners, load.movers, static_cast<double>(load.parameters) * 1e-6,
      static_cast<double>(updates_ - before) / passed, moved / passed * 1e-6);
  Say("`metis status --json`, the whole program", typed);
  Say("the call alone", asked);
  EXPECT_LT(*std::max_element(typed.begin(), typed.end()), kHung.count());
}

void StatusLoad::RunBeside() {
  const std::string dashboard = Dashboard();
  ASSERT_FALSE(dashboard.empty()) << Read(directory_ / "controller.log");
  std::vector<std::string> words = load.beside;
  words.push_back(run_);
  words.push_back(dashboard);
  const uint64_t before = updates_;
  EXPECT_EQ(Wait(Spawn(words, std::nullopt)), 0) << load.beside.front();
  EXPECT_GT(updates_, before) << "models have moved meanwhile";
}

TEST_F(StatusLoad, IsAnsweredWhileModelsMove) {
  Look();
  if (!load.beside.empty()) RunBeside();

  over_ = true;
  learners_.clear();
  const std::string said = directory_ / "stop.log";
  EXPECT_EQ(Wait(Spawn({load.programs + "/metis-operate", "stop", run_}, said)), 0) << Read(said);
}

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr char kUsage[] = "usage: status_load_test BIN [--short] [--beside COMMAND...]";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--short") {
      load.learners = 50;
      load.movers = 4;
      load.parameters = 1'000'000;
      load.looks = 10;
    } else if (argument == "--beside" && i + 1 < argc) {
      load.beside.assign(argv + i + 1, argv + argc);
      break;
    } else if (load.programs.empty() && fs::is_directory(argument)) {
      load.programs = fs::absolute(argument).string();
    } else {
      std::fprintf(stderr, "unknown argument %s; %s\n", argv[i], kUsage);
      return 2;
    }
  }
  if (load.programs.empty()) {
    std::fprintf(stderr, "%s\n", kUsage);
    return 2;
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace metis::soak

int main(int argc, char** argv) { return metis::soak::Main(argc, argv); }
