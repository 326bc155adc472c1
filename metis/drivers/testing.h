// Histories of whole federations, for tests of what listens to a controller or outlives it. For
// tests only; one thread.
#pragma once

#include "metis/federation/testing.h"

namespace metis::drivers {

using federation::Harness;
using federation::OperatorCommand;
using federation::TimerId;

// A federation of three unequal learners in which most things happen.
inline void Play(Harness& harness) {
  harness.JoinAll();
  harness.Update(0, 1, 0.5f, 7);
  harness.Answer(1, harness.IdOf(0, 1), 3);
  harness.After(Duration::Seconds(2));
  harness.Update(2, 1, -1.25f, 11);
  harness.Answer(2, harness.IdOf(0, 1), 4);
  harness.Lose(1);
  harness.Answer(0, harness.IdOf(2, 1), 2);
  harness.After(Duration::Seconds(3));
  harness.Update(0, 2, 2.0f, 13);
  harness.Command(OperatorCommand::Kind::kPause);
  harness.Fire(TimerId::Kind::kEvaluation, 3);
  harness.Return(1);
  harness.Command(OperatorCommand::Kind::kResume);
  harness.Join(2, federation::kSecondLife);
  harness.Update(1, 1, 0.75f, 5);
  harness.Command(OperatorCommand::Kind::kWithdraw, 0);
  harness.Leave(2);
}

// The same, then many updates with tests between them, of which some are refused, until an operator
// ends it.
inline void PlayToTheEnd(Harness& harness) {
  constexpr uint32_t kObserver = 9;
  Play(harness);
  harness.JoinObserver(kObserver);
  for (uint64_t sequence = 3; sequence < 15; ++sequence) {
    harness.After(Duration::Seconds(1));
    const float value = static_cast<float>(sequence) / 3 - 2;
    harness.Update(0, sequence, sequence % 5 == 0 ? 1e9f : value, 3 + sequence);
    harness.Answer(1, harness.IdOf(0, sequence), sequence % 7);
    harness.After(Duration::Seconds(1));
    harness.Update(1, sequence, -value, 4 * sequence);
    harness.Answer(0, harness.IdOf(1, sequence), sequence % 4);
    harness.Test(kObserver, harness.controller().version().value(), 50 + 3 * sequence);
  }
  harness.Command(OperatorCommand::Kind::kStop);
  harness.Test(kObserver, harness.controller().version().value(), 97);
}

}  // namespace metis::drivers
