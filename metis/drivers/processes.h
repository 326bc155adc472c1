// The hosts of the real world: each with a loop on a thread of its own, and threads that train and
// evaluate. What happens in them is in the hosts, which simulation drives, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/drivers/controller_host.h"
#include "metis/drivers/ending.h"
#include "metis/drivers/event_loop.h"
#include "metis/drivers/learner_host.h"
#include "metis/drivers/observer_host.h"
#include "metis/drivers/thread_worker.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/trainer.h"
#include "metis/work/bench.h"
#include "metis/work/site_tools.h"

namespace metis::drivers {

namespace internal {
// A base, so that it is there before the host that runs on it, and is gone after it.
struct OwnLoop {
  explicit OwnLoop(Instant origin = Instant()) : loop(origin) {}
  EventLoop loop;
};
}  // namespace internal

class ControllerProcess final : private internal::OwnLoop, public ControllerHost {
 public:
  // Recovers from the log; the clock continues there. Pool, log and recorder outlive it; the
  // recorder hears the events that are folded again after the snapshot.
  static Result<std::unique_ptr<ControllerProcess>> Open(ControllerHostOptions options,
                                                         ModelPool& pool, EventLog& log,
                                                         Recorder* recorder, Say say);
  ~ControllerProcess();

  // The transport outlives the process, or Stop() comes first.
  void Start(ControllerTransport& transport);
  void Stop();

  // Any thread: looks at the controller, on the loop; waits for it unless called there. Before
  // Start() and after Stop() it looks in the caller's thread.
  void Inspect(const std::function<void(const federation::Controller&, Instant now)>& look);

 private:
  ControllerProcess(std::unique_ptr<DurableController> durable, ControllerHostOptions options,
                    Recorder* recorder, Say say);

  enum class Life { kNew, kRunning, kStopped };
  std::atomic<Life> life_ = Life::kNew;
};

// What a learner works with. The evaluators may be null where there is no validation set.
struct LearnerTools {
  std::unique_ptr<learner::Trainer> trainer;
  std::unique_ptr<learner::Evaluator> own;        // of its own models
  std::unique_ptr<learner::Evaluator> of_others;  // beside training
};

namespace internal {
struct Workshop : OwnLoop {
  using Trainers = std::vector<std::unique_ptr<learner::Trainer>>;
  using Evaluators = std::vector<std::unique_ptr<learner::Evaluator>>;

  // No number of threads: one for each part of the test set.
  Workshop(Trainers trainers, Evaluators evaluators, Evaluators testers, uint32_t threads,
           double slowdown);

  const bool evaluates;
  const bool keeps_state;
  const uint32_t parts;
  Ending ending;
  work::SiteTools tools;
  work::ToolBench bench;
  ThreadWorker worker;  // last: its threads end before what they use
};
}  // namespace internal

class LearnerProcess final : private internal::Workshop, public LearnerHost {
 public:
  // The transport outlives it. It waits `slowdown` times as long again after every epoch: makes a
  // slow machine of a fast one. `evaluates`, `keeps_state` and `on_end` of the options are its own.
  LearnerProcess(LearnerHostOptions options, LearnerTools tools, ParticipantTransport& transport,
                 Say say, double slowdown = 0);
  ~LearnerProcess() override;

  void Start();
  // Until the session ended (dismissed, refused) or a failure of training. The text says why; an
  // error where the learner or its data are at fault.
  Result<std::string> Wait() { return ending.Wait(); }
  // Waits no longer than that: empty while it is at work.
  std::optional<Result<std::string>> WaitFor(Duration longest) { return ending.WaitFor(longest); }
};

class ObserverProcess final : private internal::Workshop, public ObserverHost {
 public:
  // Parts of the test set, evaluated side by side. The transport outlives it. `parts` and `on_end`
  // of the options are its own.
  ObserverProcess(ObserverHostOptions options, Evaluators testers, ParticipantTransport& transport,
                  Say say);
  ~ObserverProcess() override;

  void Start();
  Result<std::string> Wait() { return ending.Wait(); }
  std::optional<Result<std::string>> WaitFor(Duration longest) { return ending.WaitFor(longest); }
};

}  // namespace metis::drivers
