#include "metis/dashboard/dashboard.h"

#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "metis/core/text.h"
#include "metis/dashboard/page.h"
#include "metis/machine/testing.h"

namespace metis::dashboard {
namespace {

using operations::Status;
using std::chrono::steady_clock;

class DashboardTest : public ::testing::Test {
 protected:
  void Start(Duration stands_still = Duration::Seconds(60)) {
    DashboardOptions options;
    options.listen = "127.0.0.1:0";
    options.status = [this] {
      std::lock_guard lock(mutex_);
      return latest_;
    };
    options.sample_every = Duration::Milliseconds(1);
    options.stands_still = stands_still;
    Result<std::unique_ptr<Dashboard>> dashboard = Dashboard::Start(std::move(options));
    ASSERT_TRUE(dashboard) << dashboard.error().message;
    dashboard_ = *std::move(dashboard);
    const std::string url = dashboard_->url();
    port_ = std::stoi(url.substr(url.rfind(':') + 1));
    client_ = std::make_unique<httplib::Client>("127.0.0.1", port_);
    client_->set_read_timeout(60);
  }

  void Publish(uint64_t version, std::string name = "north", std::string phase = "running") {
    auto status = std::make_shared<Status>();
    status->version = version;
    status->memory_bytes = 10 * version;
    status->phase = std::move(phase);
    status->participants.emplace_back().name = std::move(name);
    std::lock_guard lock(mutex_);
    latest_ = std::move(status);
  }

  httplib::Response Get(const std::string& path, const httplib::Headers& headers = {}) {
    httplib::Result result = client_->Get(path, headers);
    EXPECT_TRUE(result) << path << ": " << httplib::to_string(result.error());
    return result ? *result : httplib::Response();
  }

  int Connect() {
    const sockaddr_in address = machine::LoopbackAddress(static_cast<uint16_t>(port_));
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  std::mutex mutex_;
  std::shared_ptr<const Status> latest_;
  std::unique_ptr<Dashboard> dashboard_;
  int port_ = 0;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(DashboardTest, ShowsTheLatestStatus) {
  Start();
  EXPECT_EQ(Get("/status.json").status, 503);
  EXPECT_EQ(Get("/metrics").status, 503);
  for (uint64_t version : {3u, 8u}) {
    Publish(version);
    const httplib::Response response = Get("/status.json");
    EXPECT_EQ(response.status, 200);
    Result<Status> status = operations::ParseStatus(response.body);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(status->version, version);
    EXPECT_EQ(status->participants.at(0).name, "north");
    EXPECT_NE(Get("/metrics").body.find(Text("metis_community_version ", version, "\n")),
              std::string::npos);
  }
}

TEST_F(DashboardTest, WhoHasTheLatestStatusIsToldSo) {
  Start();
  Publish(1);
  const std::string tag = Get("/status.json").get_header_value("ETag");
  ASSERT_FALSE(tag.empty());
  EXPECT_EQ(Get("/status.json", {{"If-None-Match", tag}}).status, 304);
  Publish(1);  // equal, but said later
  const httplib::Response next = Get("/status.json", {{"If-None-Match", tag}});
  EXPECT_EQ(next.status, 200);
  EXPECT_NE(next.get_header_value("ETag"), tag);
}

TEST_F(DashboardTest, ANameThatIsNoTextCostsNobodyThePage) {
  Start();
  Publish(1, "\xff\xfe");
  const httplib::Response response = Get("/status.json");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(operations::ParseStatus(response.body));
}

TEST_F(DashboardTest, ThePageIsWholeAndMayLoadNothingElse) {
  Start();
  const httplib::Response response = Get("/", {{"Accept-Encoding", "gzip, br"}});
  EXPECT_EQ(response.body, Page());
  EXPECT_EQ(response.get_header_value("Content-Type"), "text/html; charset=utf-8");
  const std::string policy = response.get_header_value("Content-Security-Policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'sha256-")) << policy;
  EXPECT_EQ(policy.find("script-src 'unsafe"), std::string::npos) << policy;
  EXPECT_NE(policy.find("connect-src 'self'"), std::string::npos) << policy;
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos) << policy;
}

TEST_F(DashboardTest, EveryAnswerHasTheSafeHeaders) {
  Start();
  Publish(1);
  for (const char* path : {"/", "/status.json", "/history.json", "/metrics", "/healthz", "/no"}) {
    const httplib::Response response = Get(path);
    for (const char* name : {"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy",
                             "Cross-Origin-Resource-Policy", "Cache-Control"}) {
      EXPECT_TRUE(response.has_header(name)) << path << ": " << name;
    }
    EXPECT_FALSE(response.has_header("Access-Control-Allow-Origin")) << path;
  }
}

TEST_F(DashboardTest, APageOfAnotherSiteThatPointsItsNameHereIsRefused) {
  Start();
  Publish(1);
  for (const char* path : {"/", "/status.json", "/metrics"}) {
    const httplib::Response response = Get(path, {{"Host", "evil.example"}});
    EXPECT_EQ(response.status, 403) << path;
    EXPECT_EQ(response.body.find("north"), std::string::npos);
    EXPECT_EQ(Get(path, {{"Host", Text("localhost:", port_)}}).status, 200) << path;
  }
}

TEST_F(DashboardTest, OnlyShows) {
  Start();
  Publish(1);
  for (const httplib::Result& result :
       {client_->Post("/status.json", "{}", "application/json"), client_->Delete("/status.json"),
        client_->Put("/", "x", "text/plain"), client_->Options("/")}) {
    ASSERT_TRUE(result) << httplib::to_string(result.error());
    EXPECT_EQ(result->status, 405);
    EXPECT_EQ(result->get_header_value("Allow"), "GET, HEAD");
  }
  httplib::Result head = client_->Head("/status.json");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
}

TEST_F(DashboardTest, AnUnknownPathIsToldWhatThereIs) {
  Start();
  const httplib::Response response = Get("/nothing");
  EXPECT_EQ(response.status, 404);
  EXPECT_NE(response.body.find("/nothing"), std::string::npos);
  EXPECT_NE(response.body.find("/metrics"), std::string::npos);
}

TEST_F(DashboardTest, HealthIsAskedOfTheControllerNotOfThePage) {
  Start(Duration::Milliseconds(50));
  Publish(1);
  EXPECT_EQ(Get("/healthz").status, 200);
  int code = 200;
  const auto patience = steady_clock::now() + std::chrono::seconds(60);
  while (code == 200 && steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    code = Get("/healthz").status;
  }
  EXPECT_EQ(code, 503);
  Publish(2);
  EXPECT_EQ(Get("/healthz").status, 200);
}

TEST_F(DashboardTest, TheHistoryGrowsByItself) {
  Start();
  Publish(7);
  size_t samples = 0;
  const auto patience = steady_clock::now() + std::chrono::seconds(60);
  while (samples < 3 && steady_clock::now() < patience) {
    const report::Json history = report::Json::parse(Get("/history.json").body);
    samples = history["memory_bytes"].size();
    for (const report::Json& bytes : history["memory_bytes"]) EXPECT_EQ(bytes, 70);
  }
  EXPECT_GE(samples, 3u);
}

// More connections than it has threads, none of which ever asks: it gives them up by itself.
TEST_F(DashboardTest, ConnectionsThatSayNothingDoNotKeepOthersOutForEver) {
  Start();
  Publish(1);
  std::vector<int> sockets;
  for (int i = 0; i < 9; ++i) sockets.push_back(Connect());
  EXPECT_EQ(Get("/status.json").status, 200);
  for (int socket : sockets) ::close(socket);
}

TEST_F(DashboardTest, WhoLeavesBeforeTheAnswerHarmsNobody) {
  Start();
  Publish(1);
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (int i = 0; i < 50; ++i) {
    const int socket = Connect();
    EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    const linger at_once{1, 0};  // resets the connection
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(socket);
  }
  EXPECT_EQ(Get("/status.json").status, 200);
}

TEST_F(DashboardTest, ATakenPortIsSaidNotShared) {
  Start();
  DashboardOptions second;
  second.listen = Text("127.0.0.1:", port_);
  second.status = [] { return nullptr; };
  Result<std::unique_ptr<Dashboard>> dashboard = Dashboard::Start(std::move(second));
  ASSERT_FALSE(dashboard);
  EXPECT_EQ(dashboard.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(dashboard.error().message.find(Text("127.0.0.1:", port_)), std::string::npos);
  EXPECT_NE(dashboard.error().message.find("in use"), std::string::npos)
      << dashboard.error().message;
}

TEST_F(DashboardTest, TheEndWaitsForOpenPagesOnly) {
  Start();
  Publish(1);
  const auto before = steady_clock::now();
  for (int i = 0; i < 60; ++i) dashboard_->ShowTheEnd();  // nobody has looked
  EXPECT_LT(steady_clock::now() - before, std::chrono::seconds(60));
  Get("/status.json");
  Publish(2, "north", "finished");
  const auto after = steady_clock::now();
  std::thread slow([this] {
    std::this_thread::sleep_for(std::chrono::seconds(4));
    EXPECT_NE(Get("/status.json").body.find("finished"), std::string::npos);
  });
  dashboard_->ShowTheEnd();
  EXPECT_GT(steady_clock::now() - after, std::chrono::milliseconds(5500));
  slow.join();
}

TEST(Dashboard, EndsAtOnceAfterItBegan) {
  for (int i = 0; i < 50; ++i) {
    Result<std::unique_ptr<Dashboard>> dashboard =
        Dashboard::Start({.listen = "127.0.0.1:0", .status = [] { return nullptr; }});
    ASSERT_TRUE(dashboard) << dashboard.error().message;
  }
}

TEST(Dashboard, OfAnAddressThatIsNotThisMachinesSaysSo) {
  Result<std::unique_ptr<Dashboard>> dashboard =
      Dashboard::Start({.listen = "192.0.2.1:0", .status = [] { return nullptr; }});
  ASSERT_FALSE(dashboard);
  EXPECT_NE(dashboard.error().message.find("192.0.2.1:0"), std::string::npos);
}

}  // namespace
}  // namespace metis::dashboard
