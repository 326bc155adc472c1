#include "metis/core/random.h"

#include <bit>
#include <cmath>

#include "metis/core/check.h"
#include "metis/core/math.h"

namespace metis {
namespace {

// SplitMix64's finaliser: a bijection whose every output bit depends on every input bit.
uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;

}  // namespace

Random::Random(const RandomKey& key) {
  uint64_t x = 0;
  for (uint64_t part :
       {key.seed, key.learner, key.cycle, key.epoch, static_cast<uint64_t>(key.purpose)}) {
    x = Mix((x + kGolden) ^ Mix(part + kGolden));
  }
  for (uint64_t& word : state_) word = Mix(x += kGolden);
}

uint64_t Random::Next() {
  uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Random::Uniform(double low, double high) { return low + (high - low) * Uniform(); }

uint64_t Random::Below(uint64_t bound) {
  METIS_CHECK(bound > 0);
  // The numbers from 2^64 mod bound on are a multiple of `bound`: unbiased. Below, it is drawn
  // again.
  uint64_t draw = Next();
  if (draw < bound) {
    uint64_t rejected = (0 - bound) % bound;
    while (draw < rejected) draw = Next();
  }
  return draw % bound;
}

bool Random::Chance(double probability) { return Uniform() < probability; }

// Marsaglia's polar method; its second number is dropped so that a stream has no hidden state.
double Random::Normal() {
  for (;;) {
    double u = 2 * Uniform() - 1;
    double v = 2 * Uniform() - 1;
    double s = u * u + v * v;
    if (s > 0 && s < 1) return u * std::sqrt(-2 * PortableLog(s) / s);
  }
}

// Marsaglia and Tsang (2000); for shape < 1 by gamma(shape + 1) * u^(1/shape).
double Random::Gamma(double shape) {
  METIS_CHECK(shape > 0);
  if (shape < 1) return Gamma(shape + 1) * PortablePow(1 - Uniform(), 1 / shape);
  double d = shape - 1.0 / 3;
  double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = Normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    if (PortableLog(1 - Uniform()) < 0.5 * x * x + d - d * v + d * PortableLog(v)) return d * v;
  }
}

double Random::Exponential(double mean) { return -mean * PortableLog(1 - Uniform()); }

}  // namespace metis
