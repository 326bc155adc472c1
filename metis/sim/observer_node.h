// The simulated observer: tests community models on the common test set, at once and without
// faults, so that what is measured does not depend on what is simulated.
#pragma once

#include <memory>
#include <vector>

#include "metis/sim/node.h"
#include "metis/sim/workload.h"

namespace metis::sim {

class ObserverNode final : public drivers::ParticipantInbox {
 public:
  // `heartbeat` is how often it shows that it is there.
  ObserverNode(World& world, const Workload& workload, LearnerId id, Duration heartbeat);

  void Start();
  void Receive(federation::Action message) override;

 private:
  void Send(std::optional<federation::Event> event);
  Result<learner::Evaluation> Test(const ModelPtr& model);

  World& world_;
  const Workload& workload_;
  const LearnerId id_;
  const Duration heartbeat_;
  std::vector<std::unique_ptr<learner::Evaluator>> testers_;
  Declared test_set_;
  bool accepted_ = false;
  bool dismissed_ = false;
};

}  // namespace metis::sim
