// A controller in any world: its loop owns the durable controller, its timers and its watch over
// who is heard. Receiving, decoding, checking and sending happen outside, behind the transport. An
// event that the log refuses (a full disk) is dropped and said; learners ask again, so that nothing
// acknowledged is lost and nothing lost was acknowledged. It owns no thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/drivers/durable_controller.h"
#include "metis/drivers/liveness.h"
#include "metis/drivers/loop.h"
#include "metis/drivers/operator_command.h"
#include "metis/drivers/recorder.h"
#include "metis/drivers/transport.h"

namespace metis::drivers {

// What a host knows beside its controller.
struct HostView {
  Instant now;
  const std::map<LearnerId, Instant>& heard;  // when each was last heard of, in this process
  uint64_t dropped_events = 0;                // that the log refused
};

struct ControllerHostOptions {
  federation::Settings settings;
  ModelPtr initial;
  // As in DurableOptions.
  uint64_t snapshot_every = 1000;
  uint64_t snapshot_bytes = std::numeric_limits<uint64_t>::max();
  std::unique_ptr<federation::ModelStore> store = nullptr;
  std::function<Result<void>()> before_event = nullptr;
  std::function<Result<void>()> before_snapshot = nullptr;
  // Called on the loop, once: a learner's model could not be read (DurableController::failed()),
  // and no event is handled any more. To go on, open the host again.
  std::function<void(const std::string& why)> on_failure = nullptr;
  // Called on the loop, for whoever shows how the federation stands: at the start, soon after
  // something has happened (kNewsAfter), after a command and at the end at once, and otherwise
  // every kNewsAtLeast. It must not wait.
  std::function<void(const federation::Controller&, const HostView&)> watch = nullptr;
  // Called on the loop after every event, before anything that it causes leaves.
  std::function<void(Instant now, const federation::Event&, const std::vector<federation::Action>&)>
      on_handled = nullptr;
};

inline constexpr Duration kNewsAfter = Duration::Milliseconds(250);
inline constexpr Duration kNewsAtLeast = Duration::Seconds(1);

class ControllerHost {
 public:
  // Called on the loop: something to tell the operator ("learner site-3 is lost"). Null: nothing is
  // said.
  using Say = std::function<void(const std::string&)>;

  // Recovers from the log, which outlives it, as does the pool. `recorder` hears the events that
  // are folded again after the snapshot. Takes of the options what is the durable controller's.
  static Result<std::unique_ptr<DurableController>> Recover(ControllerHostOptions& options,
                                                            ModelPool& pool, EventLog& log,
                                                            Recorder* recorder);
  // Loop and recorder outlive it; what the loop still holds for it must be dropped before it goes.
  ControllerHost(std::unique_ptr<DurableController> durable, ControllerHostOptions options,
                 Loop& loop, Recorder* recorder, Say say);
  ~ControllerHost();

  // Before the loop does anything for it: timers run, what was promised before a restart is said
  // again.
  void Begin(ControllerTransport& transport);

  // On the loop, or while it does not run.
  const federation::Controller& controller() const;

  // --- Any thread
  // `ticket` is let go once the message was handled, or dropped: a transport that waits for it
  // before it takes the participant's next messages bounds what a flood of them can pile up.
  void Receive(FromParticipant message, std::shared_ptr<void> ticket = nullptr);
  void Command(federation::OperatorCommand command);
  // The same in the operator's words, with an answer once it is durable and handled. Asking again
  // for what is so already changes nothing and is answered. An error: no participant of that name,
  // a protocol that cannot, a log that refuses; or a host that has failed, where the command may be
  // in the log and takes effect when it is opened again. `answer` is called on the loop, or let go
  // uncalled if the host stops before.
  void Command(federation::OperatorCommand::Kind kind, std::string name,
               std::function<void(Result<Commanded>)> answer);
  // The id of the participant of that name: its old one, or the next free one, which belongs to the
  // name from then on. `answer` is called on the loop.
  void Identify(const std::string& name, std::function<void(LearnerId)> answer);
  // Looks at the controller, on the loop; never called once the host has stopped or failed.
  void Look(std::function<void(const federation::Controller&, Instant now)> look);
  // Of the federation's clock.
  Instant now() const;
  // Called on the loop once the federation has finished and its last test is in (or, where no
  // observer answers, after the grace of `membership.silence`). At once if it is over already.
  void OnFinished(std::function<void()> done);
  // Events that the log refused.
  uint64_t dropped_events() const;

 private:
  struct State;  // everything that the loop owns
  std::unique_ptr<State> state_;
};

}  // namespace metis::drivers
