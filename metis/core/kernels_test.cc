#include "metis/core/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "metis/core/random.h"

namespace metis {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kGrid = 0x1p40;
constexpr int64_t kUntouched = 0x0123456789abcdef;

// The definition, one value at a time and independent of kernels_loops.h.
int64_t Round(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

int64_t Term(const WeightedModel& model, size_t i) {
  if (model.parameters == nullptr) return 0;
  return Round(model.scaled_contribution * static_cast<double>(model.parameters[i]));
}

float Scaled(int64_t sum, double inverse) {
  return static_cast<float>(static_cast<double>(sum) * inverse);
}

// Floats are compared as bits: == would let -0 pass for +0 and NaN for nothing.
std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

std::vector<size_t> Sizes() {
  std::vector<size_t> sizes;
  for (size_t size = 0; size <= 200; ++size) sizes.push_back(size);
  for (const size_t size : {2047u, 2048u, 2049u, 4097u, 10007u}) sizes.push_back(size);
  return sizes;
}

// Values as a hostile learner would choose them, all with |value| <= 2^10.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_({.seed = seed}) {}

  double Uniform(double low, double high) { return random_.Uniform(low, high); }
  uint64_t Word() { return random_.Next(); }

  float Parameter() {
    const float wide = static_cast<float>(Uniform(-1, 1));
    switch (Word() % 8) {
      case 0:
        return wide * 0x1p10f;
      case 1:
        return std::numeric_limits<float>::denorm_min() * static_cast<float>(Word() % 1000);
      case 2:
        return -0.0f;
      case 3:
        return static_cast<float>(static_cast<int>(Word() % 64) - 32) * 0x1p-41f;  // ties
      case 4:
        return wide * 0x1p-30f;
      default:
        return wide;
    }
  }

  std::vector<float> Parameters(size_t size) {
    std::vector<float> parameters(size);
    for (float& parameter : parameters) parameter = Parameter();
    return parameters;
  }

  // Often a power of two, so that the ties of Parameter() stay ties.
  double Contribution() {
    const double contribution = Word() % 2 == 0 ? 1.0 : Uniform(0.001, 1);
    return contribution * kGrid;
  }

 private:
  Random random_;
};

// Numbers around every place where a conversion in two halves could go wrong.
std::vector<double> Edges() {
  std::vector<double> edges = {0.0, 0x1p-1074, 0x1p-1022, 0.49999999999999994,
                               0.5, 1.5,       2.5,       0x1.fffffffffffffp62};
  for (int exponent = 0; exponent < 63; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    for (const double offset : {0.5, 1.0, 1.5, 2.5, 0x1p31, 0x1p31 + 0.5, 0x1p32}) {
      edges.push_back(power + offset);
      edges.push_back(power - offset);
    }
    edges.push_back(std::nextafter(power, 0));
    edges.push_back(std::nextafter(power, 0x1p63));
    edges.push_back(power * 0x1.8p0);
  }
  std::erase_if(edges, [](double edge) { return std::abs(edge) >= 0x1p63; });
  return edges;
}

class KernelsTest : public testing::TestWithParam<InstructionSet> {
 protected:
  const Kernels& kernels() const { return KernelsFor(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, KernelsTest,
                         testing::ValuesIn(SupportedInstructionSets()),
                         [](const auto& info) { return KernelsFor(info.param).name; });

TEST(Kernels, SupportBeginsWithTheBaselineAndTheBestIsTheLast) {
  const std::vector<InstructionSet> supported = SupportedInstructionSets();
  EXPECT_EQ(supported.front(), InstructionSet::kBaseline);
  EXPECT_EQ(BestKernels().instruction_set, supported.back());
  for (const InstructionSet set : supported) EXPECT_EQ(KernelsFor(set).instruction_set, set);
}

TEST_P(KernelsTest, TermsRoundTiesToEvenUpToTheEdgeOfTheGrid) {
  constexpr size_t kSize = 19;
  std::vector<float> signs(kSize);
  for (size_t i = 0; i < kSize; ++i) signs[i] = i % 3 == 0 ? -1.0f : i % 3 == 1 ? 1.0f : 0.5f;
  for (const double edge : Edges()) {
    const WeightedModel model{signs.data(), edge};
    std::vector<int64_t> incoming(kSize), outgoing(kSize), averaged(kSize);
    kernels().replace(incoming.data(), model, {}, 1, nullptr, kSize);
    kernels().replace(outgoing.data(), {}, model, 1, nullptr, kSize);
    kernels().average({&model, 1}, 1, averaged.data(), nullptr, kSize);
    for (size_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(incoming[i], Term(model, i)) << std::hexfloat << edge << " * " << signs[i];
      ASSERT_EQ(outgoing[i], -Term(model, i)) << std::hexfloat << edge << " * " << signs[i];
      ASSERT_EQ(averaged[i], Term(model, i)) << std::hexfloat << edge << " * " << signs[i];
    }
  }
}

TEST_P(KernelsTest, TheMostNegativeTermIsExact) {
  const std::vector<float> ones(9, -1.0f);
  std::vector<int64_t> sums(9);
  kernels().replace(sums.data(), {ones.data(), 0x1p63}, {}, 1, nullptr, 9);
  EXPECT_THAT(sums, testing::Each(std::numeric_limits<int64_t>::min()));
}

TEST_P(KernelsTest, SumsOfEveryMagnitudeBecomeFloatsWithTheRoundingOfTheDefinition) {
  Generator generator(11);
  std::vector<int64_t> sums = {0, 1, -1, std::numeric_limits<int64_t>::max(),
                               std::numeric_limits<int64_t>::min()};
  for (int k = 0; k < 40'000; ++k) {
    const int64_t word = static_cast<int64_t>(generator.Word());
    sums.push_back(word >> (generator.Word() % 64));
    // Half way between two floats but for its last bits: rounding twice on the way to double shows
    // here.
    const int64_t half_way = ((word >> 40) * 2 + 1) << (generator.Word() % 38);
    sums.push_back(half_way + static_cast<int64_t>(generator.Word() % 4097) - 2048);
  }
  const std::vector<int64_t> before = sums;
  for (const double inverse : {1.0, 0x1p-40, -1.0, 1 / (3 * kGrid)}) {
    std::vector<float> community(sums.size(), kNaN), expected(sums.size());
    kernels().replace(sums.data(), {}, {}, inverse, community.data(), sums.size());
    for (size_t i = 0; i < sums.size(); ++i) expected[i] = Scaled(sums[i], inverse);
    ASSERT_EQ(Bits(community), Bits(expected));
  }
  EXPECT_EQ(sums, before);
}

TEST_P(KernelsTest, ReplaceIsItsDefinitionForEverySizeAndEveryAbsentTerm) {
  Generator generator(23);
  for (const size_t size : Sizes()) {
    const std::vector<float> incoming = generator.Parameters(size);
    const std::vector<float> outgoing = generator.Parameters(size);
    for (int absent = 0; absent < 8; ++absent) {
      const WeightedModel in{absent & 1 ? nullptr : incoming.data(), generator.Contribution()};
      const WeightedModel out{absent & 2 ? nullptr : outgoing.data(), generator.Contribution()};
      const double inverse = generator.Uniform(0.1, 3) / kGrid;
      std::vector<int64_t> sums(size + 1, kUntouched), expected_sums = sums;
      std::vector<float> community(size + 1, 7), expected = community;
      for (size_t i = 0; i < size; ++i) {
        sums[i] = static_cast<int64_t>(generator.Word()) >> 2;
        expected_sums[i] = sums[i] + Term(in, i) - Term(out, i);
        if ((absent & 4) == 0) expected[i] = Scaled(expected_sums[i], inverse);
      }
      kernels().replace(sums.data(), in, out, inverse, absent & 4 ? nullptr : community.data(),
                        size);
      ASSERT_EQ(sums, expected_sums) << "size " << size << ", absent " << absent;
      ASSERT_EQ(Bits(community), Bits(expected)) << "size " << size << ", absent " << absent;
    }
  }
}

TEST_P(KernelsTest, AverageIsItsDefinitionForEverySizeAndNumberOfModels) {
  Generator generator(37);
  for (const size_t size : Sizes()) {
    std::vector<std::vector<float>> parameters(size % 24);
    std::vector<WeightedModel> models;
    for (auto& each : parameters) {
      each = generator.Parameters(size);
      models.push_back({each.data(), generator.Contribution()});
    }
    const double inverse = generator.Uniform(0.1, 3) / kGrid;
    std::vector<int64_t> expected_sums(size + 1, kUntouched);
    std::vector<float> expected(size + 1, 7);
    for (size_t i = 0; i < size; ++i) {
      expected_sums[i] = 0;
      for (const WeightedModel& model : models) expected_sums[i] += Term(model, i);
      expected[i] = Scaled(expected_sums[i], inverse);
    }
    std::vector<int64_t> sums(size + 1, kUntouched), only_sums = sums;
    std::vector<float> community(size + 1, 7), only_community = community;
    kernels().average(models, inverse, sums.data(), community.data(), size);
    kernels().average(models, inverse, only_sums.data(), nullptr, size);
    kernels().average(models, inverse, nullptr, only_community.data(), size);
    ASSERT_EQ(sums, expected_sums) << models.size() << " models of " << size;
    ASSERT_EQ(only_sums, expected_sums) << models.size() << " models of " << size;
    ASSERT_EQ(Bits(community), Bits(expected)) << models.size() << " models of " << size;
    ASSERT_EQ(Bits(only_community), Bits(expected)) << models.size() << " models of " << size;
  }
}

TEST_P(KernelsTest, AveragingEqualsReplacingOneLearnerAfterTheOther) {
  Generator generator(41);
  constexpr size_t kSize = 4097;
  for (const size_t count : {1u, 5u, 6u, 17u}) {
    std::vector<std::vector<float>> first, last;
    std::vector<WeightedModel> started, models;
    for (size_t k = 0; k < count; ++k) {
      started.push_back(
          {first.emplace_back(generator.Parameters(kSize)).data(), generator.Contribution()});
      models.push_back(
          {last.emplace_back(generator.Parameters(kSize)).data(), generator.Contribution()});
    }
    std::vector<int64_t> sums(kSize), expected_sums(kSize);
    std::vector<float> community(kSize), expected(kSize);
    for (size_t k = 0; k < count; ++k) {
      kernels().replace(sums.data(), started[k], {}, 0, community.data(), kSize);
    }
    for (size_t k = count; k-- > 0;) {
      kernels().replace(sums.data(), models[k], started[k], 0.3 / kGrid, community.data(), kSize);
    }
    kernels().average(models, 0.3 / kGrid, expected_sums.data(), expected.data(), kSize);
    EXPECT_EQ(sums, expected_sums) << count << " models";
    EXPECT_EQ(Bits(community), Bits(expected)) << count << " models";
  }
}

TEST_P(KernelsTest, AWithdrawnLearnerLeavesNoTrace) {
  Generator generator(43);
  const std::vector<float> staying = generator.Parameters(203);
  const std::vector<float> leaving = generator.Parameters(203);
  std::vector<int64_t> sums(203);
  kernels().replace(sums.data(), {staying.data(), 0.7 * kGrid}, {}, 1, nullptr, 203);
  const std::vector<int64_t> before = sums;
  kernels().replace(sums.data(), {leaving.data(), 0.2 * kGrid}, {}, 1, nullptr, 203);
  EXPECT_NE(sums, before);
  kernels().replace(sums.data(), {}, {leaving.data(), 0.2 * kGrid}, 1, nullptr, 203);
  EXPECT_EQ(sums, before);
}

TEST_P(KernelsTest, MixIsItsFormulaAlsoInPlace) {
  Generator generator(53);
  for (const size_t size : Sizes()) {
    const std::vector<float> update = generator.Parameters(size);
    std::vector<float> community = generator.Parameters(size);
    const double alpha = size % 10 == 0 ? 1 : generator.Uniform(0, 1);
    std::vector<float> expected(size), out(size + 1, 7);
    for (size_t i = 0; i < size; ++i) {
      const double kept = (1 - alpha) * static_cast<double>(community[i]);
      const double taken = alpha * static_cast<double>(update[i]);
      expected[i] = static_cast<float>(kept + taken);
    }
    kernels().mix(community.data(), update.data(), alpha, out.data(), size);
    EXPECT_EQ(out.back(), 7);
    out.pop_back();
    ASSERT_EQ(Bits(out), Bits(expected)) << "size " << size;
    kernels().mix(community.data(), update.data(), alpha, community.data(), size);
    ASSERT_EQ(Bits(community), Bits(expected)) << "size " << size;
  }
}

TEST_P(KernelsTest, MagnitudeIsTheLargestAbsoluteValueWhereverItStands) {
  EXPECT_EQ(kernels().magnitude(nullptr, 0), 0);
  Generator generator(61);
  for (size_t size = 1; size <= 100; ++size) {
    for (size_t at = 0; at < size; ++at) {
      std::vector<float> values = generator.Parameters(size + 1);
      values[size] = 5000;  // outside
      values[at] = at % 2 == 0 ? -1024.5f : 1024.5f;
      ASSERT_EQ(kernels().magnitude(values.data(), size), 1024.5f) << at << " of " << size;
    }
  }
  const std::vector<float> tiny = {-0.0f, std::numeric_limits<float>::denorm_min(), 0.0f};
  EXPECT_EQ(kernels().magnitude(tiny.data(), 3), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(Bits({kernels().magnitude(tiny.data(), 1)}), Bits({0.0f}));
}

TEST_P(KernelsTest, MagnitudeIsInfiniteWhereverAValueIsNotFinite) {
  for (const float bad :
       {kNaN, -kNaN, kInfinite, -kInfinite, std::numeric_limits<float>::signaling_NaN()}) {
    for (size_t size = 1; size <= 70; ++size) {
      for (size_t at = 0; at < size; ++at) {
        std::vector<float> values(size, std::numeric_limits<float>::max());
        values[at] = bad;
        ASSERT_EQ(kernels().magnitude(values.data(), size), kInfinite)
            << bad << " at " << at << " of " << size;
      }
    }
  }
  const std::vector<float> largest(70, -std::numeric_limits<float>::max());
  EXPECT_EQ(kernels().magnitude(largest.data(), 70), std::numeric_limits<float>::max());
}

}  // namespace
}  // namespace metis
