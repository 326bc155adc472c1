// Where the latest Status hangs. The controller's loop gathers and publishes it (it is a Recorder
// of the run, and what ControllerHostOptions::watch calls); anybody reads it at any time, and
// nobody waits for the loop. Publishing costs O(participants), and holds no lock meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "metis/core/ids.h"
#include "metis/core/time.h"
#include "metis/drivers/controller_host.h"
#include "metis/drivers/recorder.h"
#include "metis/operations/status.h"
#include "metis/report/summary.h"

namespace metis::operations {

// What only the network knows.
struct Surroundings {
  std::map<LearnerId, std::string> connected;  // their addresses
  uint64_t bytes_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t refusals = 0;
};

class StatusBoard final : public drivers::Recorder {
 public:
  // `facts` has the fields that stay the same: program, federation, policy, dataset, model,
  // parameters, run, model_bytes. It hangs there until the first publication.
  explicit StatusBoard(Status facts);

  // --- The loop, and whoever tells it of a record before the loop begins
  void Event(Instant now, const federation::Event& event) override;
  void Action(Instant now, const federation::Action& action) override;
  void Publish(const federation::Controller& controller, const drivers::HostView& view,
               const Surroundings& around);

  // --- Any thread
  // Something that the operator was told, for `events`; seen with the next publication.
  void Say(Instant now, std::string text);
  std::shared_ptr<const Status> Latest() const;  // never null

 private:
  void Committed(Instant now, const federation::CommunityCommitted& commit);
  void ShowProgress(const federation::Controller& controller, Status& status) const;
  void ShowTests(const federation::Controller& controller, Status& status) const;
  void ShowParticipants(const federation::Controller& controller, const drivers::HostView& view,
                        const Surroundings& around, Status& status) const;
  double PerMinute(uint64_t count, Instant now) const;

  // Constant after construction.
  const Status facts_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();

  // Owned by the loop.
  report::SummaryBuilder summary_;
  std::deque<std::pair<Instant, LearnerId>> recent_;  // commits within the last kRateWindowS
  std::deque<CycleStatus> cycles_;
  std::set<LearnerId> refused_;  // and not sent a model since

  mutable std::mutex mutex_;
  std::deque<EventStatus> events_;        // guarded by mutex_
  std::shared_ptr<const Status> latest_;  // guarded by mutex_
};

}  // namespace metis::operations
