#include "metis/sim/participant.h"

#include <utility>

#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::sim {

using federation::UpdateReceived;

Participant::Participant(World& world, Switchboard& controller, uint32_t number, std::string name,
                         const federation::Settings& settings)
    : world_(world),
      settings_(settings),
      controller_(controller),
      machine_(world.queue, world.faults, number, Fault::kLearnerPause),
      number_(number),
      name_(std::move(name)),
      line_(world, number) {}

Participant::~Participant() = default;

// --- The life of a process

void Participant::Start() {
  METIS_CHECK(!up());
  ++process_;
  incarnation_ = incarnation_.Next();
  begun_ = false;
  controller_life_ = 0;
  machine_.StartProcess();
  Dial();
}

// Until there is a conversation: the controller may be down, cut off, or die as it answers.
void Participant::Dial() {
  if (connected()) return;
  if (!world_.network.IsCut(number_)) controller_.Dial(*this);
  machine_.After(settings_.retry, [this] { Dial(); });
}

void Participant::Connected(uint64_t controller_life, LearnerId id) {
  if (!up() || connected()) return;
  if (begun_ && id != id_) {
    // The controller was put back to before it knew us: to it we are somebody new.
    Crash();
    return Start();
  }
  controller_life_ = controller_life;
  id_ = id;
  if (std::exchange(begun_, true)) return inbox()->Reconnected();
  Begin(id, incarnation_);
  machine_.Post([this] { Heartbeat(); });
}

void Participant::Broken() {
  controller_life_ = 0;
  machine_.Post([this] { Dial(); });
}

void Participant::Crash() {
  machine_.Kill();
  End();
  asked_.clear();
  owed_.clear();
  controller_life_ = 0;
}

void Participant::Bury(std::shared_ptr<drivers::ParticipantInbox> host) {
  if (host) world_.queue.After(Duration(), number_, [host = std::move(host)] {});
}

void Participant::Leave() {
  // A frozen machine says no goodbye.
  if (begun_ && !machine_.frozen()) {
    SendOn(federation::LearnerLeft{id_, incarnation_});
  }
  Crash();
}

void Participant::RestartBriefly() {
  METIS_CHECK(!up());
  incarnation_ = incarnation_.Next();
  controller_life_ = controller_.life();
  SendOn(std::nullopt);
  controller_life_ = 0;
}

// --- What travels

void Participant::Heartbeat() {
  CheckOwed();
  SendOn(std::nullopt);
  machine_.After(settings_.membership.heartbeat, [this] { Heartbeat(); });
}

void Participant::Deliver(const federation::Action& message) {
  if (!up() || inbox() == nullptr) return;
  if (const auto* request = std::get_if<federation::RequestEvaluation>(&message)) {
    if (request->incarnation == incarnation_) {
      asked_.insert(request->update);
      owed_.emplace(request->update, world_.queue.now());
    }
  } else if (const auto* cancel = std::get_if<federation::CancelEvaluation>(&message)) {
    // Its answer may be on its way all the same.
    auto owed = owed_.find(cancel->update);
    if (owed != owed_.end()) owed->second = Instant() + Duration::Forever();
  }
  inbox()->Receive(message);
}

void Participant::Send(federation::Event event) {
  if (!up()) return;
  const FaultRates& rates = world_.faults.rates();
  const auto strikes = [&](Fault fault, double rate) {
    return world_.faults.Strikes(fault, rate, number_, world_.queue.now());
  };
  if (const auto* update = std::get_if<UpdateReceived>(&event)) {
    const bool earlier = earlier_life_ && earlier_life_->id.incarnation < incarnation_;
    if (earlier && strikes(Fault::kStaleUpdate, rates.stale_update)) SendOn(*earlier_life_);
    earlier_life_ = *update;
  } else if (const auto* counts = std::get_if<federation::CountsReceived>(&event)) {
    owed_.erase(counts->update);
    if (!asked_.contains(counts->update)) {
      world_.Broken(Text(name_, " in life ", incarnation_, " sends counts of update ",
                         counts->update.sequence, " of learner ", counts->update.learner,
                         ", for which this life was not asked"));
    }
    if (strikes(Fault::kSilentEvaluator, rates.silent_evaluator)) return;
  } else if (const auto* failed = std::get_if<federation::EvaluationFailed>(&event)) {
    owed_.erase(failed->update);
  }
  SendOn(std::move(event));
}

void Participant::SendOn(std::optional<federation::Event> event) {
  if (!connected()) return;
  const bool model = event && std::holds_alternative<UpdateReceived>(*event);
  const uint64_t bytes = kControlBytes + (model ? controller_.model_bytes() : 0);
  const drivers::FromParticipant message{id_, incarnation_, std::move(event)};
  line_.Carry([this, bytes, message, life = controller_life_] {
    world_.network.Send(number_, bytes, number_,
                        [this, life, message] { controller_.Receive(life, message); });
  });
}

// An evaluator that has nothing in hand owes nothing.
void Participant::CheckOwed() {
  if (busy()) return;
  const Duration patience = 2 * settings_.membership.heartbeat;
  const Instant now = world_.queue.now();
  if (now - machine_.frozen_until() <= patience) return;
  for (const auto& [update, since] : owed_) {
    if (since >= Instant() + Duration::Forever() || now - since <= patience) continue;
    world_.Broken(Text(name_, " was asked to evaluate update ", update.sequence, " of learner ",
                       update.learner, " and does nothing"));
  }
}

// --- Learners

SimulatedLearner::Facts SimulatedLearner::FactsOf(const learner::Workload& workload,
                                                  uint32_t number, const DeviceGroup& group) {
  const std::unique_ptr<learner::Trainer> trainer = workload.MakeTrainer(LearnerId(number));
  const std::unique_ptr<learner::Evaluator> evaluator = workload.MakeEvaluator(LearnerId(number));
  Facts facts;
  facts.training_examples = trainer->training_examples();
  facts.keeps_state = trainer->keeps_state();
  facts.pace.epoch = TimeOf(trainer->steps_per_epoch(), group.batch_time);
  if (!evaluator) return facts;
  facts.validation_set = evaluator->declared();
  facts.pace.evaluation = TimeOf(evaluator->batches(), group.evaluation_batch_time);
  return facts;
}

SimulatedLearner::SimulatedLearner(World& world, Switchboard& controller,
                                   const learner::Workload& workload,
                                   const federation::Settings& settings, DeviceGroup group,
                                   uint32_t number, uint64_t seed)
    : Participant(world, controller, number, Text("learner-", number), settings),
      workload_(workload),
      group_(std::move(group)),
      seed_(seed),
      facts_(FactsOf(workload, number, group_)) {}

SimulatedLearner::~SimulatedLearner() = default;

void SimulatedLearner::Begin(LearnerId id, Incarnation incarnation) {
  drivers::LearnerHostOptions options;
  options.settings = settings_;
  options.declared.learner = id;
  options.declared.incarnation = incarnation;
  options.declared.name = name();
  options.declared.group = group_.name;
  options.declared.training_examples = facts_.training_examples;
  options.declared.validation_counts = facts_.validation_set;
  options.declared.schema_hash = workload_.initial()->schema()->hash();
  options.seed = seed_;
  options.evaluates = !facts_.validation_set.none();
  options.keeps_state = facts_.keeps_state;
  options.on_end = [this](const Result<std::string>&) { Crash(); };
  if (world_.cycles != nullptr) {
    world_.cycles->LifeBegins(id, group_.name);
    options.on_epoch = [this](const federation::CycleRecord& record, bool asks) {
      world_.cycles->EpochDecided(this->id(), record, asks);
    };
  }
  worker_ = std::make_unique<VirtualWorker>(world_, machine_, facts_.pace, number());
  faulty_ = std::make_unique<FaultyWorker>(world_, number(), workload_.pool(), *worker_);
  host_ =
      std::make_shared<drivers::LearnerHost>(std::move(options), machine_, *faulty_, transport());
  host_->Start();
}

void SimulatedLearner::End() {
  Bury(std::exchange(host_, nullptr));
  if (worker_) worker_->AbandonAll();
}

// --- The observer

SimulatedObserver::SimulatedObserver(World& world, Switchboard& controller,
                                     const learner::Workload& workload,
                                     const federation::Settings& settings, uint32_t number)
    : Participant(world, controller, number, "observer", settings), workload_(workload) {
  line().Spare();
  for (const auto& tester : workload.MakeTesters()) {
    METIS_CHECK(test_set_.Add(tester->declared()).ok());  // parts of one set
    ++parts_;
  }
}

SimulatedObserver::~SimulatedObserver() = default;

void SimulatedObserver::Begin(LearnerId id, Incarnation incarnation) {
  drivers::ObserverHostOptions options;
  options.declared.learner = id;
  options.declared.incarnation = incarnation;
  options.declared.role = federation::Role::kObserver;
  options.declared.name = name();
  options.declared.validation_counts = test_set_;
  options.declared.schema_hash = workload_.initial()->schema()->hash();
  options.retry = settings_.retry;
  options.parts = parts_;
  options.on_end = [this](const Result<std::string>&) { Crash(); };
  worker_ = std::make_unique<VirtualWorker>(world_, machine_, Pace(), std::nullopt);
  host_ =
      std::make_shared<drivers::ObserverHost>(std::move(options), machine_, *worker_, transport());
  host_->Start();
}

void SimulatedObserver::End() {
  Bury(std::exchange(host_, nullptr));
  if (worker_) worker_->AbandonAll();
}

}  // namespace metis::sim
