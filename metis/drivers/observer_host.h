// An observer in any world: joins without training data, has the community models tested that it is
// asked to test, one after the other, and reports counts and loss. It owns no thread; everything
// happens in tasks of its loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/result.h"
#include "metis/core/time.h"
#include "metis/drivers/loop.h"
#include "metis/drivers/transport.h"
#include "metis/work/worker.h"

namespace metis::drivers {

struct ObserverHostOptions {
  federation::LearnerJoined declared;     // role, name, life, class counts, schema
  Duration retry = Duration::Seconds(5);  // joins again until it is accepted
  uint32_t parts = 1;                     // of the test set, tested side by side
  // Called once, on the loop: it was dismissed, refused, has left, or failed. The text says why.
  std::function<void(Result<std::string>)> on_end = nullptr;
};

class ObserverHost : public ParticipantInbox {
 public:
  using Say = std::function<void(const std::string&)>;  // on the loop; null: nothing is said

  // The ports outlive it; what the loop still holds for it must be dropped before it goes.
  ObserverHost(ObserverHostOptions options, Loop& loop, work::Worker& worker,
               ParticipantTransport& transport, Say say = nullptr);

  // --- Any thread
  void Start();
  void Receive(federation::Action message) override;
  void Reconnected() override;
  void Leave();

  // --- On the loop
  bool ended() const { return over_; }

 private:
  LearnerId self() const { return options_.declared.learner; }
  Incarnation life() const { return options_.declared.incarnation; }

  void Join();
  void JoinAgain();
  void DoLeave();
  void Handle(const federation::Action& message);
  void Hear(const federation::AcceptJoin& message);
  void Hear(const federation::RefuseJoin& message);
  void Hear(const federation::Dismiss& message);
  void Hear(const federation::RequestTest& request);
  template <typename T>
  void Hear(const T&) {}  // of no concern to an observer
  void BeginTest();
  void PartDone(size_t part, Result<work::WorkResult> result);
  void TestDone(Result<learner::Evaluation> tested);
  void Finish(Result<std::string> how);
  template <typename... Parts>
  void Tell(const Parts&... parts);

  // --- Constant
  const ObserverHostOptions options_;
  Loop& loop_;
  work::Worker& worker_;
  ParticipantTransport& transport_;
  const Say say_;

  // --- The loop's
  bool accepted_ = false;
  bool over_ = false;
  std::deque<federation::RequestTest> tests_;  // the first one is under way
  bool in_vain_ = false;                       // that one's answer is not wanted any more
  std::vector<work::Worker::JobId> jobs_;      // of its parts
  std::vector<std::optional<Result<learner::Evaluation>>> outcomes_;  // likewise
  size_t outstanding_ = 0;                                            // parts
};

}  // namespace metis::drivers
