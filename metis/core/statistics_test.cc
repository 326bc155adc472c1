#include "metis/core/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "metis/core/archive.h"
#include "metis/core/random.h"

namespace metis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// One of every kind, drawn with unequal sizes. A new kind has a line here.
std::vector<Statistics> Drawn(Random& random) {
  ConfusionCounts counts(3);
  for (uint32_t i = 0; i < 9; ++i) {
    counts.Count(i / 3, i % 3, random.Below(uint64_t{1} << random.Below(30)));
  }
  RegressionSums sums;
  for (uint64_t n = random.Below(40); n > 0; --n) {
    EXPECT_TRUE(sums.Count(random.Uniform(-9, 900), random.Uniform(-9, 900)));
  }
  return {counts, sums};
}

Declared DeclaredFor(const Statistics& statistics) {
  if (const auto* counts = statistics.As<ConfusionCounts>()) return counts->RowSums();
  if (statistics.none()) return {};
  return RegressionSums::Declaration{statistics.examples()};
}

Statistics Sum(Statistics one, const Statistics& other) {
  EXPECT_TRUE(one.Add(other));
  return one;
}

template <typename T>
Archived Archive(const T& value) {
  BinaryWriter writer;
  writer("value", value);
  return std::move(writer).Take();
}

template <typename T>
Result<T> Read(const Archived& archived) {
  BinaryReader reader(archived);
  T value;
  reader("value", value);
  if (Result<void> finished = reader.Finish(); !finished) return finished.error();
  return value;
}

TEST(Statistics, PoolingIsAssociativeCommutativeAndHasAnIdentity) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random({.seed = seed, .purpose = Purpose::kTest});
    const std::vector<Statistics> a = Drawn(random), b = Drawn(random), c = Drawn(random);
    for (size_t kind = 0; kind < a.size(); ++kind) {
      EXPECT_EQ(Sum(a[kind], b[kind]), Sum(b[kind], a[kind]));
      EXPECT_EQ(Sum(Sum(a[kind], b[kind]), c[kind]), Sum(a[kind], Sum(b[kind], c[kind])));
      EXPECT_EQ(Sum(a[kind], Statistics()), a[kind]);
      EXPECT_EQ(Sum(Statistics(), a[kind]), a[kind]);
      EXPECT_EQ(Sum(a[kind], b[kind]).examples(), a[kind].examples() + b[kind].examples());
    }
  }
}

TEST(Statistics, PoolingIsExactInAnyOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random({.seed = seed, .purpose = Purpose::kTest});
    std::vector<std::vector<Statistics>> all;
    for (uint64_t n = 2 + random.Below(9); n > 0; --n) all.push_back(Drawn(random));
    for (size_t kind = 0; kind < all[0].size(); ++kind) {
      Statistics forth, shuffled;
      for (const auto& each : all) ASSERT_TRUE(forth.Add(each[kind]));
      std::vector<size_t> order(all.size());
      for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
        std::swap(order[i], order[random.Below(i + 1)]);
      }
      for (size_t i : order) ASSERT_TRUE(shuffled.Add(all[i][kind]));
      EXPECT_EQ(forth, shuffled) << "seed " << seed;
      EXPECT_EQ(forth.Headline(), shuffled.Headline()) << "seed " << seed;
    }
  }
}

TEST(Statistics, OfAnotherKindAreNotPooledAndChangeNothing) {
  Random random({.seed = 3, .purpose = Purpose::kTest});
  const std::vector<Statistics> kinds = Drawn(random);
  Statistics counts = kinds[0];
  EXPECT_THAT(counts.Add(kinds[1]).error().message,
              HasSubstr("statistics of regression cannot be pooled with those of classification"));
  EXPECT_EQ(counts, kinds[0]);
  EXPECT_FALSE(counts.Add(ConfusionCounts(2)));
  EXPECT_EQ(counts, kinds[0]);
}

TEST(Statistics, CountsOfNoClassesAreNothingAtAll) {
  EXPECT_EQ(Statistics(ConfusionCounts()), Statistics());
  EXPECT_TRUE(Statistics().none());
  EXPECT_EQ(Statistics().kind(), "");
  EXPECT_EQ(Statistics().AsConfusion().classes(), 0u);
  EXPECT_EQ(Statistics().examples(), 0u);
  EXPECT_EQ(Statistics().Headline(), 0);
  EXPECT_EQ(*Statistics().Score(Metric::kR2), 0);
  EXPECT_FALSE(Statistics(ConfusionCounts(2)).none()) << "two classes without examples";
}

TEST(Statistics, AreCheckedAgainstWhatWasDeclared) {
  Random random({.seed = 8, .purpose = Purpose::kTest});
  const std::vector<Statistics> kinds = Drawn(random);
  for (const Statistics& statistics : kinds) {
    EXPECT_TRUE(statistics.Check(DeclaredFor(statistics)));
    EXPECT_FALSE(statistics.Check({}));
    EXPECT_FALSE(Statistics().Check(DeclaredFor(statistics)));
  }
  EXPECT_TRUE(Statistics().Check({}));
  EXPECT_THAT(kinds[1].Check(DeclaredFor(kinds[0])).error().message,
              HasSubstr("statistics of regression, but a classification validation set was"));
  EXPECT_THAT(kinds[0].Check(DeclaredFor(kinds[1])).error().message,
              HasSubstr("statistics of classification, but a regression validation set was"));
  EXPECT_THAT(kinds[1].Check(RegressionSums::Declaration{kinds[1].examples() + 1}).error().message,
              HasSubstr("validation examples were declared"));
}

TEST(Statistics, AMetricOfAnotherKindIsAnErrorThatNamesTheOwn) {
  const Statistics counts = *ConfusionCounts::FromCounts(2, {6, 2, 1, 3});
  RegressionSums sums;
  ASSERT_TRUE(sums.Count(1, 1) && sums.Count(3, 2));  // squared errors 1, deviations 2
  EXPECT_EQ(*counts.Score(Metric::kAccuracy), 0.75);
  EXPECT_EQ(*Statistics(sums).Score(Metric::kR2), 0.5);
  EXPECT_THAT(Statistics(sums).Score(Metric::kMatthews).error().message,
              HasSubstr("statistics of regression have no metric \"matthews\": choose from r2"));
  EXPECT_THAT(counts.Score(Metric::kR2).error().message,
              HasSubstr("choose from micro-f1, accuracy, macro-f1, geometric-mean, matthews"));
  EXPECT_EQ(counts.headline_name(), "accuracy");
  EXPECT_EQ(Statistics(sums).headline_name(), "R2");
}

TEST(Statistics, ReadBackAsTheyWereWritten) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random({.seed = seed, .purpose = Purpose::kTest});
    std::vector<Statistics> all = Drawn(random);
    all.push_back({});
    all.push_back(ConfusionCounts(2));
    all.push_back(RegressionSums());
    for (const Statistics& statistics : all) {
      EXPECT_EQ(*Read<Statistics>(Archive(statistics)), statistics);
      const Declared declared = DeclaredFor(statistics);
      EXPECT_EQ(*Read<Declared>(Archive(declared)), declared);
      const Result<StatisticsForm> form = Read<StatisticsForm>(Archive(declared.form()));
      EXPECT_EQ(form->kind, declared.kind());
      EXPECT_EQ(form->parts, declared.form().parts);
    }
  }
}

// Snapshots, logs and hashes of state from before there were kinds: number of classes, number of
// counts, counts; number of classes, examples of each.
TEST(Statistics, ConfusionCountsKeepTheFormThatTheyAlwaysHad) {
  using std::string_literals::operator""s;
  const Statistics counts = *ConfusionCounts::FromCounts(1, {5});
  EXPECT_EQ(Archive(counts).bytes, "\1\0\0\0\1\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0"s);
  EXPECT_EQ(Archive(Statistics()).bytes, std::string(12, '\0'));
  EXPECT_EQ(Archive(Declared{5}).bytes, "\1\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0"s);
  EXPECT_EQ(Archive(Declared()).bytes, std::string(8, '\0'));
  EXPECT_EQ(Archive(Declared{5, 6, 7}.form()).bytes, "\3\0\0\0"s);
  EXPECT_EQ(Archive(StatisticsForm()).bytes, std::string(4, '\0'));
}

TEST(Statistics, DamagedBytesAreReadWithoutACrashAndUnknownKindsRefused) {
  Random random({.seed = 1, .purpose = Purpose::kTest});
  const Archived whole = Archive(Drawn(random)[1]);
  for (size_t size = 0; size < whole.bytes.size(); ++size) {
    EXPECT_FALSE(Read<Statistics>({whole.bytes.substr(0, size), {}})) << "at byte " << size;
  }
  for (int trial = 0; trial < 20'000; ++trial) {
    Archived damaged = whole;
    for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
      damaged.bytes[random.Below(damaged.bytes.size())] = static_cast<char>(random.Below(256));
    }
    const Result<Statistics> read = Read<Statistics>(damaged);
    EXPECT_GE(read ? read->Headline() : 0, 0);
  }
  Archived unknown = whole;
  unknown.bytes.replace(unknown.bytes.find("regression"), 10, "regressive");
  EXPECT_THAT(Read<Statistics>(unknown).error().message,
              HasSubstr("statistics of kind \"regressive\" are unknown"));
}

TEST(Declared, SaysKindFormAndExamples) {
  EXPECT_TRUE(Declared().none());
  EXPECT_TRUE(Declared(std::vector<uint64_t>()).none());
  const Declared classes{3, 0, 5};
  EXPECT_EQ(classes.kind(), "classification");
  EXPECT_EQ(classes.form().parts, 3u);
  EXPECT_EQ(classes.examples(), 8u);
  EXPECT_THAT(classes.class_counts(), ElementsAre(3, 0, 5));
  const Declared regression = RegressionSums::Declaration{41};
  EXPECT_EQ(regression.kind(), "regression");
  EXPECT_EQ(regression.examples(), 41u);
  EXPECT_THAT(regression.class_counts(), IsEmpty());
  EXPECT_EQ((Declared{UINT64_MAX, 2}.examples()), UINT64_MAX) << "not 1";
}

TEST(Declared, AgreesWithTheFormOfTheOthers) {
  const Declared regression = RegressionSums::Declaration{41};
  EXPECT_TRUE(Declared({3, 4}).CheckForm({}));
  EXPECT_TRUE(Declared().CheckForm(regression.form()));
  EXPECT_TRUE(Declared({3, 4}).CheckForm(Declared{1, 0}.form()));
  EXPECT_TRUE(regression.CheckForm(regression.form()));
  EXPECT_THAT(Declared({3, 4, 5}).CheckForm(Declared{1, 0}.form()).error().message,
              HasSubstr("validation set of 3 classes, the others have 2: does it use another"));
  EXPECT_THAT(regression.CheckForm(Declared{1, 0}.form()).error().message,
              HasSubstr("validation set of regression, the others have one of classification"));
}

TEST(Declared, IsScoredByTheMetricsOfItsKindOnly) {
  EXPECT_TRUE(Declared().CheckMetric(Metric::kR2));
  EXPECT_TRUE((Declared{3, 4}.CheckMetric(Metric::kMacroF1)));
  EXPECT_FALSE((Declared{3, 4}.CheckMetric(Metric::kR2)));
  EXPECT_TRUE(Declared(RegressionSums::Declaration{4}).CheckMetric(Metric::kR2));
  EXPECT_THAT(
      Declared(RegressionSums::Declaration{4}).CheckMetric(Metric::kAccuracy).error().message,
      HasSubstr("choose from r2"));
}

TEST(Declared, PartsOfASetAddUp) {
  Declared sum;
  ASSERT_TRUE(sum.Add(Declared{3, 4}));
  ASSERT_TRUE(sum.Add(Declared{1, 10}));
  EXPECT_THAT(sum.class_counts(), ElementsAre(4, 14));
  EXPECT_FALSE(sum.Add(Declared{1, 2, 3}));
  EXPECT_FALSE(sum.Add(RegressionSums::Declaration{4}));
  Declared regression = RegressionSums::Declaration{41};
  ASSERT_TRUE(regression.Add(RegressionSums::Declaration{2}));
  EXPECT_EQ(regression.examples(), 43u);
}

}  // namespace
}  // namespace metis
