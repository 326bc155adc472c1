// An observer in the real world: joins without training data, tests the community models that it is
// asked to test, one after the other on a thread of its own, and reports counts and loss.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/drivers/transport.h"
#include "metis/learner/evaluator.h"

namespace metis::drivers {

struct ObserverHostOptions {
  federation::LearnerJoined declared;     // role, name, life, class counts, schema
  Duration retry = Duration::Seconds(5);  // joins again until it is accepted
};

class ObserverHost final : public ParticipantInbox {
 public:
  using Say = std::function<void(const std::string&)>;  // on the loop

  // Parts of the test set, evaluated side by side; the sums are taken in order.
  ObserverHost(ObserverHostOptions options,
               std::vector<std::unique_ptr<learner::Evaluator>> testers,
               ParticipantTransport& transport, Say say);
  ~ObserverHost() override;

  void Start();
  // Any thread.
  void Receive(federation::Action message) override;
  void Reconnected() override;
  void Leave();
  Result<std::string> Wait();
  std::optional<Result<std::string>> WaitFor(Duration longest);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace metis::drivers
