#include "metis/train/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "metis/core/random.h"

namespace metis::train {
namespace {

std::vector<float> Drawn(size_t size, uint64_t seed, double spread = 1) {
  Random random({.seed = seed, .purpose = Purpose::kTest});
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(spread * random.Normal());
  return values;
}

constexpr size_t kSizes[] = {0, 1, 7, 16, 33, 1000};

TEST(TrainStep, FollowsItsFormulaWithAndWithoutMomentumAndProximalTerm) {
  for (size_t size : kSizes) {
    for (float momentum : {0.0F, 0.75F}) {
      for (float mu : {0.0F, 0.25F}) {
        std::vector<float> w = Drawn(size, 1);
        std::vector<float> u = Drawn(size, 2);
        const std::vector<float> w0 = w, u0 = u, g = Drawn(size, 3), received = Drawn(size, 4);
        BestTrainKernels().step({.learning_rate = 0.1F, .momentum = momentum, .proximal = mu},
                                w.data(), u.data(), g.data(), received.data(), size);
        for (size_t i = 0; i < size; ++i) {
          const double slope = g[i] + mu * (static_cast<double>(w0[i]) - received[i]);
          const double velocity = momentum * static_cast<double>(u0[i]) - 0.1 * slope;
          EXPECT_NEAR(w[i], w0[i] + velocity, 1e-6);
          EXPECT_NEAR(u[i], momentum > 0 ? velocity : static_cast<double>(u0[i]), 1e-6);
        }
      }
    }
  }
}

TEST(TrainStep, WithoutMomentumAndProximalTermNeedsNeitherBuffer) {
  std::vector<float> w = {1, 2, 3};
  const std::vector<float> g = {1, 1, 2};
  BestTrainKernels().step({.learning_rate = 0.5F}, w.data(), nullptr, g.data(), nullptr, 3);
  EXPECT_EQ(w, (std::vector<float>{0.5F, 1.5F, 2}));
}

// y and dx in doubles, straight from the definition.
struct Reference {
  std::vector<double> y;
  std::vector<double> dx;
};
Reference Normalised(const NormalisationSettings& s, const std::vector<float>& x,
                     const std::vector<float>& dy) {
  const auto channels = static_cast<int64_t>(s.channels);
  const auto radius = static_cast<int64_t>(s.radius);
  Reference out{std::vector<double>(x.size()), std::vector<double>(x.size())};
  for (size_t p = 0; p < x.size() / s.channels; ++p) {
    const float* row = x.data() + p * s.channels;
    const float* slope = dy.data() + p * s.channels;
    std::vector<double> d(s.channels, static_cast<double>(s.k));
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t j = std::max<int64_t>(0, c - radius); j <= std::min(channels - 1, c + radius);
           ++j) {
        d[static_cast<size_t>(c)] += static_cast<double>(s.alpha) * row[j] * row[j];
      }
    }
    for (int64_t c = 0; c < channels; ++c) {
      const size_t at = p * s.channels + static_cast<size_t>(c);
      const double scale = std::pow(d[static_cast<size_t>(c)], -0.75);
      out.y[at] = row[c] * scale;
      out.dx[at] = slope[c] * scale;
      for (int64_t j = std::max<int64_t>(0, c - radius); j <= std::min(channels - 1, c + radius);
           ++j) {
        out.dx[at] -= 1.5 * static_cast<double>(s.alpha) * row[c] * slope[j] * row[j] *
                      std::pow(d[static_cast<size_t>(j)], -1.75);
      }
    }
  }
  return out;
}

TEST(ResponseNormalisation, IsItsDefinitionAndItsGradient) {
  for (size_t channels : {1U, 3U, 9U, 64U, 65U}) {
    // A large alpha, so that the windows matter.
    const NormalisationSettings settings = {
        .channels = channels, .radius = 4, .k = 1, .alpha = 0.3F};
    const std::vector<float> x = Drawn(channels * 5, channels, 2), dy = Drawn(channels * 5, 9);
    std::vector<float> y(x.size()), dx(x.size()), scratch(NormalisationScratch(settings));
    BestTrainKernels().normalise(settings, x.data(), y.data(), scratch.data(), 5);
    BestTrainKernels().normalise_back(settings, x.data(), dy.data(), dx.data(), scratch.data(), 5);
    const Reference wanted = Normalised(settings, x, dy);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(y[i], wanted.y[i], 1e-5) << channels << " " << i;
      ASSERT_NEAR(dx[i], wanted.dx[i], 1e-5) << channels << " " << i;
    }
  }
}

std::vector<uint16_t> Halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (float value : values) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    halves.push_back(static_cast<uint16_t>(bits >> 16));
  }
  return halves;
}
float Whole(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(ResponseNormalisation, OfBfloatsIsThatOfFloatsRounded) {
  const NormalisationSettings settings = {.channels = 20, .radius = 4, .k = 1, .alpha = 0.3F};
  const std::vector<uint16_t> x = Halves(Drawn(60, 1, 2)), dy = Halves(Drawn(60, 2));
  std::vector<float> wide_x, wide_dy;
  for (uint16_t half : x) wide_x.push_back(Whole(half));
  for (uint16_t half : dy) wide_dy.push_back(Whole(half));
  std::vector<uint16_t> y(60), dx(60);
  std::vector<float> wide_y(60), wide_dx(60), scratch(NormalisationScratch(settings));
  const TrainKernels& kernels = BestTrainKernels();
  kernels.normalise_bf16(settings, x.data(), y.data(), scratch.data(), 3);
  kernels.normalise_back_bf16(settings, x.data(), dy.data(), dx.data(), scratch.data(), 3);
  kernels.normalise(settings, wide_x.data(), wide_y.data(), scratch.data(), 3);
  kernels.normalise_back(settings, wide_x.data(), wide_dy.data(), wide_dx.data(), scratch.data(),
                         3);
  for (size_t i = 0; i < 60; ++i) {
    // Half a unit in the last of eight places.
    EXPECT_NEAR(Whole(y[i]), wide_y[i], std::abs(wide_y[i]) / 256) << i;
    EXPECT_NEAR(Whole(dx[i]), wide_dx[i], std::abs(wide_dx[i]) / 256) << i;
  }
}

TEST(TrainKernels, GiveTheSameBitsWithEveryInstructionSet) {
  const NormalisationSettings settings = {.channels = 67};
  const std::vector<float> x = Drawn(67 * 11, 5, 30), dy = Drawn(67 * 11, 6);
  const std::vector<uint16_t> half_x = Halves(x), half_dy = Halves(dy);
  struct Outcome {
    std::vector<float> w, u, y, dx;
    std::vector<uint16_t> half_y, half_dx;
    bool operator==(const Outcome&) const = default;
  };
  std::vector<Outcome> outcomes;
  for (InstructionSet set : SupportedInstructionSets()) {
    const TrainKernels& kernels = TrainKernelsFor(set);
    Outcome out{Drawn(999, 1), Drawn(999, 2), x, x, half_x, half_x};
    std::vector<float> scratch(NormalisationScratch(settings));
    kernels.step({.learning_rate = 0.1F, .momentum = 0.9F, .proximal = 0.01F}, out.w.data(),
                 out.u.data(), Drawn(999, 3).data(), Drawn(999, 4).data(), 999);
    kernels.normalise(settings, x.data(), out.y.data(), scratch.data(), 11);
    kernels.normalise_back(settings, x.data(), dy.data(), out.dx.data(), scratch.data(), 11);
    kernels.normalise_bf16(settings, half_x.data(), out.half_y.data(), scratch.data(), 11);
    kernels.normalise_back_bf16(settings, half_x.data(), half_dy.data(), out.half_dx.data(),
                                scratch.data(), 11);
    outcomes.push_back(std::move(out));
  }
  for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome == outcomes.front());
}

}  // namespace
}  // namespace metis::train
