#include "apps/farewell.h"

#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "metis/core/text.h"

namespace metis::apps {
namespace {

using std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(200);
// How long those who are connected have to hear that it is over.
constexpr auto kFarewell = std::chrono::seconds(15);
constexpr auto kSoon = std::chrono::seconds(1);  // no word is lost about a shorter wait

// Who takes part and was not connected since the end.
std::set<LearnerId> Untold(drivers::ControllerHost& host, const rpc::ControllerServer& server) {
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
// again, after a break or a restart of this process, would dial for ever if nobody answered.
void SayFarewell(drivers::ControllerHost& host, const rpc::ControllerServer& server,
                 Duration silence, const Interrupts& interrupts,
                 const std::function<void(const std::string&)>& say) {
  const auto begin = steady_clock::now();
  const auto comes_back = begin + std::chrono::nanoseconds(silence.nanoseconds());
  auto leaves = begin + kFarewell;
  bool said = false;
  while (!interrupts.asked()) {
    const auto now = steady_clock::now();
    const size_t untold = Untold(host, server).size();
    if (untold > 0 && now < comes_back) {
      leaves = now + kFarewell;
      if (now - begin > kSoon && !std::exchange(said, true)) {
        say(Text("waits up to ", silence, " for ", untold,
                 untold == 1 ? " participant" : " participants",
                 " to come back and hear of the end; Ctrl-C ends at once"));
      }
    } else if (server.traffic().connected == 0 || now >= leaves) {
      return;
    }
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace metis::apps
