// A run that goes on after its process ended leaves the files of one that was never cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "metis/core/random.h"
#include "metis/core/testing.h"
#include "metis/drivers/durable_controller.h"
#include "metis/drivers/testing.h"
#include "metis/report/run_directory.h"

namespace metis::report {
namespace {

namespace fs = std::filesystem;
using drivers::DurableController;
using testing::HasSubstr;

using Files = std::map<std::string, std::string>;

Files FilesOf(const fs::path& directory) {
  Files files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

// Without printing whole files.
void ExpectSame(const Files& found, const Files& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, bytes] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_EQ(found.at(name).size(), bytes.size()) << name;
    EXPECT_TRUE(found.at(name) == bytes) << name << " differs";
  }
}

class ContinueRun : public FileTest {
 protected:
  ContinueRun() {
    drivers::PlayToTheEnd(harness_);
    federation::Harness again(harness_.settings());
    for (const auto& [time, event] : history()) {
      again.After(time - again.now());
      again.Send(event);
      caused_.push_back(again.actions());
    }
  }
  std::string PathOf(const std::string& name) const { return (home_ / name).string(); }
  const std::vector<std::pair<Instant, federation::Event>>& history() const {
    return harness_.history();
  }
  std::unique_ptr<RunWriter> Create(const std::string& name, Record record) {
    return RunWriter::Create(PathOf(name), "# config\n", harness_.initial(), true, record).value();
  }
  Result<std::unique_ptr<RunWriter>> Continue(const std::string& name, uint64_t events,
                                              Record record = Record::kReplayable) {
    return RunWriter::Continue(PathOf(name), events, harness_.initial(), record);
  }
  void Tell(RunWriter& writer, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      writer.Event(history()[i].first, history()[i].second);
      for (const auto& action : caused_[i]) writer.Action(history()[i].first, action);
    }
  }
  void Finish(RunWriter& writer, const federation::Controller& controller) {
    RunFacts facts;
    facts.policy = "async-dvw";
    ASSERT_TRUE(writer.Finish(facts, controller));
  }
  Files Whole(Record record) {
    auto writer = Create("whole", record);
    Tell(*writer, 0, history().size());
    Finish(*writer, harness_.controller());
    return FilesOf(home_ / "whole");
  }

  const fs::path home_ = directory();
  federation::Harness harness_{federation::SettingsFor("async-dvw", 3)};
  std::vector<std::vector<federation::Action>> caused_;  // by each event
};

class AnyRecord : public ContinueRun, public testing::WithParamInterface<Record> {};

// A power failure: of what came after the latest Sync() any part may be lost.
TEST_P(AnyRecord, AnyCutIsMendedToTheByte) {
  const Files expected = Whole(GetParam());
  ASSERT_EQ(expected.size(), 5u);
  Random random({.seed = 31, .purpose = Purpose::kTest});
  for (int i = 0; i < 80 && !HasFailure(); ++i) {
    const uint64_t cut = random.Below(history().size() + 1);
    const uint64_t snapshot = i % 10 == 0 ? 0 : random.Below(cut + 1);
    auto writer = Create("cut", GetParam());
    Tell(*writer, 0, snapshot);
    ASSERT_TRUE(writer->Sync());
    const auto lines = fs::file_size(PathOf("cut/events.jsonl"));
    const auto models = fs::file_size(PathOf("cut/models.f32"));
    Tell(*writer, snapshot, cut);
    if (i % 3 == 0) Finish(*writer, harness_.controller());  // a summary that will be stale
    writer = nullptr;
    for (const auto& [name, synced] : {std::pair("events.jsonl", lines), {"models.f32", models}}) {
      const auto lost = random.Below(fs::file_size(PathOf("cut") + "/" + name) - synced + 1);
      fs::resize_file(PathOf("cut") + "/" + name, fs::file_size(PathOf("cut") + "/" + name) - lost);
    }
    Result<std::unique_ptr<RunWriter>> continued = Continue("cut", snapshot, GetParam());
    ASSERT_TRUE(continued) << continued.error().message;
    EXPECT_FALSE(fs::exists(PathOf("cut/summary.json")));
    Tell(**continued, snapshot, history().size());
    Finish(**continued, harness_.controller());
    ExpectSame(FilesOf(home_ / "cut"), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Records, AnyRecord, testing::Values(Record::kReplayable, Record::kLight));

// A new process for every event, as the network's controller does it.
TEST_F(ContinueRun, ADurableControllerTellsAgainWhatIsMissing) {
  const Files expected = Whole(Record::kReplayable);
  drivers::MemoryEventLog log;
  Create("run", Record::kReplayable);
  Random random({.seed = 32, .purpose = Purpose::kTest});
  for (size_t i = 0; i < history().size(); ++i) {
    auto writer = Continue("run", log.events_before_snapshot()).value();
    drivers::DurableOptions options{.snapshot_every = 7, .recorder = writer.get()};
    options.before_snapshot = [&] { return writer->Sync(); };
    auto controller = DurableController::Open(harness_.settings(), harness_.initial(),
                                              harness_.models().pool(), log, std::move(options))
                          .value();
    std::vector<federation::Action> actions;
    const auto& [time, event] = history()[i];
    ASSERT_TRUE(controller->Handle(time, event, actions));
    if (random.Chance(0.3)) continue;  // it dies before it could record the event
    writer->Event(time, event);
    for (const auto& action : actions) writer->Action(time, action);
    if (i + 1 == history().size()) Finish(*writer, controller->controller());
  }
  auto writer = Continue("run", log.events_before_snapshot()).value();
  auto controller =
      DurableController::Open(harness_.settings(), harness_.initial(), harness_.models().pool(),
                              log, {.snapshot_every = 7, .recorder = writer.get()})
          .value();
  Finish(*writer, controller->controller());
  ExpectSame(FilesOf(home_ / "run"), expected);
}

TEST_F(ContinueRun, ARecordThatLostEventsIsNamedAndLeftAlone) {
  auto writer = Create("run", Record::kReplayable);
  Tell(*writer, 0, 10);
  writer = nullptr;
  std::ofstream(PathOf("run/events.jsonl"), std::ios::app) << "{\"t_ns\":12,\"event\":\"lo";
  const Files before = FilesOf(home_ / "run");
  Result<std::unique_ptr<RunWriter>> continued = Continue("run", 12);
  ASSERT_FALSE(continued);
  EXPECT_THAT(continued.error().message,
              HasSubstr("events.jsonl holds 10 whole events, but the state was saved after 12: "
                        "the last 2 were lost"));
  ExpectSame(FilesOf(home_ / "run"), before);
}

TEST_F(ContinueRun, MissingOrOtherModelsAreNamedAndLeftAlone) {
  auto writer = Create("run", Record::kReplayable);
  Tell(*writer, 0, 10);
  writer = nullptr;
  const uint64_t one = harness_.initial()->bytes().size();
  EXPECT_THAT(Continue("run", 10, Record::kLight).error().message,
              HasSubstr("holds models of updates"));
  fs::resize_file(PathOf("run/models.f32"), 3 * one - 1);
  const Files before = FilesOf(home_ / "run");
  EXPECT_THAT(Continue("run", 10).error().message,
              HasSubstr("models.f32 holds 2 whole models, but the first 10 events need 4"));
  EXPECT_THAT(RunWriter::Continue(PathOf("run"), 2, harness_.models().From(7), Record::kReplayable)
                  .error()
                  .message,
              HasSubstr("begins with another initial model"));
  ExpectSame(FilesOf(home_ / "run"), before);
}

TEST_F(ContinueRun, ARunThatDiedAtItsVeryStartBegins) {
  Create("run", Record::kReplayable);
  fs::resize_file(PathOf("run/models.f32"), 3);
  auto writer = Continue("run", 0).value();
  Tell(*writer, 0, history().size());
  Finish(*writer, harness_.controller());
  ExpectSame(FilesOf(home_ / "run"), Whole(Record::kReplayable));
}

TEST_F(ContinueRun, AnotherDirectoryIsRefused) {
  fs::create_directories(home_ / "run");
  EXPECT_THAT(Continue("run", 0).error().message, HasSubstr("is no run directory"));
}

// Another listener hears of what stays what the writer's own summary does.
TEST_F(ContinueRun, WhatStaysIsToldToWhoeverListens) {
  auto writer = Create("run", Record::kLight);
  const size_t half = history().size() / 2;
  Tell(*writer, 0, half);
  ASSERT_TRUE(writer->Sync());
  writer = nullptr;
  SummaryBuilder listener;
  Result<std::unique_ptr<RunWriter>> continued =
      RunWriter::Continue(PathOf("run"), half, harness_.initial(), Record::kLight, &listener);
  ASSERT_TRUE(continued) << continued.error().message;
  const SummaryBuilder& own = (*continued)->summary();
  ASSERT_EQ(listener.learners().size(), own.learners().size());
  uint64_t updates = 0;
  for (const auto& [id, learner] : own.learners()) {
    EXPECT_EQ(listener.learners().at(id).updates, learner.updates);
    EXPECT_EQ(listener.learners().at(id).contribution, learner.contribution);
    updates += learner.updates;
  }
  EXPECT_GT(updates, 0u);
}

}  // namespace
}  // namespace metis::report
