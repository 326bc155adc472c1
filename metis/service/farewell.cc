#include "metis/service/farewell.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "metis/core/text.h"

namespace metis::service {
namespace {

using std::chrono::steady_clock;

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);
// How long, at least, those who are connected have to hear that it is over.
constexpr auto kFarewell = std::chrono::seconds(15);
constexpr auto kSoon = std::chrono::seconds(1);  // no word is lost about a shorter wait

// Who takes part and was not connected since the end.
std::set<LearnerId> Untold(drivers::ControllerProcess& host, const rpc::ControllerServer& server) {
  const std::set<LearnerId> told = server.dismissed();
  std::set<LearnerId> untold;
  host.Inspect([&](const federation::Controller& controller, Instant) {
    for (const auto& [learner, member] : controller.membership().all()) {
      if (member.live() && !told.contains(learner)) untold.insert(learner);
    }
  });
  return untold;
}

}  // namespace

// Participants end as they hear that it is over: then nobody is connected. Who is just dialling
// again, after a break or a restart of this process, would dial for ever if nobody answered; who is
// still connected may be suspended, or behind a network that is gone, and has heard nothing.
void SayFarewell(drivers::ControllerProcess& host, const rpc::ControllerServer& server,
                 Duration silence, const std::stop_token& stop,
                 const std::function<void(const std::string&)>& say) {
  const auto begin = steady_clock::now();
  const auto comes_back = begin + std::chrono::nanoseconds(silence.nanoseconds());
  auto leaves = std::max<steady_clock::time_point>(comes_back, begin + kFarewell);
  bool said = false;
  while (!stop.stop_requested()) {
    const auto now = steady_clock::now();
    const size_t untold = now < comes_back ? Untold(host, server).size() : 0;
    const size_t awaited = untold + server.traffic().connected;
    if (awaited == 0 || now >= leaves) return;
    if (untold > 0) leaves = std::max(leaves, now + kFarewell);
    if (now - begin > kSoon && !std::exchange(said, true)) {
      say(Text("waits up to ", silence, " for ", awaited,
               awaited == 1 ? " participant" : " participants",
               " to hear of the end; Ctrl-C ends at once"));
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace metis::service
