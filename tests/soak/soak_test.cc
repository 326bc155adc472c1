// Many learners held for long against a durable controller in a process of its own: nobody is
// dropped, and its memory and descriptors stay as they are. Then hostile peers beside them: how
// many updates get through with and without, in windows that take turns.
//
//   soak_test                         200 learners, 5 minutes, and 3.5 more beside hostile peers
//   soak_test --short                 40 learners, 25 seconds in all
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <string_view>

#include "metis/core/median.h"
#include "metis/core/number.h"
#include "tests/soak/controller.h"
#include "tests/soak/hostile.h"
#include "tests/soak/learners.h"

namespace metis::soak {
namespace {

Options options;
constexpr uint32_t kMoreRounds = 6;

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

double Mean(const std::vector<double>& values, size_t from, size_t to) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(from),
                         values.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
         static_cast<double>(to - from);
}

class Soak : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(rpc::WaitFor([&] { return learners_.begun() == options.learners; }))
        << learners_.begun() << " of " << options.learners << " have begun";
  }

  // The others are all there, and were all the time.
  void ExpectNoneDropped() {
    EXPECT_TRUE(controller_.runs());
    EXPECT_EQ(learners_.connected(), options.learners);
    EXPECT_EQ(learners_.redialled(), 0u);
    EXPECT_EQ(learners_.gone(), 0u);
    EXPECT_EQ(learners_.refused(), 0u);
    for (const std::string& line : controller_.Lines()) {
      EXPECT_EQ(line.find("site-"), line.npos) << line;
    }
  }

  // Updates a second.
  double CountWindow() {
    const auto start = std::chrono::steady_clock::now();
    const uint64_t before = learners_.acknowledged();
    Sleep(options.window);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return static_cast<double>(learners_.acknowledged() - before) / took.count();
  }

  // Windows with and without a peer take turns; the one that begins, too. A ratio that is too low
  // is looked at in more of them: a peer that holds up the others does so in every one, and
  // whatever else this machine was doing is not there each time that the peer is.
  template <typename Peer>
  void ExpectOthersGoOn(const std::string& name) {
    std::vector<double> calm;
    std::vector<double> beside;
    const auto ratio = [&] { return Median(beside) / Median(calm); };
    const auto suspicious = [&] { return !(ratio() >= options.least_ratio); };
    for (uint32_t round = 0;
         round < options.rounds || (round < options.rounds + kMoreRounds && suspicious());
         ++round) {
      for (const bool with : {round % 2 == 1, round % 2 == 0}) {
        std::unique_ptr<Peer> peer;
        if (with) {
          peer = std::make_unique<Peer>(pool_, controller_.port(), name, ++life_);
        }
        (with ? beside : calm).push_back(CountWindow());
        if constexpr (std::is_same_v<Peer, FloodingPeer>) {
          if (with) {
            std::printf("flood: %.0f messages/s, %.0f uploads/s\n",
                        static_cast<double>(peer->messages()) / options.window,
                        static_cast<double>(peer->uploads()) / options.window);
          }
        }
      }
    }
    std::printf("%s: %.1f updates/s beside it, %.1f without: ratio %.3f in %zu windows of each\n",
                name.c_str(), Median(beside), Median(calm), ratio(), beside.size());
    std::fflush(stdout);
    EXPECT_GE(ratio(), options.least_ratio);
  }

  ControllerProcess controller_{options};
  Learners learners_{options, controller_.port()};
  const std::unique_ptr<builtin::BuiltinWorkload> workload_ = MakeWorkload(options);
  ModelPool& pool_ = workload_->pool();
  uint32_t life_ = 0;
};

TEST_F(Soak, LearnersAreHeldAndHostilePeersDoNotHoldThemUp) {
  std::vector<double> megabytes;
  std::vector<double> descriptors;
  const uint64_t before = learners_.acknowledged();
  for (uint32_t second = 0; second < options.seconds; ++second) {
    Sleep(1);
    megabytes.push_back(controller_.megabytes());
    descriptors.push_back(controller_.descriptors());
  }
  const size_t fifth = options.seconds / 5;
  const double early = Mean(megabytes, fifth, 2 * fifth);
  const double late = Mean(megabytes, megabytes.size() - fifth, megabytes.size());
  const double early_open = Mean(descriptors, fifth, 2 * fifth);
  const double late_open = Mean(descriptors, descriptors.size() - fifth, descriptors.size());
  std::printf(
      "%u learners for %u s: %.1f updates/s, %.1f MB in the second fifth, %.1f MB in the last "
      "(%+.1f %%), %.1f and %.1f descriptors\n",
      options.learners, options.seconds,
      static_cast<double>(learners_.acknowledged() - before) / options.seconds, early, late,
      100 * (late / early - 1), early_open, late_open);
  std::fflush(stdout);
  EXPECT_LE(late, early * options.memory_growth);
  EXPECT_NEAR(late_open, early_open, options.open_files) << "files come and go, connections stay";
  ExpectNoneDropped();

  ExpectOthersGoOn<SilentPeer>("silent");
  ExpectOthersGoOn<PeerThatDoesNotRead>("not-reading");
  ExpectOthersGoOn<SlowlyReadingPeer>("slowly-reading");
  ExpectOthersGoOn<FloodingPeer>("flooding");
  ExpectNoneDropped();
  std::printf("after hostile peers: %.1f MB\n", controller_.megabytes());
}

bool Take(std::string_view argument, std::string_view flag, uint32_t& out) {
  if (!argument.starts_with(flag)) return false;
  const std::optional<uint32_t> number = ParseNumber<uint32_t>(argument.substr(flag.size()));
  if (number) out = *number;
  return number.has_value();
}

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string role;
  std::string directory;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--short") {
      // Short windows count few updates: the bounds only find what is plainly wrong.
      options = {.learners = 40,
                 .seconds = 6,
                 .window = 2,
                 .rounds = 1,
                 .rate = 20,
                 .memory_growth = 1.3,
                 .least_ratio = 0.4,
                 .open_files = 8};
    } else if (argument == "--role=controller") {
      role = argument.substr(7);
    } else if (argument.starts_with("--directory=")) {
      directory = argument.substr(12);
    } else if (!Take(argument, "--learners=", options.learners) &&
               !Take(argument, "--seconds=", options.seconds) &&
               !Take(argument, "--window=", options.window) &&
               !Take(argument, "--rounds=", options.rounds) &&
               !Take(argument, "--rate=", options.rate)) {
      std::fprintf(stderr,
                   "unknown argument %s; allowed: --short --learners=N --seconds=N --window=N "
                   "--rounds=N --rate=N\n",
                   argv[i]);
      return 2;
    }
  }
  return role.empty() ? RUN_ALL_TESTS() : RunController(options, directory);
}

}  // namespace
}  // namespace metis::soak

int main(int argc, char** argv) { return metis::soak::Main(argc, argv); }
