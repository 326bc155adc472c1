#include "metis/drivers/observer_host.h"

#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/text.h"
#include "metis/drivers/ending.h"
#include "metis/drivers/event_loop.h"

namespace metis::drivers {
namespace {

using Testers = std::vector<std::unique_ptr<learner::Evaluator>>;

// Parts side by side, their sums in order.
Result<learner::Evaluation> Test(const Testers& testers, const Model& model) {
  std::vector<std::optional<Result<learner::Evaluation>>> parts(testers.size());
  {
    std::vector<std::jthread> others;
    for (size_t part = 1; part < testers.size(); ++part) {
      others.emplace_back([&, part] { parts[part] = testers[part]->Evaluate(model); });
    }
    parts[0] = testers[0]->Evaluate(model);
  }
  learner::Evaluation sum;
  double examples = 0;
  for (const std::optional<Result<learner::Evaluation>>& outcome : parts) {
    const Result<learner::Evaluation>& part = *outcome;
    if (!part) return part.error();
    const auto count = static_cast<double>(part->counts.examples());
    if (Result<void> added = sum.counts.Add(part->counts); !added) return added.error();
    sum.loss = parts.size() == 1 ? part->loss : sum.loss + part->loss * count;
    examples += count;
  }
  if (parts.size() > 1 && examples > 0) sum.loss /= examples;
  return sum;
}

}  // namespace

struct ObserverHost::State {
  State(ObserverHostOptions given, Testers parts, ParticipantTransport& to, Say tell)
      : options(std::move(given)), transport(to), say(std::move(tell)), testers(std::move(parts)) {
    METIS_CHECK(!testers.empty());
  }
  ~State() {
    loop.Stop();
    testing.Stop();
  }

  LearnerId self() const { return options.declared.learner; }
  Incarnation life() const { return options.declared.incarnation; }

  void Join();
  void Reconnected();
  void Leave();
  void Handle(const federation::Action& message);
  void Hear(const federation::AcceptJoin& message);
  void Hear(const federation::RefuseJoin& message);
  void Hear(const federation::Dismiss& message);
  void Hear(const federation::RequestTest& request);
  template <typename T>
  void Hear(const T&) {}  // of no concern to an observer
  void BeginTest();
  void TestDone(Result<learner::Evaluation> tested);
  void Finish(Result<std::string> how);

  // --- Constant
  const ObserverHostOptions options;
  ParticipantTransport& transport;
  const Say say;

  // --- Synchronise themselves
  EventLoop loop;
  Ending ending;

  // --- The loop's
  bool accepted = false;
  bool over = false;
  std::deque<federation::RequestTest> tests;  // the first one is under way
  bool in_vain = false;                       // that one's answer is not wanted any more

  // --- The testing thread's
  const Testers testers;
  EventLoop testing;
};

ObserverHost::ObserverHost(ObserverHostOptions options, Testers testers,
                           ParticipantTransport& transport, Say say)
    : state_(std::make_unique<State>(
          std::move(options), std::move(testers), transport,
          say ? std::move(say) : [](const std::string&) {})) {}

ObserverHost::~ObserverHost() = default;

void ObserverHost::Start() {
  state_->testing.Start();
  state_->loop.Post([state = state_.get()] { state->Join(); });
  state_->loop.Start();
}

void ObserverHost::Receive(federation::Action message) {
  state_->loop.Post(
      [state = state_.get(), message = std::move(message)] { state->Handle(message); });
}

void ObserverHost::Reconnected() {
  state_->loop.Post([state = state_.get()] { state->Reconnected(); });
}

void ObserverHost::Leave() {
  state_->loop.Post([state = state_.get()] { state->Leave(); });
}

Result<std::string> ObserverHost::Wait() { return state_->ending.Wait(); }

std::optional<Result<std::string>> ObserverHost::WaitFor(Duration longest) {
  return state_->ending.WaitFor(longest);
}

void ObserverHost::State::Join() {
  if (accepted || over) return;
  transport.Send(options.declared);
  loop.At(loop.now() + options.retry, [this] { Join(); });
}

// A learner that was forgotten is told so when it asks or sends. Nothing that an observer says is
// answered, and joining again changes nothing where it is known.
void ObserverHost::State::Reconnected() {
  if (accepted && !over) transport.Send(options.declared);
}

void ObserverHost::State::Leave() {
  if (over) return;
  transport.Send(federation::LearnerLeft{self(), life()});
  Finish(std::string("left the federation"));
}

void ObserverHost::State::Finish(Result<std::string> how) {
  if (over) return;
  over = true;
  tests.clear();
  ending.Set(std::move(how));
}

void ObserverHost::State::Handle(const federation::Action& message) {
  if (over) return;
  std::visit(
      [this](const auto& content) {
        if constexpr (requires { content.incarnation; }) {
          if (content.incarnation == life()) Hear(content);
        }
      },
      message);
}

void ObserverHost::State::Hear(const federation::AcceptJoin&) {
  if (!accepted) say("accepted by the controller");
  accepted = true;
}

void ObserverHost::State::Hear(const federation::RefuseJoin& message) {
  if (!accepted) return Finish(Invalid(message.message));
  say(Text("the controller does not know this observer any more and refuses it: ",
           message.message));
}

void ObserverHost::State::Hear(const federation::Dismiss& message) { Finish(message.reason); }

void ObserverHost::State::Hear(const federation::RequestTest& request) {
  for (size_t i = in_vain ? 1 : 0; i < tests.size(); ++i) {
    if (tests[i].version != request.version) continue;
    if (tests[i].model->Fingerprint() == request.model->Fingerprint()) return;
    // Of a controller that was restored from an older copy: that version is another one now.
    if (i > 0) {
      tests[i] = request;
    } else {
      in_vain = true;
      tests.insert(tests.begin() + 1, request);
    }
    return;
  }
  tests.push_back(request);
  if (tests.size() == 1) BeginTest();
}

void ObserverHost::State::BeginTest() {
  testing.Post([this, model = tests.front().model] {
    Result<learner::Evaluation> tested = Test(testers, *model);
    loop.Post([this, tested = std::move(tested)]() mutable {
      if (!over) TestDone(std::move(tested));
    });
  });
}

void ObserverHost::State::TestDone(Result<learner::Evaluation> tested) {
  const Version version = tests.front().version;
  tests.pop_front();
  if (!tested) return Finish(tested.error().In(Text("can't test version ", version)));
  if (!std::exchange(in_vain, false)) {
    say(Text("tested version ", version, ": loss ", Fixed(tested->loss, 4)));
    transport.Send(federation::CommunityTested{self(), life(), version, std::move(tested->counts),
                                               tested->loss});
  }
  if (!tests.empty()) BeginTest();
}

}  // namespace metis::drivers
