// A server whose process has no file descriptors left, and what it does once there are some again.
#include "metis/rpc/descriptors.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metis/machine/testing.h"
#include "tests/loopback/raw_client.h"

namespace metis::rpc {
namespace {

TEST(Descriptors, AServerAnswersAndABareListenerDoesNot) {
  Served served;
  EXPECT_TRUE(served.server->accepting());
  EXPECT_TRUE(ServesNewConnections({"127.0.0.1", served.server->port()}, false));

  const machine::SilentListener silent;
  EXPECT_FALSE(ServesNewConnections({"127.0.0.1", silent.port()}, false));
  EXPECT_FALSE(ServesNewConnections({"127.0.0.1", silent.port()}, true));
}

TEST(Descriptors, ALimitThatIsTooSmallIsSaidWithItsNumbers) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit small{200, 200};
    setrlimit(RLIMIT_NOFILE, &small);
    Result<std::string> fits = RaiseDescriptorLimit(100);
    Result<std::string> warned = RaiseDescriptorLimit(1000);
    const rlimit tiny{50, 50};
    setrlimit(RLIMIT_NOFILE, &tiny);
    Result<std::string> refused = RaiseDescriptorLimit(1000);
    const bool right = fits.ok() && fits->empty() && warned.ok() &&
                       warned->find("at most 200 files") != std::string::npos &&
                       warned->find("1000 connections") != std::string::npos && !refused.ok();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Runs in a process of its own, before which no gRPC has run: gRPC does not survive a fork.
int GoDeaf() {
  federation::Models models;
  drivers::MemoryEventLog log;
  auto host =
      drivers::ControllerProcess::Open(
          {.settings = federation::SettingsFor("async-fedavg", 3), .initial = models.From(1)},
          models.pool(), log, nullptr, nullptr)
          .value();
  std::atomic<bool> deaf = false;
  ControllerServerOptions options;
  options.settings.listen = "127.0.0.1:0";
  options.settings.max_connections = 10;
  options.heartbeat = Duration::Seconds(60);
  options.on_deaf = [&] { deaf = true; };
  auto server = ControllerServer::Start(options, *host, models.pool()).value();
  host->Start(*server);

  // All descriptors are taken; one is let go and taken again by a connection that the server then
  // has no descriptor for.
  const rlimit small{64, 64};
  setrlimit(RLIMIT_NOFILE, &small);
  std::vector<int> taken;
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
    taken.push_back(fd);
  }
  const sockaddr_in address = machine::LoopbackAddress(server->port());
  if (connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return 2;
  // Nobody lets go of anything, and still it is found out.
  if (!WaitFor([&] { return deaf.load(); })) return 3;
  if (server->accepting()) return 4;
  for (const int fd : taken) close(fd);
  close(client);
  return 0;
}

// The flag makes this program run GoDeaf() and nothing else.
TEST(Descriptors, AServerThatHearsNobodyAfterDescriptorsRanOutSaysSo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "without a free descriptor the sanitizer takes every object for a broken one";
#endif
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(_exit(GoDeaf()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace metis::rpc
