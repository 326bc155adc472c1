#include "metis/sim/observer_node.h"

namespace metis::sim {
namespace {
constexpr Incarnation kOnlyLife(1);
}  // namespace

ObserverNode::ObserverNode(World& world, const Workload& workload, LearnerId id, Duration heartbeat)
    : world_(world),
      workload_(workload),
      id_(id),
      heartbeat_(heartbeat),
      tester_(workload.MakeTester()) {}

void ObserverNode::Start() {
  if (dismissed_) return;
  if (accepted_) {
    Send(std::nullopt);
  } else {
    federation::LearnerJoined declared;
    declared.learner = id_;
    declared.incarnation = kOnlyLife;
    declared.role = federation::Role::kObserver;
    declared.name = "observer";
    declared.validation_counts = tester_->class_counts();
    declared.schema_hash = workload_.initial()->schema()->hash();
    Send(declared);
  }
  world_.queue.After(heartbeat_, id_.value(), [this] { Start(); });
}

void ObserverNode::Send(std::optional<federation::Event> event) {
  world_.queue.After(Duration(), id_.value(), [this, event = std::move(event)] {
    world_.controller->Receive({id_, kOnlyLife, event});
  });
}

void ObserverNode::Receive(const federation::Action& message) {
  if (std::holds_alternative<federation::AcceptJoin>(message)) accepted_ = true;
  if (std::holds_alternative<federation::Dismiss>(message)) dismissed_ = true;
  const auto* request = std::get_if<federation::RequestTest>(&message);
  if (request == nullptr) return;
  learner::Evaluation tested = tester_->Evaluate(*request->model).value();
  Send(federation::CommunityTested{id_, kOnlyLife, request->version, std::move(tested.counts),
                                   tested.loss});
}

}  // namespace metis::sim
