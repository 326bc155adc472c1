#include "metis/drivers/observer_host.h"

#include <utility>

#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::drivers {
namespace {

// The sums of all parts, taken in order.
Result<learner::Evaluation> Sum(
    const std::vector<std::optional<Result<learner::Evaluation>>>& parts) {
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

ObserverHost::ObserverHost(ObserverHostOptions options, Loop& loop, work::Worker& worker,
                           ParticipantTransport& transport, Say say)
    : options_(std::move(options)),
      loop_(loop),
      worker_(worker),
      transport_(transport),
      say_(std::move(say)) {
  METIS_CHECK(options_.parts > 0);
}

template <typename... Parts>
void ObserverHost::Tell(const Parts&... parts) {
  if (say_) say_(Text(parts...));
}

void ObserverHost::Start() {
  loop_.Post([this] { Join(); });
}

void ObserverHost::Receive(federation::Action message) {
  loop_.Post([this, message = std::move(message)] { Handle(message); });
}

void ObserverHost::Reconnected() {
  loop_.Post([this] { JoinAgain(); });
}

void ObserverHost::Leave() {
  loop_.Post([this] { DoLeave(); });
}

void ObserverHost::Join() {
  if (accepted_ || over_) return;
  transport_.Send(options_.declared);
  loop_.At(loop_.now() + options_.retry, [this] { Join(); });
}

// A learner that was forgotten is told so when it asks or sends. Nothing that an observer says is
// answered, and joining again changes nothing where it is known.
void ObserverHost::JoinAgain() {
  if (accepted_ && !over_) transport_.Send(options_.declared);
}

void ObserverHost::DoLeave() {
  if (over_) return;
  transport_.Send(federation::LearnerLeft{self(), life()});
  Finish(std::string("left the federation"));
}

void ObserverHost::Finish(Result<std::string> how) {
  if (over_) return;
  over_ = true;
  tests_.clear();
  for (work::Worker::JobId job : jobs_) worker_.Abandon(job);
  if (options_.on_end) options_.on_end(std::move(how));
}

void ObserverHost::Handle(const federation::Action& message) {
  if (over_) return;
  std::visit(
      [this](const auto& content) {
        if constexpr (requires { content.incarnation; }) {
          if (content.incarnation == life()) Hear(content);
        }
      },
      message);
}

void ObserverHost::Hear(const federation::AcceptJoin&) {
  if (!accepted_) Tell("accepted by the controller");
  accepted_ = true;
}

void ObserverHost::Hear(const federation::RefuseJoin& message) {
  if (!accepted_) return Finish(Invalid(message.message));
  Tell("the controller does not know this observer any more and refuses it: ", message.message);
}

void ObserverHost::Hear(const federation::Dismiss& message) { Finish(message.reason); }

void ObserverHost::Hear(const federation::RequestTest& request) {
  for (size_t i = in_vain_ ? 1 : 0; i < tests_.size(); ++i) {
    if (tests_[i].version != request.version) continue;
    if (tests_[i].model->Fingerprint() == request.model->Fingerprint()) return;
    // Of a controller that was restored from an older copy: that version is another one now.
    if (i > 0) {
      tests_[i] = request;
    } else {
      in_vain_ = true;
      tests_.insert(tests_.begin() + 1, request);
    }
    return;
  }
  tests_.push_back(request);
  if (tests_.size() == 1) BeginTest();
}

void ObserverHost::BeginTest() {
  outcomes_.assign(options_.parts, std::nullopt);
  outstanding_ = options_.parts;
  jobs_.clear();
  for (uint32_t part = 0; part < options_.parts; ++part) {
    work::Work test;
    test.kind = work::Kind::kTest;
    test.who = part;
    test.model = tests_.front().model;
    jobs_.push_back(worker_.Start(std::move(test), [this, part](Result<work::WorkResult> result) {
      if (!over_) PartDone(part, std::move(result));
    }));
  }
}

void ObserverHost::PartDone(size_t part, Result<work::WorkResult> result) {
  outcomes_[part] = result ? Result<learner::Evaluation>(std::move(*result->evaluation))
                           : Result<learner::Evaluation>(result.error());
  if (--outstanding_ == 0) TestDone(Sum(outcomes_));
}

void ObserverHost::TestDone(Result<learner::Evaluation> tested) {
  const Version version = tests_.front().version;
  tests_.pop_front();
  if (!tested) return Finish(tested.error().In(Text("can't test version ", version)));
  if (!std::exchange(in_vain_, false)) {
    Tell("tested version ", version, ": loss ", Fixed(tested->loss, 4));
    transport_.Send(federation::CommunityTested{self(), life(), version, std::move(tested->counts),
                                                tested->loss});
  }
  if (!tests_.empty()) BeginTest();
}

}  // namespace metis::drivers
