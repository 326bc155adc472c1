#include "metis/report/json_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metis/federation/event.h"
#include "metis/report/summary.h"

namespace metis::report {
namespace {

using federation::CommunityTested;
using testing::HasSubstr;
using testing::IsEmpty;

const JsonWriter::ModelName kNoName = [](const ModelPtr&) { return Json(nullptr); };
const JsonReader::FindModel kNoModel = [](const Json&) -> Result<ModelPtr> { return ModelPtr(); };

template <typename T>
Json Written(const T& value) {
  JsonWriter writer(kNoName);
  writer("value", value);
  return std::move(writer).Take().at("value");
}

template <typename T>
Result<T> Read(const Json& json) {
  const Json object = {{"value", json}};
  JsonReader reader(object, kNoModel);
  T value;
  reader("value", value);
  if (Result<void> finished = reader.Finish(); !finished) return finished.error();
  return value;
}

RegressionSums Sums() {
  return *RegressionSums::FromSums(40'000, FromWords(5, 77), -12, FromWords(9, 1));
}

TEST(JsonArchive, ConfusionCountsAreAListAsTheyAlwaysWere) {
  EXPECT_EQ(Written(Statistics(*ConfusionCounts::FromCounts(2, {5, 1, 0, 7}))).dump(), "[5,1,0,7]");
  EXPECT_EQ(Written(Statistics()).dump(), "[]");
  EXPECT_EQ(Written(Declared{3, 0, 4}).dump(), "[3,0,4]");
  EXPECT_EQ(Written(Declared()).dump(), "[]");
  EXPECT_EQ(Written(Declared{uint64_t{1} << 60}).dump(), "[\"0x1000000000000000\"]");
}

TEST(JsonArchive, OtherKindsSayWhatTheyAre) {
  EXPECT_EQ(Written(Statistics(Sums())).dump(),
            "{\"kind\":\"regression\",\"n\":40000,\"squared_errors\":\"92233720368547758157\","
            "\"targets\":-12,\"squared_targets\":\"166020696663385964545\"}");
  EXPECT_EQ(Written(Declared(RegressionSums::Declaration{7})).dump(),
            "{\"kind\":\"regression\",\"examples\":7}");
}

TEST(JsonArchive, EveryKindReadsBack) {
  for (const Statistics& each :
       {Statistics(Sums()), Statistics(*ConfusionCounts::FromCounts(2, {5, 1, 0, 7})), Statistics(),
        Statistics(RegressionSums())}) {
    EXPECT_EQ(*Read<Statistics>(Written(each)), each);
  }
  for (const Declared& each :
       {Declared{3, uint64_t{1} << 60}, Declared(), Declared(RegressionSums::Declaration{7})}) {
    EXPECT_EQ(*Read<Declared>(Written(each)), each);
  }
}

TEST(JsonArchive, DamagedStatisticsAreRefusedByName) {
  const auto complaint = [](const std::function<void(Json&)>& damage) {
    Json json = Written(Statistics(Sums()));
    damage(json);
    return Read<Statistics>(json).error().message;
  };
  EXPECT_THAT(complaint([](Json& j) { j["kind"] = "ranking"; }),
              HasSubstr("\"ranking\" are unknown"));
  EXPECT_THAT(complaint([](Json& j) { j.erase("kind"); }), HasSubstr("lacks its kind"));
  EXPECT_THAT(complaint([](Json& j) { j.erase("targets"); }), HasSubstr("\"targets\" is missing"));
  EXPECT_THAT(complaint([](Json& j) { j["n"] = -3; }), HasSubstr("field \"n\" is -3"));
  EXPECT_THAT(complaint([](Json& j) { j["targets"] = 1.5; }), HasSubstr("is no whole number"));
  EXPECT_THAT(complaint([](Json& j) { j["targets"] = "1e9"; }), HasSubstr("is no whole number"));
  EXPECT_THAT(complaint([](Json& j) { j["squared_errors"] = -1; }), HasSubstr("squared errors -1"));
  EXPECT_THAT(complaint([](Json& j) { j = "text"; }), HasSubstr("is no list"));
}

TEST(Summary, ATestOfARegressionHasAScoreAndNoClasses) {
  RegressionSums sums;
  ASSERT_TRUE(sums.Count(1, 1) && sums.Count(3, 2));
  SummaryBuilder summary;
  summary.Event(Instant(), CommunityTested{LearnerId(9), Incarnation(1), Version(0), sums, 0.5});
  ASSERT_EQ(summary.tests().size(), 1u);
  EXPECT_EQ(summary.tests()[0].accuracy, 0.5);
  EXPECT_THAT(summary.tests()[0].class_accuracy, IsEmpty());
}

}  // namespace
}  // namespace metis::report
