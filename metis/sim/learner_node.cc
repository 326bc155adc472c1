#include "metis/sim/learner_node.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metis/core/text.h"

namespace metis::sim {

using federation::UpdateReceived;

namespace {

// What takes longer than any run takes forever: an Instant has room for that.
Duration TimeOf(uint64_t batches, Duration each) {
  const int64_t most = Duration::Forever().nanoseconds();
  const bool fits = each.IsZero() || batches <= static_cast<uint64_t>(most / each.nanoseconds());
  return fits ? static_cast<int64_t>(batches) * each : Duration::Forever();
}

}  // namespace

LearnerNode::LearnerNode(World& world, const Workload& workload,
                         const federation::Settings& settings, DeviceGroup group, LearnerId learner,
                         uint64_t seed, bool train_ahead)
    : world_(world),
      workload_(workload),
      settings_(settings),
      group_(std::move(group)),
      learner_(learner),
      seed_(seed),
      begin_epochs_(train_ahead ? Executor::Begin::kAhead : Executor::Begin::kWhenTaken) {}

void LearnerNode::Start() {
  METIS_CHECK(!up());
  ++life_;
  incarnation_ = incarnation_.Next();
  training_ = std::make_shared<LocalTraining>(learner_, workload_.MakeTrainer(learner_),
                                              workload_.MakeEvaluator(learner_), workload_.pool(),
                                              world_.journal);
  evaluator_ = workload_.MakeEvaluator(learner_);
  federation::LearnerJoined declared;
  declared.learner = learner_;
  declared.incarnation = incarnation_;
  declared.name = Text("learner-", learner_);
  declared.group = group_.name;
  declared.training_examples = training_->trainer().training_examples();
  if (evaluator_) declared.validation_counts = evaluator_->declared();
  declared.schema_hash = workload_.initial()->schema()->hash();
  session_ = std::make_unique<federation::LearnerSession>(settings_, declared, seed_);
  if (world_.cycles != nullptr) world_.cycles->LifeBegins(learner_, group_.name);
  std::vector<federation::SessionAction> actions;
  session_->Start(world_.queue.now(), actions);
  Perform(std::move(actions));
  Heartbeat();
}

void LearnerNode::Crash() {
  ++life_;
  session_.reset();
  StopTraining();
  training_.reset();
  evaluator_.reset();
  evaluations_.clear();
  paused_until_ = Instant();
}

void LearnerNode::Stir() {
  METIS_CHECK(!up());
  incarnation_ = incarnation_.Next();
  world_.SendToController({learner_, incarnation_, std::nullopt}, kControlBytes);
}

void LearnerNode::Leave() {
  // A frozen machine says no goodbye.
  bool frozen = world_.queue.now() < paused_until_;
  if (!frozen) Send(federation::LearnerLeft{learner_, incarnation_});
  Crash();
}

void LearnerNode::PauseUntil(Instant until) { paused_until_ = std::max(paused_until_, until); }

void LearnerNode::After(Duration delay, EventQueue::Task task) {
  world_.queue.After(delay, learner_.value(),
                     [this, life = life_, task = std::move(task)] { AtOrAfterPause(life, task); });
}

void LearnerNode::AtOrAfterPause(uint64_t life, EventQueue::Task task) {
  if (life != life_) return;
  if (world_.queue.now() < paused_until_) {
    world_.faults.Count(Fault::kLearnerPause);
    world_.queue.At(paused_until_, learner_.value(),
                    [this, life, task = std::move(task)] { AtOrAfterPause(life, task); });
    return;
  }
  task();
}

void LearnerNode::Send(federation::Event event, bool with_model) {
  uint64_t bytes = kControlBytes + (with_model ? workload_.initial()->schema()->bytes() : 0);
  world_.SendToController({learner_, incarnation_, std::move(event)}, bytes);
}

void LearnerNode::Heartbeat() {
  world_.SendToController({learner_, incarnation_, std::nullopt}, kControlBytes);
  After(settings_.membership.heartbeat, [this] { Heartbeat(); });
}

// --- The controller's messages
// -------------------------------------------------------------------------

void LearnerNode::Receive(federation::Action message) {
  if (!up()) return;
  if (world_.queue.now() < paused_until_) {
    AtOrAfterPause(life_, [this, message] { Receive(message); });
    return;
  }
  std::vector<federation::SessionAction> actions;
  const Instant now = world_.queue.now();
  std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, federation::RequestEvaluation>) {
          if (content.incarnation == incarnation_) Enqueue(content);
        } else if constexpr (std::is_same_v<T, federation::CancelEvaluation>) {
          if (content.incarnation == incarnation_) Cancel(content);
        } else if constexpr (std::is_same_v<T, federation::AcknowledgeUpdate> ||
                             std::is_same_v<T, federation::RejectUpdate>) {
          if (content.id.incarnation == incarnation_) session_->Handle(now, content, actions);
        } else if constexpr (requires { session_->Handle(now, content, actions); }) {
          if (content.incarnation == incarnation_) session_->Handle(now, content, actions);
        }
      },
      message);
  Perform(std::move(actions));
}

// --- What the session asks for
// ------------------------------------------------------------------------

void LearnerNode::Perform(std::vector<federation::SessionAction> actions) {
  for (const federation::SessionAction& action : actions) {
    if (!up()) return;
    std::visit([this](const auto& content) { Do(content); }, action);
  }
}

void LearnerNode::Do(const federation::SendToController& action) {
  if (const auto* update = std::get_if<UpdateReceived>(&action.message)) {
    const FaultRates& rates = world_.faults.rates();
    if (earlier_life_ && earlier_life_->id.incarnation < incarnation_ &&
        world_.faults.Strikes(Fault::kStaleUpdate, rates.stale_update, learner_.value(),
                              world_.queue.now())) {
      Send(*earlier_life_, true);
    }
    earlier_life_ = *update;
    Send(Corrupted(*update), true);
    return;
  }
  std::visit([this](const auto& message) { Send(message); }, action.message);
}

UpdateReceived LearnerNode::Corrupted(UpdateReceived update) {
  const FaultRates& rates = world_.faults.rates();
  const Instant now = world_.queue.now();
  auto spoil = [&](float value) {
    ModelDraft draft = workload_.pool().Draft();
    std::ranges::copy(update.model->parameters(), draft.parameters().begin());
    size_t at = world_.faults.Next(learner_.value()).Below(draft.parameters().size());
    draft.parameters()[at] = value;
    update.model = std::move(draft).Seal();
  };
  if (world_.faults.Strikes(Fault::kNanUpdate, rates.nan_update, learner_.value(), now)) {
    spoil(std::numeric_limits<float>::quiet_NaN());
  }
  if (world_.faults.Strikes(Fault::kHugeUpdate, rates.huge_update, learner_.value(), now))
    spoil(1e12f);
  if (ConfusionCounts forged = update.own_counts.AsConfusion();
      forged.classes() > 0 &&
      world_.faults.Strikes(Fault::kForgedCounts, rates.forged_counts, learner_.value(), now)) {
    forged.Count(0, 0, 1000);
    update.own_counts = std::move(forged);
  }
  return update;
}

bool LearnerNode::watches_loss() const {
  return settings_.policy.trigger == federation::TriggerKind::kAdaptive &&
         training_->has_evaluator();
}

void LearnerNode::StopTraining() {
  if (stop_training_) std::exchange(stop_training_, nullptr)();
}

template <typename T>
void LearnerNode::AfterJob(Duration delay, Executor::Job<Result<T>> job,
                           std::function<void(const T&)> task) {
  After(delay, [this, job, task = std::move(task)]() mutable {
    std::optional<Result<T>> outcome = job.Take();
    ++world_.jobs_taken;
    if (!outcome) return;  // overtaken by a newer model
    if (*outcome) return task(**outcome);
    world_.failure = outcome->error().In(Text("learner ", learner_));
  });
}

void LearnerNode::Do(const federation::LoadModel& action) {
  StopTraining();
  training_->Load(action.model);
  const auto loaded = [this, cycle = action.cycle](double loss) {
    std::vector<federation::SessionAction> actions;
    session_->ModelLoaded(world_.queue.now(), cycle, loss, actions);
    Perform(std::move(actions));
  };
  if (!watches_loss()) {
    After(Duration(), [loaded] { loaded(std::numeric_limits<double>::quiet_NaN()); });
    return;
  }
  const Duration taken = EvaluationTime();
  auto job = world_.executor.Start<Result<learner::Evaluation>>(
      world_.queue.now() + taken,
      [training = training_, model = action.model] { return training->Evaluate(*model); });
  stop_training_ = [job]() mutable { job.Abandon(); };
  AfterJob<learner::Evaluation>(
      taken, job, [loaded](const learner::Evaluation& evaluation) { loaded(evaluation.loss); });
}

void LearnerNode::Do(const federation::TrainEpoch& action) {
  Duration taken = TimeOf(training_->trainer().steps_per_epoch(), group_.batch_time);
  const bool evaluate = watches_loss();
  if (evaluate) taken = std::min(taken + EvaluationTime(), Duration::Forever());
  std::stop_source stop;
  auto job = world_.executor.Start<Result<TrainedEpoch>>(
      world_.queue.now() + taken,
      [training = training_, evaluate, key = learner::EpochKey{action.cycle, action.epoch},
       token = stop.get_token()] { return training->TrainEpoch(key, evaluate, token); },
      begin_epochs_);
  stop_training_ = [job, stop]() mutable {
    stop.request_stop();
    job.Abandon();
  };
  AfterJob<TrainedEpoch>(taken, job, [this, action](const TrainedEpoch& trained) {
    stop_training_ = nullptr;
    world_.examples_trained += trained.examples_computed;
    double loss = std::numeric_limits<double>::quiet_NaN();
    if (trained.own) {
      loss = trained.own->loss;
      own_counts_ = trained.own->counts;
    }
    std::vector<federation::SessionAction> actions;
    session_->EpochTrained(world_.queue.now(), action.cycle, action.epoch, trained.steps, loss,
                           actions);
    if (world_.cycles != nullptr && !actions.empty()) {
      bool asked = std::any_of(actions.begin(), actions.end(), [](const auto& each) {
        return std::holds_alternative<federation::TakeModel>(each);
      });
      world_.cycles->EpochDecided(learner_, session_->cycle().record(), asked);
    }
    Perform(std::move(actions));
  });
}

void LearnerNode::Do(const federation::TakeModel& action) {
  Result<ModelPtr> model = training_->TakeModel();
  if (!model) {
    world_.failure = model.error().In(Text("learner ", learner_));
    return;
  }
  const auto taken_up = [this, action, model = *model] {
    std::vector<federation::SessionAction> actions;
    session_->ModelTaken(world_.queue.now(), action.cycle, model, own_counts_, actions);
    Perform(std::move(actions));
  };
  if (!training_->has_evaluator()) own_counts_ = {};
  if (!training_->has_evaluator() || watches_loss()) {
    After(Duration(), taken_up);
    return;
  }
  const Duration taken = EvaluationTime();
  auto job = world_.executor.Start<Result<learner::Evaluation>>(
      world_.queue.now() + taken,
      [training = training_, model = *model] { return training->Evaluate(*model); });
  stop_training_ = [job]() mutable { job.Abandon(); };
  AfterJob<learner::Evaluation>(taken, job, [this, taken_up](const learner::Evaluation& own) {
    stop_training_ = nullptr;
    own_counts_ = own.counts;
    taken_up();
  });
}

void LearnerNode::Do(const federation::StartRetry& action) {
  After(action.due - world_.queue.now(), [this, retry = ++retry_] {
    if (retry != retry_) return;  // replaced by a later one
    std::vector<federation::SessionAction> actions;
    session_->RetryDue(world_.queue.now(), actions);
    Perform(std::move(actions));
  });
}

void LearnerNode::Do(const federation::Ended&) { Crash(); }

// --- The evaluator
// ------------------------------------------------------------------------------------

Duration LearnerNode::EvaluationTime() const {
  return TimeOf(evaluator_->batches(), group_.evaluation_batch_time);
}

void LearnerNode::Enqueue(const federation::RequestEvaluation& request) {
  if (world_.faults.Strikes(Fault::kSilentEvaluator, world_.faults.rates().silent_evaluator,
                            learner_.value(), world_.queue.now())) {
    return;
  }
  for (const federation::RequestEvaluation& queued : evaluations_) {
    if (queued.update == request.update) return;
  }
  evaluations_.push_back(request);
  if (evaluations_.size() == 1) BeginEvaluation();
}

void LearnerNode::Cancel(const federation::CancelEvaluation& cancel) {
  // The one under way runs to its end; its answer comes too late and is ignored.
  for (size_t i = 1; i < evaluations_.size(); ++i) {
    if (evaluations_[i].update != cancel.update) continue;
    evaluations_.erase(evaluations_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void LearnerNode::BeginEvaluation() {
  const Duration taken = EvaluationTime();
  auto job = world_.executor.Start<Result<learner::Evaluation>>(
      world_.queue.now() + taken, [evaluator = evaluator_, model = evaluations_.front().model,
                                   journal = world_.journal, who = learner_.value()] {
        return EvaluateOnce(journal, WorkKey::Kind::kEvaluation, who, *evaluator, *model);
      });
  AfterJob<learner::Evaluation>(
      taken, job, [this](const learner::Evaluation& done) { EvaluationDone(done.counts); });
}

void LearnerNode::EvaluationDone(const Statistics& evaluated) {
  federation::RequestEvaluation request = std::move(evaluations_.front());
  evaluations_.pop_front();
  ConfusionCounts counts = evaluated.AsConfusion();
  if (world_.faults.Strikes(Fault::kForgedCounts, world_.faults.rates().forged_counts,
                            learner_.value(), world_.queue.now())) {
    counts.Count(counts.classes() - 1, counts.classes() - 1, 500);
  }
  Send(federation::CountsReceived{learner_, incarnation_, request.update, std::move(counts)});
  if (!evaluations_.empty()) BeginEvaluation();
}

}  // namespace metis::sim
