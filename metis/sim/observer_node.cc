#include "metis/sim/observer_node.h"

#include "metis/sim/local_training.h"

namespace metis::sim {
namespace {
constexpr Incarnation kOnlyLife(1);
}  // namespace

ObserverNode::ObserverNode(World& world, const Workload& workload, LearnerId id, Duration heartbeat)
    : world_(world),
      workload_(workload),
      id_(id),
      heartbeat_(heartbeat),
      testers_(workload.MakeTesters()) {
  for (const auto& tester : testers_) {
    METIS_CHECK(test_set_.Add(tester->declared()).ok());  // parts of one set
  }
}

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
    declared.validation_counts = test_set_;
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

void ObserverNode::Receive(federation::Action message) {
  if (std::holds_alternative<federation::AcceptJoin>(message)) accepted_ = true;
  if (std::holds_alternative<federation::Dismiss>(message)) dismissed_ = true;
  const auto* request = std::get_if<federation::RequestTest>(&message);
  if (request == nullptr) return;
  Result<learner::Evaluation> tested = Test(request->model);
  if (!tested) {
    world_.failure = tested.error().In("the observer");
    return;
  }
  Send(federation::CommunityTested{id_, kOnlyLife, request->version, std::move(tested->counts),
                                   tested->loss});
}

// Parts side by side, their sums in order.
Result<learner::Evaluation> ObserverNode::Test(const ModelPtr& model) {
  std::vector<Executor::Job<Result<learner::Evaluation>>> jobs;
  for (uint32_t part = 0; part < testers_.size(); ++part) {
    jobs.push_back(world_.executor.Start<Result<learner::Evaluation>>(
        world_.queue.now(), [journal = world_.journal, part, &tester = *testers_[part], model] {
          return EvaluateOnce(journal, WorkKey::Kind::kTest, part, tester, *model);
        }));
  }
  learner::Evaluation sum;
  double examples = 0;
  std::optional<Error> error;
  for (auto& job : jobs) {  // all are waited for, also after an error: they use the testers
    Result<learner::Evaluation> part = *job.Take();
    if (!part) {
      error = part.error();
      continue;
    }
    const auto count = static_cast<double>(part->counts.examples());
    if (Result<void> added = sum.counts.Add(part->counts); !added) error = added.error();
    sum.loss = jobs.size() == 1 ? part->loss : sum.loss + part->loss * count;
    examples += count;
  }
  if (error) return *error;
  if (jobs.size() > 1 && examples > 0) sum.loss /= examples;
  return sum;
}

}  // namespace metis::sim
