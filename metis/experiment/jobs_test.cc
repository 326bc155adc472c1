#include "metis/experiment/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "metis/experiment/child.h"
#include "metis/experiment/testing.h"

namespace metis::experiment {
namespace {

using testing::HasSubstr;

// Jobs of the shell, in a directory of the test's own.
class Jobs : public SmallExperiment {
 protected:
  std::string Log(const std::string& name) const { return (home_ / "logs" / name).string(); }
  Job Shell(const std::string& name, const std::string& script) const {
    return {name, {"-c", script}, Log(name)};
  }
  JobsOutcome Run(const std::vector<Job>& jobs, uint32_t at_once = 1) {
    return RunJobs(jobs, {.program = "/bin/sh",
                          .at_once = at_once,
                          .progress =
                              [&](size_t, size_t running) {
                                most_running_ = std::max(most_running_, running);
                              },
                          .ended = [&](size_t job, const JobEnd&) { order_.push_back(job); }});
  }

  size_t most_running_ = 0;
  std::vector<size_t> order_;
};

TEST_F(Jobs, OneThatFailsDoesNotStopTheOthers) {
  JobsOutcome outcome = Run({Shell("bad", "echo working; echo 'metis: no data' >&2; exit 3"),
                             Shell("killed", "kill -9 $$"), Shell("good", "exit 0")});
  EXPECT_FALSE(outcome.interrupted);
  EXPECT_EQ(outcome.ends[0].failure, "no data");
  EXPECT_THAT(outcome.ends[1].failure, HasSubstr("signal 9"));
  EXPECT_EQ(outcome.ends[2].failure, "");
  EXPECT_THAT(order_, testing::ElementsAre(0, 1, 2));
}

TEST_F(Jobs, NoMoreRunAtOnceThanAskedFor) {
  std::vector<Job> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(Shell(Text("job-", i), "sleep 0.05"));
  Run(jobs, 2);
  EXPECT_EQ(order_.size(), 5u);
  EXPECT_EQ(most_running_, 2u);
}

TEST_F(Jobs, AnInterruptIsPassedOnAndNothingMoreBegins) {
  // The first asks the test's own process to be interrupted, then waits for its own signal.
  JobsOutcome outcome =
      Run({Shell("first", Text("trap 'echo ended cleanly; exit 1' INT; kill -INT ", ::getpid(),
                               "; while :; do sleep 0.05; done")),
           Shell("second", "echo never")});
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.ends[0].failure, "interrupted");
  EXPECT_FALSE(outcome.ends[1].begun);
  EXPECT_EQ(LastWords(Log("first"), 0), "ended cleanly");
  EXPECT_EQ(LogSize(Log("second")), 0u);
}

TEST_F(Jobs, ARunThatAnotherProcessDoesIsNotDoneTwice) {
  Result<pid_t> other = StartChild("/bin/sh", {"-c", "exec sleep 600"}, Log("same"));
  ASSERT_TRUE(other.ok());
  JobsOutcome outcome = Run({Shell("same", "exit 0")});
  EXPECT_THAT(outcome.ends[0].failure, HasSubstr("another process does this run already"));
  EXPECT_FALSE(outcome.ends[0].begun);
  ::kill(*other, SIGKILL);
}

TEST_F(Jobs, AProgramThatIsNotThereIsAFailure) {
  JobsOutcome outcome = RunJobs({Shell("x", "exit 0")}, {.program = "/no/such/program"});
  EXPECT_THAT(outcome.ends[0].failure, HasSubstr("/no/such/program can't be run"));
}

TEST_F(Jobs, LastWordsAreThoseOfTheLatestAttempt) {
  WriteText(Log("a"), "metis: old complaint\n");
  const uint64_t size = LogSize(Log("a"));
  WriteText(Log("a"), "metis: old complaint\nfirst\nmetis: wrong\ndetails\n");
  EXPECT_EQ(LastWords(Log("a"), size), "wrong");
  WriteText(Log("a"), "metis: old complaint\njust text\n");
  EXPECT_EQ(LastWords(Log("a"), size), "just text");
}

}  // namespace
}  // namespace metis::experiment
