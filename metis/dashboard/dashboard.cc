#include "metis/dashboard/dashboard.h"

#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "metis/core/text.h"
#include "metis/dashboard/history.h"
#include "metis/dashboard/hosts.h"
#include "metis/dashboard/metrics.h"
#include "metis/dashboard/page.h"
#include "metis/machine/worker_pool.h"

namespace metis::dashboard {
namespace {

using httplib::Request;
using httplib::Response;
using operations::Status;
using report::Json;
using std::chrono::steady_clock;

// A request takes milliseconds: this many threads serve hundreds of open pages.
constexpr size_t kThreads = 4;
constexpr size_t kQueue = 32;
constexpr int kBacklog = 64;
constexpr time_t kPatienceS = 2;  // for a slow client; also bounds how long an end can take
constexpr auto kOpenPage = std::chrono::seconds(5);   // who asked since then looks at the page
constexpr auto kSlowPage = std::chrono::seconds(10);  // so long the end is kept for one
constexpr auto kLastLook = std::chrono::milliseconds(2500);  // more than twice a page's interval

constexpr char kJson[] = "application/json; charset=utf-8";
constexpr char kPlain[] = "text/plain; charset=utf-8";

using TextPtr = std::shared_ptr<const std::string>;

// What is accepted while the queue is full waits, and further connections stay with the kernel: no
// flood of requests takes more threads of the controller than these.
class RequestQueue final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> job) override { pool_.Post(std::move(job)); }
  void shutdown() override { pool_.Stop(); }

 private:
  machine::WorkerPool pool_{kThreads, kQueue};
};

// Sent as it is: the library would compress it anew for every request, at a high price.
void Send(Response& response, const std::string& type, TextPtr text) {
  response.set_content_provider(text->size(), type,
                                [text](size_t offset, size_t length, httplib::DataSink& sink) {
                                  return sink.write(text->data() + offset, length);
                                });
}

void Say(Response& response, int code, std::string text) {
  response.status = code;
  Send(response, kPlain, std::make_shared<const std::string>(std::move(text)));
}

// What the page says of itself it may do; frames can only be forbidden by a header.
std::string PolicyOf(std::string_view page) {
  constexpr std::string_view kBegin = "http-equiv=\"Content-Security-Policy\" content=\"";
  const size_t begin = page.find(kBegin);
  METIS_CHECK_MSG(begin != page.npos, "the dashboard's page has no policy");
  const size_t end = page.find('"', begin + kBegin.size());
  return Text(page.substr(begin + kBegin.size(), end - begin - kBegin.size()),
              "; frame-ancestors 'none'");
}

httplib::Headers SafeHeaders() {
  return {{"Content-Security-Policy", PolicyOf(Page())},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

// A status as text, made once however many pages ask.
struct Document {
  std::shared_ptr<const Status> status;
  TextPtr json;
  std::string tag;
};

class HttpDashboard : public Dashboard {
 public:
  HttpDashboard(DashboardOptions options, ListenAddress address)
      : options_(std::move(options)),
        address_(std::move(address)),
        own_name_(address_.host),
        first_tag_(steady_clock::now().time_since_epoch().count()) {}

  ~HttpDashboard() override {
    {
      std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (listener_.joinable()) {
      // A server that has not begun to listen yet would not hear of its end.
      while (!server_.is_running() && !listened_) std::this_thread::yield();
      server_.stop();
      listener_.join();
    }
    if (sampler_.joinable()) sampler_.join();
  }

  Result<void> Open();

  std::string url() const override { return UrlOf(address_); }
  bool is_public() const override { return !IsLoopback(address_.host); }
  void ShowTheEnd() override;

 private:
  Result<void> Bind();
  void Route();
  bool Refuse(const Request& request, Response& response) const;
  void SendStatus(const Request& request, Response& response);
  void SendHistory(Response& response);
  void SendHealth(Response& response);
  Document DocumentOf(const std::shared_ptr<const Status>& status);
  void TakeSamples();

  const DashboardOptions options_;
  ListenAddress address_;
  const std::string own_name_;
  const int64_t first_tag_;  // another process has other tags
  const TextPtr page_ = std::make_shared<const std::string>(Page());
  httplib::Server server_;            // synchronises itself
  socket_t socket_ = INVALID_SOCKET;  // the server's, once it is bound
  std::atomic<bool> listened_ = false;
  std::atomic<steady_clock::rep> last_look_ = 0;  // at /status.json
  std::mutex mutex_;
  std::condition_variable changed_;
  // --- guarded by mutex_
  bool ends_ = false;
  bool end_seen_ = false;  // somebody was sent a status of the end
  Document document_;
  int64_t documents_ = 0;
  History history_;
  std::shared_ptr<const Status> healthy_;  // seen first at healthy_since_
  steady_clock::time_point healthy_since_;
  // ---
  std::thread listener_, sampler_;
};

Result<void> HttpDashboard::Open() {
  server_.new_task_queue = [] { return new RequestQueue; };
  server_.set_keep_alive_max_count(1);  // an idle connection would hold a thread
  server_.set_keep_alive_timeout(kPatienceS);
  server_.set_read_timeout(kPatienceS);
  server_.set_write_timeout(kPatienceS);
  server_.set_payload_max_length(0);
  server_.set_default_headers(SafeHeaders());
  // The library's own choice is SO_REUSEPORT: two controllers would share a port without knowing.
  server_.set_socket_options([this](socket_t socket) {
    const int yes = 1;
    socket_ = socket;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  Route();
  if (Result<void> bound = Bind(); !bound) return bound;
  listener_ = std::thread([this] {
    server_.listen_after_bind();
    listened_ = true;
  });
  sampler_ = std::thread([this] { TakeSamples(); });
  return {};
}

Result<void> HttpDashboard::Bind() {
  errno = 0;
  bool bound = false;
  if (address_.port == 0) {
    const int port = server_.bind_to_any_port(address_.host);
    bound = port > 0;
    address_.port = static_cast<uint16_t>(bound ? port : 0);
  } else {
    bound = server_.bind_to_port(address_.host, address_.port);
  }
  if (bound) {
    // The library asks for a backlog of 5: beyond it, who connects in a burst waits for seconds.
    ::listen(socket_, kBacklog);
    return {};
  }
  const int why = errno;
  return Unavailable(Text("can't listen on ", options_.listen, " (",
                          why == 0 ? "no such address" : std::strerror(why), ")"));
}

void HttpDashboard::Route() {
  server_.set_pre_routing_handler([this](const Request& request, Response& response) {
    return Refuse(request, response) ? httplib::Server::HandlerResponse::Handled
                                     : httplib::Server::HandlerResponse::Unhandled;
  });
  server_.Get("/", [this](const Request&, Response& response) {
    Send(response, "text/html; charset=utf-8", page_);
  });
  server_.Get("/status\\.json", [this](const Request& request, Response& response) {
    SendStatus(request, response);
  });
  server_.Get("/history\\.json",
              [this](const Request&, Response& response) { SendHistory(response); });
  server_.Get("/metrics", [this](const Request&, Response& response) {
    const std::shared_ptr<const Status> status = options_.status();
    if (!status) return Say(response, 503, "the controller is just starting\n");
    Send(response, kMetricsType, std::make_shared<const std::string>(FormatMetrics(*status)));
  });
  server_.Get("/healthz", [this](const Request&, Response& response) { SendHealth(response); });
  server_.set_error_handler([](const Request& request, Response& response) {
    if (response.status != 404) return;
    Say(response, 404,
        Text("there is no ", request.path.substr(0, 100),
             " here: try /, /status.json, /history.json, /metrics or /healthz\n"));
  });
}

bool HttpDashboard::Refuse(const Request& request, Response& response) const {
  if (!IsOwnName(request.get_header_value("Host"), own_name_)) {
    Say(response, 403,
        "this dashboard answers to its address, to localhost and to the name in dashboard.listen "
        "only: a page of another site might ask in your name\n");
    return true;
  }
  if (request.method == "GET" || request.method == "HEAD") return false;
  response.set_header("Allow", "GET, HEAD");
  Say(response, 405, "the dashboard only shows: GET and HEAD\n");
  return true;
}

Document HttpDashboard::DocumentOf(const std::shared_ptr<const Status>& status) {
  int64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    if (document_.status == status) return document_;
    number = ++documents_;
  }
  // Names come from participants: bytes that are no text must not cost the operator the page.
  std::string json = FormatStatus(*status).dump(-1, ' ', false, Json::error_handler_t::replace);
  Document made{status, std::make_shared<const std::string>(std::move(json)),
                Text("\"", first_tag_, "-", number, "\"")};
  std::lock_guard lock(mutex_);
  return document_ = std::move(made);
}

void HttpDashboard::SendStatus(const Request& request, Response& response) {
  last_look_ = steady_clock::now().time_since_epoch().count();
  const std::shared_ptr<const Status> status = options_.status();
  if (!status) return Say(response, 503, "the controller is just starting\n");
  const Document document = DocumentOf(status);
  if (status->phase == "finished") {
    std::lock_guard lock(mutex_);
    end_seen_ = true;
    changed_.notify_all();
  }
  response.set_header("ETag", document.tag);
  if (request.get_header_value("If-None-Match") == document.tag) {
    response.status = 304;
    return;
  }
  Send(response, kJson, document.json);
}

void HttpDashboard::SendHistory(Response& response) {
  History history;
  {
    std::lock_guard lock(mutex_);
    history = history_;
  }
  Send(response, kJson, std::make_shared<const std::string>(history.Format().dump()));
}

// A status that is still the one of the last time that somebody asked was the latest ever since.
void HttpDashboard::SendHealth(Response& response) {
  const std::shared_ptr<const Status> status = options_.status();
  const auto now = steady_clock::now();
  steady_clock::duration still{};
  {
    std::lock_guard lock(mutex_);
    if (healthy_since_ == steady_clock::time_point() || healthy_ != status) {
      healthy_ = status;
      healthy_since_ = now;
    }
    still = now - healthy_since_;
  }
  const bool over = status && status->phase == "finished";
  if (over || still <= std::chrono::nanoseconds(options_.stands_still.nanoseconds())) {
    return Say(response, 200, "ok\n");
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(still).count();
  Say(response, 503, Text("the controller has said nothing for ", seconds, " s\n"));
}

void HttpDashboard::TakeSamples() {
  const std::chrono::nanoseconds interval(options_.sample_every.nanoseconds());
  while (true) {
    const std::shared_ptr<const Status> status = options_.status();
    std::unique_lock lock(mutex_);
    if (status) history_.Offer(*status);
    if (changed_.wait_for(lock, interval, [this] { return ends_; })) return;
  }
}

void HttpDashboard::ShowTheEnd() {
  const steady_clock::time_point look{steady_clock::duration(last_look_)};
  if (last_look_ == 0 || steady_clock::now() - look > kOpenPage) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kSlowPage, [this] { return ends_ || end_seen_; });
  // For other pages, and what this one asks for last.
  changed_.wait_for(lock, kLastLook, [this] { return ends_; });
}

}  // namespace

Result<std::unique_ptr<Dashboard>> Dashboard::Start(DashboardOptions options) {
  Result<ListenAddress> address = ParseListenAddress(options.listen);
  if (!address) return address.error();
  auto dashboard = std::make_unique<HttpDashboard>(std::move(options), *std::move(address));
  if (Result<void> opened = dashboard->Open(); !opened) return opened.error();
  return std::unique_ptr<Dashboard>(std::move(dashboard));
}

}  // namespace metis::dashboard
