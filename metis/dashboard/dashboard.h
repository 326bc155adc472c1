// The live view of a federation over HTTP (docs/dashboard.md), for browsers and for Prometheus:
//
//   /              the page; it asks for /status.json every second
//   /status.json   the Status document
//   /history.json  how rate, memory and connections went while this process ran
//   /metrics       metrics for Prometheus
//   /healthz       "ok", or 503 where the controller stands still
//
// Read-only, without names or passwords: whoever reaches the port may look. It asks for nothing but
// the latest published Status, so that a controller never waits for a browser. Its
// threads and connections are bounded, what one of them may send is not (Debian's library reads a
// header of any length): it is for loopback.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/operations/status.h"

namespace metis::dashboard {

struct DashboardOptions {
  std::string listen;  // HOST:PORT; port 0 is a free one
  // The latest; null before the first. Called on any thread, also at the same time; must not wait.
  std::function<std::shared_ptr<const operations::Status>()> status;
  Duration sample_every = Duration::Seconds(1);  // for the history
  // A status that is not followed by another for this long: the controller stands still.
  Duration stands_still = Duration::Seconds(60);
};

// Thread-safe.
class Dashboard {
 public:
  // kInvalid: `listen` is no address. kUnavailable: it can't be listened on, e.g. because the port
  // is taken.
  static Result<std::unique_ptr<Dashboard>> Start(DashboardOptions options);
  virtual ~Dashboard() = default;

  // "http://127.0.0.1:7741/"
  virtual std::string url() const = 0;
  // Whether programs of other machines may reach it.
  virtual bool is_public() const = 0;
  // To be called when the last Status is published: waits, for seconds, until a page that is open
  // has fetched it, and a moment more for others. Returns at once if none is open.
  virtual void ShowTheEnd() = 0;
};

}  // namespace metis::dashboard
