// Bugs planted on purpose, to show that the simulation finds them. In every normal build Planted()
// is the constant false and the compiler removes what it guards; only
// tests/simulation/planted_bugs_test can switch one on: it links the sources that call Planted()
// compiled once more, with METIS_PLANTED_BUGS, and everything else as it is. Only a .cc includes
// this, so that nothing but those sources differs.
#pragma once

#include <array>
#include <string_view>

namespace metis {

enum class PlantedBug {
  kNone,
  kLostUpdate,             // a learner that gets lost takes its acknowledged update with it
  kDoubleApply,            // a repeated update is committed again
  kVersionReuse,           // two commits in a row share a version
  kQuorumBySizeOnly,       // quorum counts members, not live learners
  kOwnCountsTwice,         // the requester's own counts are pooled twice
  kNanPasses,              // the gate lets NaN and infinite values through
  kFloatSum,               // the community is a float sum in arrival order
  kWrongMedian,            // the staleness median is taken of unsorted values
  kStaleIncarnation,       // an update of an earlier life is accepted
  kOldTermKept,            // p' w' is not subtracted
  kActionBeforeDurable,    // actions leave before their event is durable
  kForgedCounts,           // counts with other row sums than declared are pooled
  kStepsAtArrival,         // steps count when an update arrives, not when it is committed
  kCoverageByHeads,        // coverage counts evaluators, not their examples
  kConsecutiveTombstones,  // a success clears the cycle's failures
  kWithdrawKeepsShare,     // a withdrawal leaves p in P
  kDeadlineIgnored,        // an evaluation waits for silent evaluators for ever
  kRoundWaitsForLost,      // a round waits for lost learners
  kSnapshotForgetsQueue,   // a snapshot leaves out the updates under evaluation
  kCommitOutOfOrder,       // commits follow the end of evaluation, not arrival
  kHugePasses,             // the gate lets finite values of any magnitude through
  kOldShareKept,           // p' is not subtracted from P
  kUnjoinedLifeCounts,     // a life that has not joined keeps its predecessor live
  kEvaluatorSkipped,       // one live evaluator is never asked
  kUnreadIgnored,          // what came of a model that could not be read leaves
  kDeadlineAtOnce,         // evaluators have no time to answer
  kRoundDeadlineAtOnce,    // a round's deadline passes as it begins
  kDurationForgotten,      // a restart forgets when the federation ends
  kTargetMissed,           // a target accuracy that was reached must be reached twice
  kPatienceOfEquals,       // a test as good as the best one counts as better
  kPromiseNotRepeated,     // who comes back is not asked again for what it owes
  kRetryLost,              // a learner's third attempt is never made
  kAnsweredBeforeDurable,  // an operator's command is answered before it is in the log
  kIdGivenTwice,           // a restarted controller counts the names it knows for the next id
  kDroppedOnReconnect,     // a learner forgets what it was to evaluate when it dials again
  kEarlierLifeAnswered,    // a learner answers what its earlier life was asked
  kTimerLost,              // a timer that the log refuses does not fire again
  kNoGrace,                // a controller that slept takes everybody for lost
  kRefusedAnswered,        // an operator's command that the log refused is answered as done
};

inline constexpr std::array<std::string_view, 40> kPlantedBugNames = {"none",
                                                                      "lost-update",
                                                                      "double-apply",
                                                                      "version-reuse",
                                                                      "quorum-by-size",
                                                                      "own-counts-twice",
                                                                      "nan-passes",
                                                                      "float-sum",
                                                                      "wrong-median",
                                                                      "stale-incarnation",
                                                                      "old-term-kept",
                                                                      "action-before-durable",
                                                                      "forged-counts",
                                                                      "steps-at-arrival",
                                                                      "coverage-by-heads",
                                                                      "consecutive-tombstones",
                                                                      "withdraw-keeps",
                                                                      "deadline-ignored",
                                                                      "round-waits-for-lost",
                                                                      "snapshot-forgets-queue",
                                                                      "commit-out-of-order",
                                                                      "huge-passes",
                                                                      "old-share-kept",
                                                                      "unjoined-life-counts",
                                                                      "evaluator-skipped",
                                                                      "unread-ignored",
                                                                      "deadline-at-once",
                                                                      "round-deadline-at-once",
                                                                      "duration-forgotten",
                                                                      "target-missed",
                                                                      "patience-of-equals",
                                                                      "promise-not-repeated",
                                                                      "retry-lost",
                                                                      "answered-before-durable",
                                                                      "id-given-twice",
                                                                      "dropped-on-reconnect",
                                                                      "earlier-life-answered",
                                                                      "timer-lost",
                                                                      "no-grace",
                                                                      "refused-answered"};

#ifdef METIS_PLANTED_BUGS
// The one bug that is on. Defined by the test that plants it, which sets it between runs.
extern PlantedBug planted_bug;
inline bool Planted(PlantedBug bug) { return planted_bug == bug; }
#else
// Never code of its own, which the linker could take for the function above.
consteval bool Planted(PlantedBug) { return false; }
#endif

}  // namespace metis
