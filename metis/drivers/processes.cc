#include "metis/drivers/processes.h"

#include <future>
#include <utility>

#include "metis/core/check.h"

namespace metis::drivers {
namespace {

template <typename T>
std::vector<std::unique_ptr<T>> List(std::unique_ptr<T> one, std::unique_ptr<T> other = nullptr) {
  std::vector<std::unique_ptr<T>> list;
  if (one) list.push_back(std::move(one));
  if (other) list.push_back(std::move(other));
  return list;
}

template <typename Options>
Options EndingIn(Ending& ending, Options options) {
  options.on_end = [&ending](Result<std::string> how) { ending.Set(std::move(how)); };
  return options;
}

LearnerHostOptions With(LearnerHostOptions options, bool evaluates, bool keeps_state) {
  options.evaluates = evaluates;
  options.keeps_state = keeps_state;
  return options;
}

ObserverHostOptions With(ObserverHostOptions options, uint32_t parts) {
  options.parts = parts;
  return options;
}

}  // namespace

// --- The controller

ControllerProcess::ControllerProcess(std::unique_ptr<DurableController> durable,
                                     ControllerHostOptions options, Recorder* recorder, Say say)
    : OwnLoop(durable->controller().now()),
      ControllerHost(std::move(durable), std::move(options), loop, recorder, std::move(say)) {}

ControllerProcess::~ControllerProcess() { Stop(); }

Result<std::unique_ptr<ControllerProcess>> ControllerProcess::Open(ControllerHostOptions options,
                                                                   ModelPool& pool, EventLog& log,
                                                                   Recorder* recorder, Say say) {
  Result<std::unique_ptr<DurableController>> durable = Recover(options, pool, log, recorder);
  if (!durable) return durable.error();
  return std::unique_ptr<ControllerProcess>(
      new ControllerProcess(*std::move(durable), std::move(options), recorder, std::move(say)));
}

void ControllerProcess::Start(ControllerTransport& transport) {
  METIS_CHECK(life_ == Life::kNew);
  Begin(transport);
  life_ = Life::kRunning;
  loop.Start();
}

void ControllerProcess::Stop() {
  loop.Stop();
  life_ = Life::kStopped;
}

void ControllerProcess::Inspect(
    const std::function<void(const federation::Controller&, Instant now)>& look) {
  auto here = [&] { look(controller(), now()); };
  if (life_ != Life::kRunning || loop.on_loop()) return here();
  auto looked = std::make_shared<std::promise<void>>();
  std::future<void> done = looked->get_future();
  loop.Post([here, looked = std::move(looked)] {
    here();
    looked->set_value();
  });
  try {
    done.get();
  } catch (const std::future_error&) {
    here();  // stopped meanwhile: the task was dropped, and the loop has ended
  }
}

// --- A learner: one thread trains, the other evaluates beside it

internal::Workshop::Workshop(Trainers trainers, Evaluators evaluators, Evaluators testers,
                             uint32_t threads, double slowdown)
    : evaluates(!evaluators.empty()),
      keeps_state(!trainers.empty() && trainers.front()->keeps_state()),
      parts(static_cast<uint32_t>(testers.size())),
      tools(std::move(trainers), std::move(evaluators), std::move(testers)),
      bench(tools),
      worker(loop, bench, threads != 0 ? threads : parts, slowdown) {}

LearnerProcess::LearnerProcess(LearnerHostOptions options, LearnerTools tools,
                               ParticipantTransport& transport, Say say, double slowdown)
    : Workshop(List(std::move(tools.trainer)),
               List(std::move(tools.own), std::move(tools.of_others)), {}, 2, slowdown),
      LearnerHost(EndingIn(ending, With(std::move(options), evaluates, keeps_state)), loop, worker,
                  transport, std::move(say)) {}

LearnerProcess::~LearnerProcess() { loop.Stop(); }

void LearnerProcess::Start() {
  LearnerHost::Start();
  loop.Start();
}

// --- An observer: a thread for each part of its test set

ObserverProcess::ObserverProcess(ObserverHostOptions options, Evaluators testers,
                                 ParticipantTransport& transport, Say say)
    : Workshop({}, {}, std::move(testers), 0, 0),
      ObserverHost(EndingIn(ending, With(std::move(options), parts)), loop, worker, transport,
                   std::move(say)) {}

ObserverProcess::~ObserverProcess() { loop.Stop(); }

void ObserverProcess::Start() {
  ObserverHost::Start();
  loop.Start();
}

}  // namespace metis::drivers
