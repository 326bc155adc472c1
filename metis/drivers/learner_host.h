// A learner in the real world: a loop thread owns its LearnerSession, one thread trains, another
// evaluates other learners' models beside it, one request after the other. It goes on training
// while the controller is absent. Only what the session and the evaluator say goes out: models,
// counts, losses, sizes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/drivers/transport.h"
#include "metis/federation/learner_session.h"
#include "metis/learner/evaluator.h"
#include "metis/learner/trainer.h"

namespace metis::drivers {

struct LearnerHostOptions {
  federation::Settings settings;
  federation::LearnerJoined declared;
  uint64_t seed = 0;
  // Waits this many times as long again after every epoch: makes a slow machine of a fast one.
  double slowdown = 0;
};

// What a learner works with. Each is used by one thread. The evaluators may be null where there is
// no validation set.
struct LearnerTools {
  std::unique_ptr<learner::Trainer> trainer;
  std::unique_ptr<learner::Evaluator> own;        // of its own models, by the training thread
  std::unique_ptr<learner::Evaluator> of_others;  // beside training
};

// What an operator sees of a learner at work.
struct LearnerProgress {
  std::string state;  // "training", "waiting for the controller", ...
  uint64_t updates_acknowledged = 0;
  uint64_t updates_refused = 0;
  uint64_t cycle = 0;
  uint64_t epoch = 0;
  uint64_t examples_trained = 0;
  double training_loss = 0;
  uint64_t version = 0;  // that it trains from
  uint64_t models_evaluated = 0;
};

class LearnerHost final : public ParticipantInbox {
 public:
  // Called on the loop.
  using Say = std::function<void(const std::string&)>;

  // The transport outlives it.
  LearnerHost(LearnerHostOptions options, LearnerTools tools, ParticipantTransport& transport,
              Say say);
  ~LearnerHost() override;

  void Start();
  void Receive(federation::Action message) override;  // any thread
  LearnerProgress progress() const;                   // any thread

  // Says goodbye (LearnerLeft) and stops training as soon as the mini-batch allows.
  void Leave();
  // Until the session ended (dismissed, refused) or a failure of training. The text says why; an
  // error where the learner or its data are at fault.
  Result<std::string> Wait();
  // Waits no longer than that: empty while it goes on.
  std::optional<Result<std::string>> WaitFor(Duration longest);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace metis::drivers
