// Serves the dashboard of a made-up federation, for tests of its page: every line of standard input
// is a Status document, which is shown from then on. Writes the dashboard's address; ends with its
// input.
//
//   dashboard_server [HOST:PORT]
#include <iostream>
#include <memory>
#include <mutex>
#include <string>

#include "metis/dashboard/dashboard.h"

namespace {

using metis::operations::Status;

int Main(const std::string& listen) {
  std::mutex mutex;
  std::shared_ptr<const Status> latest;
  metis::Result<std::unique_ptr<metis::dashboard::Dashboard>> dashboard =
      metis::dashboard::Dashboard::Start({.listen = listen, .status = [&] {
                                            std::lock_guard lock(mutex);
                                            return latest;
                                          }});
  if (!dashboard) {
    std::cerr << dashboard.error().message << "\n";
    return 1;
  }
  std::cout << (*dashboard)->url() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    metis::Result<Status> status = metis::operations::ParseStatus(line);
    if (!status) {
      std::cerr << status.error().message << "\n";
      return 1;
    }
    std::lock_guard lock(mutex);
    latest = std::make_shared<const Status>(*std::move(status));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return Main(argc > 1 ? argv[1] : "127.0.0.1:0"); }
