// A replay finds what was changed in a record, and accepts what a federation writes.
#include "metis/report/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/drivers/testing.h"

namespace metis::report {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class ReplayTest : public FileTest {
 protected:
  ReplayTest() {
    drivers::PlayToTheEnd(harness_);
    auto writer = RunWriter::Create(home_.string(), "", harness_.initial(), false).value();
    federation::Harness again(harness_.settings());
    for (const auto& [time, event] : harness_.history()) {
      again.After(time - again.now());
      again.Send(event);
      writer->Event(time, event);
      for (const auto& action : again.actions()) writer->Action(time, action);
    }
    RunFacts facts;
    facts.policy = "async-dvw";
    EXPECT_TRUE(writer->Finish(facts, harness_.controller()));
    writer.reset();
    std::ifstream events(home_ / kEventsFile);
    for (std::string line; std::getline(events, line);) lines_.push_back(Json::parse(line));
    summary_ = ReadRunJson(home_ / kSummaryFile).value();
  }

  Result<Replayed> ReplayRun() {
    Result<std::unique_ptr<RunReader>> run = RunReader::Open(home_.string());
    if (!run) return run.error();
    return Replay(**run, harness_.settings());
  }
  // Empty: it was accepted.
  std::string Complaint() {
    const Result<Replayed> replayed = ReplayRun();
    return replayed ? std::string() : replayed.error().message;
  }
  std::string ComplaintAboutLines(const std::vector<Json>& lines) {
    std::ofstream events(home_ / kEventsFile);
    for (const Json& line : lines) events << line.dump() << "\n";
    events.close();
    return Complaint();
  }
  std::string ComplaintAboutSummary(const Json& summary) {
    std::ofstream(home_ / kSummaryFile) << summary.dump();
    return Complaint();
  }
  // The last line that has this word: nothing before it is changed.
  size_t LastWith(const char* word) const {
    size_t at = lines_.size();
    while (at > 0 && !lines_[at - 1].contains(word)) --at;
    return at - 1;
  }

  const fs::path home_ = Path("run");
  federation::Harness harness_{federation::SettingsFor("async-dvw", 3)};
  std::vector<Json> lines_;
  Json summary_;
};

TEST_F(ReplayTest, AWholeRunIsAcceptedAndComparedWithItsSummary) {
  Result<Replayed> replayed = ReplayRun();
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_TRUE(replayed->against_summary);
  EXPECT_EQ(replayed->events, harness_.history().size());
  EXPECT_GT(replayed->notes, 0u);
  fs::remove(home_ / kSummaryFile);
  replayed = ReplayRun();
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_FALSE(replayed->against_summary);
}

TEST_F(ReplayTest, ANoteHasTheTimeOfItsEvent) {
  const size_t at = LastWith("note");
  const auto time = lines_[at]["t_ns"].get<int64_t>();
  for (const int64_t wrong : {time + 1, time - 1, int64_t{0}}) {
    std::vector<Json> changed = lines_;
    changed[at]["t_ns"] = wrong;
    EXPECT_THAT(ComplaintAboutLines(changed),
                AllOf(HasSubstr(Text("line ", at + 1, " of events.jsonl: the note's t_ns is ",
                                     wrong, ", its event's is ", time)),
                      HasSubstr("Restore it from a copy")));
  }
}

// Without a summary, so that no other final state gives it away: the controller itself keeps its
// latest time.
TEST_F(ReplayTest, TheTimeOfEventsDoesNotGoBack) {
  fs::remove(home_ / kSummaryFile);
  const size_t at = LastWith("event");
  ASSERT_GT(at, 0u);
  const auto before = lines_[at - 1]["t_ns"].get<int64_t>();
  std::vector<Json> changed(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  changed[at]["t_ns"] = before;
  EXPECT_EQ(ComplaintAboutLines(changed), "") << "two events at once";
  changed[at]["t_ns"] = before - 1;
  EXPECT_THAT(ComplaintAboutLines(changed),
              AllOf(HasSubstr(Text("line ", at + 1, " of events.jsonl: the event's t_ns is ",
                                   before - 1, ", before that of the event before it, ", before)),
                    HasSubstr("Restore it from a copy")));
  changed = lines_;
  changed[0]["t_ns"] = -1;
  EXPECT_THAT(ComplaintAboutLines(changed), HasSubstr("line 1 of events.jsonl: the event's t_ns"));
}

TEST_F(ReplayTest, ASummaryThatIsThereSaysHowTheRunEnded) {
  EXPECT_THAT(ComplaintAboutSummary(Json::object()),
              HasSubstr("summary.json is damaged: its state_hash is missing and its version "
                        "missing: restore it from a copy, or remove it"));
  for (const char* name : {"state_hash", "version"}) {
    Json damaged = summary_;
    damaged.erase(name);
    EXPECT_THAT(ComplaintAboutSummary(damaged), HasSubstr("summary.json is damaged")) << name;
    damaged[name] = nullptr;
    EXPECT_THAT(ComplaintAboutSummary(damaged), HasSubstr("summary.json is damaged")) << name;
  }
  for (const Json& other : {Json(nullptr), Json::array(), Json(7)}) {
    EXPECT_THAT(ComplaintAboutSummary(other), HasSubstr("instead of an object")) << other.dump();
  }
  EXPECT_EQ(ComplaintAboutSummary(summary_), "");
}

TEST_F(ReplayTest, VersionAndStateAreThoseOfTheSummary) {
  const auto version = summary_["version"].get<uint64_t>();
  Json changed = summary_;
  changed["version"] = version + 1;
  EXPECT_THAT(ComplaintAboutSummary(changed),
              AllOf(HasSubstr(Text("ends at version ", version)),
                    HasSubstr(Text("the run ended at version ", version + 1)),
                    HasSubstr("was the summary changed?")));
  changed = summary_;
  changed["state_hash"] = "0123456789abcdef";
  EXPECT_THAT(ComplaintAboutSummary(changed), HasSubstr("was the record shortened?"));
}

}  // namespace
}  // namespace metis::report
