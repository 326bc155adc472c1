#include "metis/report/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "metis/core/testing.h"
#include "metis/core/text.h"
#include "metis/report/testing.h"

namespace metis::report {
namespace {

namespace fs = std::filesystem;
using federation::Event;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

class RunDirectoryTest : public FileTest {
 protected:
  RunDirectoryTest() : pool_(ModelSchema::Create({{"weight", {2, 3}}, {"bias", {2}}}).value()) {}

  ModelPtr Filled(float first) {
    ModelDraft draft = pool_.Draft();
    for (float& value : draft.parameters()) value = first++;
    return std::move(draft).Seal();
  }

  // Every kind of event, with values that a careless format would spoil.
  std::vector<Event> AllEvents() {
    const federation::UpdateId id{LearnerId(3), Incarnation(2), Sequence(1)};
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    ConfusionCounts counts = ConfusionCounts::FromCounts(2, {5, 1, 0, 7}).value();
    federation::LearnerJoined joined{
        LearnerId(3), Incarnation(2), federation::Role::kLearner, "clinic \"north\"\n", "slow",
        1234,         {6, 7},         0xfedcba9876543210u};
    federation::UpdateReceived update{
        id,
        Version(9),
        77,
        Filled(0.1f),
        counts,
        {4, 2, {0.1, kNan, HUGE_VAL, -HUGE_VAL, 1e-310}, 1, federation::CycleReason::kC2, 88}};
    return {joined,
            federation::LearnerLost{LearnerId(1), Incarnation(1)},
            federation::LearnerReturned{LearnerId(1), Incarnation(1)},
            federation::LearnerLeft{LearnerId(0), Incarnation(5)},
            federation::EpochReported{LearnerId(3), Incarnation(2), 4, 1},
            update,
            federation::CommunityRequested{LearnerId(3), Incarnation(2), Sequence(1)},
            federation::CountsReceived{LearnerId(1), Incarnation(1), id, counts},
            federation::EvaluationFailed{LearnerId(1), Incarnation(1), id},
            federation::CommunityTested{LearnerId(9), Incarnation(1), Version(9), counts, 0.3},
            federation::OperatorCommand{federation::OperatorCommand::Kind::kWithdraw, LearnerId(3)},
            federation::TimerFired{{federation::TimerId::Kind::kLease, 3}}};
  }

  const fs::path directory_ = Path("run");
  ModelPool pool_;
};

// By the hash form: models count by their bytes.
std::string Bytes(const Event& event) {
  BinaryWriter writer(BinaryWriter::Mode::kHash);
  writer("event", event);
  return writer.archived().bytes;
}

TEST_F(RunDirectoryTest, EveryEventReadsBackToTheSameBits) {
  std::vector<Event> events = AllEvents();
  ASSERT_EQ(events.size(), std::variant_size_v<Event>);
  auto writer = RunWriter::Create(directory_.string(), "# config\n", Filled(7), false).value();
  for (size_t i = 0; i < events.size(); ++i) {
    writer->Event(Instant::FromNanoseconds(static_cast<int64_t>(i) * 1'000'000'007), events[i]);
  }
  writer.reset();
  auto reader = RunReader::Open(directory_.string()).value();
  EXPECT_EQ(reader->config_toml(), "# config\n");
  EXPECT_EQ(reader->initial()->Fingerprint(), Filled(7)->Fingerprint());
  EXPECT_TRUE(reader->summary().is_null());
  for (size_t i = 0; i < events.size(); ++i) {
    Result<RunReader::Line> line = reader->Next();
    ASSERT_TRUE(line.ok()) << line.error().message;
    EXPECT_EQ(line->time.nanoseconds(), static_cast<int64_t>(i) * 1'000'000'007);
    ASSERT_TRUE(std::holds_alternative<Event>(line->content)) << i;
    EXPECT_EQ(Bytes(std::get<Event>(line->content)), Bytes(events[i]))
        << federation::kEventNames[i];
  }
  EXPECT_TRUE(std::holds_alternative<RunReader::End>(reader->Next()->content));
}

TEST_F(RunDirectoryTest, ALightRecordKeepsFingerprintsAndSaysSo) {
  auto writer =
      RunWriter::Create(directory_.string(), "", Filled(7), false, Record::kLight).value();
  for (const Event& event : AllEvents()) writer->Event(Instant(), event);
  writer.reset();
  EXPECT_EQ(fs::file_size(directory_ / kModelsFile), Filled(7)->bytes().size());
  auto reader = RunReader::Open(directory_.string()).value();
  EXPECT_EQ(reader->initial()->Fingerprint(), Filled(7)->Fingerprint());
  std::string message;
  for (size_t i = 0; i < AllEvents().size() && message.empty(); ++i) {
    if (Result<RunReader::Line> line = reader->Next(); !line) message = line.error().message;
  }
  EXPECT_THAT(message, HasSubstr("only runs made with --record replayable can be replayed"));
}

TEST_F(RunDirectoryTest, ALineThatIsCutOffEndsTheRecord) {
  auto writer = RunWriter::Create(directory_.string(), "", Filled(1), false).value();
  for (const Event& event : AllEvents()) writer->Event(Instant(), event);
  writer.reset();
  fs::path events = directory_ / kEventsFile;
  fs::resize_file(events, fs::file_size(events) - 3);
  auto reader = RunReader::Open(directory_.string()).value();
  size_t whole = 0;
  for (;;) {
    Result<RunReader::Line> line = reader->Next();
    ASSERT_TRUE(line.ok()) << line.error().message;
    if (std::holds_alternative<RunReader::End>(line->content)) break;
    ++whole;
  }
  EXPECT_EQ(whole, AllEvents().size() - 1);
}

TEST_F(RunDirectoryTest, DamageIsNamedWithItsPlace) {
  auto writer = RunWriter::Create(directory_.string(), "", Filled(1), false).value();
  writer.reset();
  auto first_error = [&](const std::string& line) {
    std::ofstream(directory_ / kEventsFile) << line << "\n";
    Result<RunReader::Line> read = RunReader::Open(directory_.string()).value()->Next();
    return read.ok() ? std::string("none") : read.error().message;
  };
  EXPECT_THAT(first_error("{"), HasSubstr("events.jsonl:1: no JSON object"));
  EXPECT_THAT(first_error("{\"event\":\"lost\"}"), HasSubstr("\"t_ns\" is missing"));
  EXPECT_THAT(first_error("{\"t_ns\":1,\"event\":\"gone\"}"), HasSubstr("unknown event \"gone\""));
  EXPECT_THAT(first_error("{\"t_ns\":1,\"event\":\"lost\",\"learner\":\"x\"}"),
              HasSubstr("field \"learner\" is no whole number"));
  EXPECT_THAT(first_error("{\"t_ns\":1,\"event\":\"lost\",\"learner\":1}"),
              HasSubstr("field \"incarnation\" is missing"));
  EXPECT_THAT(first_error("{\"t_ns\":1,\"event\":\"command\",\"kind\":\"hop\",\"learner\":1}"),
              HasSubstr("field \"kind\" is an unknown word"));
  writer = RunWriter::Create(directory_.string(), "", Filled(1), true).value();
  writer->Event(Instant(), AllEvents()[5]);  // an update
  writer.reset();
  std::string update;
  std::getline(std::ifstream(directory_ / kEventsFile), update);
  const size_t at = update.find("\"fingerprint\":") + 14;
  update.replace(at, update.find_first_of(",}", at) - at, "7");
  EXPECT_THAT(first_error(update), AllOf(HasSubstr("events.jsonl:1: "),
                                         HasSubstr("record 1 of models.f32 has another")));
}

TEST_F(RunDirectoryTest, ADamagedInitialModelIsRefused) {
  auto writer = RunWriter::Create(directory_.string(), "", Filled(1), false).value();
  writer.reset();
  std::fstream models(directory_ / kModelsFile, std::ios::in | std::ios::out | std::ios::binary);
  models.seekp(5);
  models.put('!');
  models.close();
  Result<std::unique_ptr<RunReader>> reader = RunReader::Open(directory_.string());
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message, HasSubstr("record 0 of models.f32"));
  std::ofstream(directory_ / kSchemaFile)
      << R"({"tensors": [{"name": "w", "shape": [3]}], "initial_fingerprint": 7})";
  EXPECT_FALSE(RunReader::Open(directory_.string()).ok());
}

// 2^40 parameters: their buffer must not be asked for.
TEST_F(RunDirectoryTest, ASchemaLargerThanTheModelsFileIsRefusedBeforeItsBufferIsMade) {
  auto writer = RunWriter::Create(directory_.string(), "", Filled(1), false).value();
  writer.reset();
  std::ofstream(directory_ / kSchemaFile)
      << R"({"tensors": [{"name": "w", "shape": [1048576, 1048576]}]})";
  Result<std::unique_ptr<RunReader>> reader = RunReader::Open(directory_.string());
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message,
              HasSubstr("models.f32 has no whole record 0: it holds 32 bytes, and a model of "
                        "schema.json has 4398046511104"));
}

TEST_F(RunDirectoryTest, NumbersThatDoNotFitAreRefused) {
  (void)RunWriter::Create(directory_.string(), "", Filled(1), false).value();
  auto first_error = [&](const std::string& line) {
    std::ofstream(directory_ / kEventsFile) << line << "\n";
    Result<RunReader::Line> read = RunReader::Open(directory_.string()).value()->Next();
    return read.ok() ? std::string("none") : read.error().message;
  };
  auto requested = [&](const std::string& learner, const std::string& sequence) {
    return first_error(Text("{\"t_ns\":1,\"event\":\"", federation::kEventNames[6],
                            "\",\"learner\":", learner,
                            ",\"incarnation\":1,\"last_sent\":", sequence, "}"));
  };
  EXPECT_EQ(requested("4294967295", "18446744073709551615"), "none");
  EXPECT_THAT(requested("4294967299", "1"),
              HasSubstr("events.jsonl:1: field \"learner\" is 4294967299, not within 0 to "
                        "4294967295"));
  EXPECT_THAT(requested("-1", "1"), HasSubstr("field \"learner\" is -1, not within"));
  EXPECT_THAT(requested("3", "-1"), HasSubstr("field \"last_sent\" is -1, not within"));
  EXPECT_EQ(requested("3", "\"0xfedcba9876543210\""), "none");
  for (const char* hex : {"\"0x\"", "\"0x10000000000000000\"", "\"0x1g\"", "\"12\""}) {
    EXPECT_THAT(requested("3", hex), HasSubstr("field \"last_sent\" is no whole number")) << hex;
  }
  EXPECT_THAT(first_error("{\"t_ns\":18446744073709551615,\"event\":\"lost\"}"),
              HasSubstr("\"t_ns\" is 18446744073709551615"));
}

TEST_F(RunDirectoryTest, OtherFilesAreNeverReplaced) {
  fs::create_directories(directory_);
  std::ofstream(directory_ / "thesis.txt") << "mine";
  Result<std::unique_ptr<RunWriter>> writer =
      RunWriter::Create(directory_.string(), "", Filled(1), true);
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.error().message, HasSubstr("holds other files"));
  EXPECT_FALSE(RunWriter::Create((directory_ / "thesis.txt").string(), "", Filled(1), true).ok());
  EXPECT_FALSE(RunWriter::Create("", "", Filled(1), true).ok());
}

TEST_F(RunDirectoryTest, ARefusalNamesTheOptionsOfItsProgram) {
  (void)RunWriter::Create(directory_.string(), "", Filled(1), false).value();
  const auto refusal = [&](const DirectoryOptions& options) {
    return MakeRunDirectory(directory_.string(), kEventsFile, false, options).error().message;
  };
  EXPECT_THAT(refusal({}), EndsWith(": choose another --out, or --force to replace it"));
  EXPECT_THAT(refusal({.choose = "--run", .replace = ""}), EndsWith(": choose another --run"));
}

TEST_F(RunDirectoryTest, ARunThatIsReplacedIsOverBeforeAnythingElseIsWritten) {
  (void)RunWriter::Create(directory_.string(), "", Filled(1), false).value();
  ASSERT_TRUE(WriteRunFile(directory_ / kSummaryFile, "{}\n").ok());
  {
    const FullDisk full(0);
    EXPECT_FALSE(RunWriter::Create(directory_.string(), "a = 1\n", Filled(1), true).ok());
  }
  EXPECT_FALSE(fs::exists(directory_ / kSummaryFile));
}

TEST_F(RunDirectoryTest, ALockAloneIsNoReasonToRefuse) {
  fs::create_directories(directory_);
  std::ofstream(directory_ / kLockFile) << "4711";
  EXPECT_TRUE(CheckRunDirectory(directory_.string(), kEventsFile, false).ok());
  EXPECT_TRUE(RunWriter::Create(directory_.string(), "", Filled(1), false).ok());
  EXPECT_FALSE(CheckRunDirectory(directory_.string(), kEventsFile, false).ok());
}

TEST_F(RunDirectoryTest, AFileIsReplacedWholeOrNotAtAll) {
  fs::create_directories(directory_);
  const fs::path path = directory_ / kSummaryFile;
  ASSERT_TRUE(WriteRunFile(path, "{}\n").ok());
  {
    const FullDisk full(100);
    const Result<void> wrote = WriteRunFile(path, std::string(5000, ' '));
    ASSERT_FALSE(wrote.ok());
    EXPECT_THAT(wrote.error().message, HasSubstr(path.string()));
  }
  EXPECT_EQ(ReadRunFile(path).value(), "{}\n");
  ASSERT_TRUE(WriteRunFile(path, "[1, 2]\n").ok());
  EXPECT_EQ(ReadRunFile(path).value(), "[1, 2]\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1) << "nothing is left beside";
}

// What FormatSummary() writes, as far as it is shown.
Json SmallSummary() {
  return {{"policy", "sync-dvw"},
          {"length_s", 20.5},
          {"version", 3},
          {"update_requests", 7},
          {"updates_rejected", 1},
          {"models_exchanged", 20},
          {"models_for_evaluation", 6},
          {"accuracy", {{"final", 0.5}, {"best", 1}}},
          {"stopped_by", nullptr},
          {"faults_struck", {{"loss", 4}}}};
}

TEST(CheckSummary, NamesTheFirstFieldThatIsMissingOrOfAnotherType) {
  const auto complaint = [](const std::string& text) {
    const Result<void> whole = CheckSummary(Json::parse(text));
    return whole ? std::string() : whole.error().message;
  };
  const Json summary = SmallSummary();
  EXPECT_EQ(complaint(summary.dump()), "");
  EXPECT_EQ(complaint("[]"), "it is no JSON object");
  EXPECT_EQ(complaint("{\"complete\": true, \"accuracy\": null}"), "it lacks policy");
  for (const auto& [name, value] : summary.items()) {
    Json damaged = summary;
    damaged[name] = Json::array({7});
    EXPECT_THAT(complaint(damaged.dump()), HasSubstr(name));
    damaged.erase(name);
    EXPECT_EQ(complaint(damaged.dump()).empty(), name == "faults_struck") << name;
  }
  Json damaged = summary;
  damaged["accuracy"]["best"] = "0.5";
  EXPECT_EQ(complaint(damaged.dump()), "accuracy/best is \"0.5\"");
  damaged = summary;
  damaged["version"] = -3;
  EXPECT_EQ(complaint(damaged.dump()), "version is -3");
  damaged = summary;
  damaged["faults_struck"]["loss"] = nullptr;
  EXPECT_EQ(complaint(damaged.dump()), "faults_struck is no list of counts by name");
}

}  // namespace
}  // namespace metis::report
