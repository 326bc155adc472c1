// The loops of kernels.h, written once over a vector type and compiled once for each instruction
// set.
//
// Included only by kernels_<instruction set>.cc, and everything is in an anonymous namespace on
// purpose: with external linkage the linker would merge the copies and could hand AVX code to a CPU
// without it. For the same reason nothing here calls inline functions of the standard library
// beyond accessors.
//
// A vector type V has kLanes, kGroup, Doubles (with + - *), Integers, and
//   Broadcast(double)                        all lanes alike
//   LoadFloats / StoreFloats                 kLanes floats, as doubles
//   LoadIntegers / StoreIntegers             kLanes int64
//   ToDoubles(Integers)                      rounded once, to nearest even
//   Terms                                    a sum of rounded doubles; see ScalarLane::Terms
//   LargestBits(const float*, size_t, &i)    what Magnitude needs, from index i on
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "metis/core/kernels.h"

namespace metis {
namespace {

// How far ahead a pass asks for memory: the CPU's own prefetcher stops at every page and is slow to
// follow several models at once (averaging takes 1.2 times the time without). Past a model's end is
// harmless.
inline constexpr size_t kFloatsAhead = 256;

// One element at a time: the tails of every instruction set, and everything on CPUs without vectors
// here.
struct ScalarLane {
  static constexpr size_t kLanes = 1;
  static constexpr size_t kGroup = 5;
  using Doubles = double;
  using Integers = int64_t;

  static Doubles Broadcast(double value) { return value; }
  static Doubles LoadFloats(const float* from) { return static_cast<double>(*from); }
  static void StoreFloats(float* to, Doubles values) { *to = static_cast<float>(values); }
  static Integers LoadIntegers(const int64_t* from) { return *from; }
  static void StoreIntegers(int64_t* to, Integers values) { *to = values; }
  static Doubles ToDoubles(Integers values) { return static_cast<double>(values); }

  // start + sum of round(x) added - sum of round(x) subtracted; wraps at 2^63, hence unsigned.
  class Terms {
   public:
    explicit Terms(Integers start) : sum_(static_cast<uint64_t>(start)) {}
    void Add(Doubles x) { sum_ += static_cast<uint64_t>(__builtin_llrint(x)); }
    void Subtract(Doubles x) { sum_ -= static_cast<uint64_t>(__builtin_llrint(x)); }
    // `net` is the number of terms added less the number subtracted.
    Integers Total(int64_t /*net*/) const { return static_cast<int64_t>(sum_); }

   private:
    uint64_t sum_;
  };

  static uint32_t LargestBits(const float* from, size_t size, size_t& i) {
    uint32_t largest = 0;
    for (; i < size; ++i) {
      const uint32_t bits = __builtin_bit_cast(uint32_t, from[i]) & 0x7fffffffu;
      if (bits > largest) largest = bits;
    }
    return largest;
  }
};

// Terms for vectors that cannot convert double to int64: every x is taken in two halves, x = h + l,
// h a multiple of 2^32. Adding 1.5 * 2^84, whose last bit is worth 2^32, rounds x to h and leaves h
// / 2^32 in the low bits of the sum's representation; h and l = x - h are exact for |x| < 2^63.
// Adding 1.5 * 2^52 to l does the same with units of 1. Ties stay even: h / 2^32 shifts no parity
// of the units. The representations are summed as they are; the constants leave once, in Total().
template <class V>
class HalvedTerms {
  using Doubles = typename V::Doubles;
  using Integers = typename V::Integers;

 public:
  explicit HalvedTerms(Integers start) : high_(V::Minus(start, start)), low_(start) {}

  void Add(Doubles x) {
    const Doubles high = x + V::Broadcast(kHighUnit);
    const Doubles low = (x - (high - V::Broadcast(kHighUnit))) + V::Broadcast(kLowUnit);
    high_ = V::Plus(high_, V::Bits(high));
    low_ = V::Plus(low_, V::Bits(low));
  }

  void Subtract(Doubles x) {
    const Doubles high = x + V::Broadcast(kHighUnit);
    const Doubles low = (x - (high - V::Broadcast(kHighUnit))) + V::Broadcast(kLowUnit);
    high_ = V::Minus(high_, V::Bits(high));
    low_ = V::Minus(low_, V::Bits(low));
  }

  Integers Total(int64_t net) const {
    // The shift drops the constant of the high half by itself.
    const Integers sum = V::Plus(V::ShiftLeft32(high_), low_);
    if (net == 0) return sum;
    return V::Minus(
        sum, V::BroadcastBits(static_cast<uint64_t>(net) * __builtin_bit_cast(uint64_t, kLowUnit)));
  }

 private:
  static constexpr double kHighUnit = 0x1.8p84;
  static constexpr double kLowUnit = 0x1.8p52;

  Integers high_;
  Integers low_;
};

template <class V>
struct Loops {
  using Doubles = typename V::Doubles;
  using Integers = typename V::Integers;

  // Values summed before the next group of models is read: 16 KiB of sums stay in L1 beside the
  // models' lines.
  static constexpr size_t kTile = 2048;
  // Models in one inner pass: as many as there are registers for their contributions. More would
  // save passes over the tile, and cost loads.
  static constexpr size_t kGroup = V::kGroup;
  static constexpr size_t kFloatsPerLine = 16;
  // Of each model: what was asked for and is not read yet shares L1 with the tile, so that ten
  // models at once are asked for half as far ahead as five.
  static constexpr size_t kFloatsAheadInGroup = 5 * kFloatsAhead / kGroup;

  template <class Lanes, bool kIncoming, bool kOutgoing, bool kCommunity>
  static size_t ReplaceFrom(size_t i, int64_t* sums, WeightedModel incoming, WeightedModel outgoing,
                            double inverse, float* community, size_t size) {
    const auto in_scale = Lanes::Broadcast(incoming.scaled_contribution);
    const auto out_scale = Lanes::Broadcast(outgoing.scaled_contribution);
    const auto inverses = Lanes::Broadcast(inverse);
    for (; i + Lanes::kLanes <= size; i += Lanes::kLanes) {
      typename Lanes::Terms terms(Lanes::LoadIntegers(sums + i));
      if constexpr (kIncoming) terms.Add(Lanes::LoadFloats(incoming.parameters + i) * in_scale);
      if constexpr (kOutgoing)
        terms.Subtract(Lanes::LoadFloats(outgoing.parameters + i) * out_scale);
      const auto sum = terms.Total(int64_t{kIncoming} - int64_t{kOutgoing});
      if constexpr (kIncoming || kOutgoing) Lanes::StoreIntegers(sums + i, sum);
      if constexpr (kCommunity) Lanes::StoreFloats(community + i, Lanes::ToDoubles(sum) * inverses);
    }
    return i;
  }

  template <bool kIncoming, bool kOutgoing, bool kCommunity>
  static void ReplaceAll(int64_t* sums, WeightedModel incoming, WeightedModel outgoing,
                         double inverse, float* community, size_t size) {
    const size_t tail = ReplaceFrom<V, kIncoming, kOutgoing, kCommunity>(
        0, sums, incoming, outgoing, inverse, community, size);
    ReplaceFrom<ScalarLane, kIncoming, kOutgoing, kCommunity>(tail, sums, incoming, outgoing,
                                                              inverse, community, size);
  }

  static void Replace(int64_t* sums, WeightedModel incoming, WeightedModel outgoing, double inverse,
                      float* community, size_t size) {
    using Variant = void (*)(int64_t*, WeightedModel, WeightedModel, double, float*, size_t);
    static constexpr Variant kVariants[2][2][2] = {
        {{ReplaceAll<false, false, false>, ReplaceAll<false, false, true>},
         {ReplaceAll<false, true, false>, ReplaceAll<false, true, true>}},
        {{ReplaceAll<true, false, false>, ReplaceAll<true, false, true>},
         {ReplaceAll<true, true, false>, ReplaceAll<true, true, true>}}};
    kVariants[incoming.parameters != nullptr][outgoing.parameters != nullptr][community != nullptr](
        sums, incoming, outgoing, inverse, community, size);
  }

  // Where one pass over a tile takes its sums from and leaves its results; null means none.
  struct Pass {
    const int64_t* before;
    int64_t* after;
    float* community;
    double inverse;
  };

  template <class Lanes, size_t... kModel>
  static size_t PassFrom(size_t i, const WeightedModel* models, size_t start, size_t length,
                         const Pass& pass, std::index_sequence<kModel...>) {
    constexpr size_t kCount = sizeof...(kModel);
    [[maybe_unused]] const float* const parameters[kCount + 1] = {
        (models[kModel].parameters + start)..., nullptr};
    [[maybe_unused]] const typename Lanes::Doubles scales[kCount + 1] = {
        Lanes::Broadcast(models[kModel].scaled_contribution)..., Lanes::Broadcast(0)};
    const auto inverses = Lanes::Broadcast(pass.inverse);
    constexpr int64_t kNothing[Lanes::kLanes] = {};
    const auto nothing = Lanes::LoadIntegers(kNothing);
    const Pass to = pass;  // a copy: stores below cannot change it, as far as the compiler knows
    for (; i + Lanes::kLanes <= length; i += Lanes::kLanes) {
      if (i % kFloatsPerLine == 0)
        (__builtin_prefetch(parameters[kModel] + i + kFloatsAheadInGroup), ...);
      typename Lanes::Terms terms(to.before != nullptr ? Lanes::LoadIntegers(to.before + i)
                                                       : nothing);
      (terms.Add(Lanes::LoadFloats(parameters[kModel] + i) * scales[kModel]), ...);
      const auto sum = terms.Total(int64_t{kCount});
      if (to.after != nullptr) Lanes::StoreIntegers(to.after + i, sum);
      if (to.community != nullptr)
        Lanes::StoreFloats(to.community + i, Lanes::ToDoubles(sum) * inverses);
    }
    return i;
  }

  template <size_t kCount>
  static void PassOver(const WeightedModel* models, size_t start, size_t length, const Pass& pass) {
    const std::make_index_sequence<kCount> all;
    const size_t tail = PassFrom<V>(0, models, start, length, pass, all);
    PassFrom<ScalarLane>(tail, models, start, length, pass, all);
  }

  using PassFunction = void (*)(const WeightedModel*, size_t, size_t, const Pass&);

  template <size_t... kCount>
  static PassFunction PassOf(size_t count, std::index_sequence<kCount...>) {
    static constexpr PassFunction kPasses[] = {PassOver<kCount>...};
    return kPasses[count];
  }

  // Groups of nearly equal size: 11 models are 3, 4 and 4, not 5, 5 and 1.
  static void AverageTile(std::span<const WeightedModel> models, size_t start, size_t length,
                          int64_t* carry, Pass last) {
    const size_t groups = models.empty() ? 1 : (models.size() + kGroup - 1) / kGroup;
    size_t first = 0;
    for (size_t group = 0; group < groups; ++group) {
      const size_t end = models.size() * (group + 1) / groups;
      Pass pass = group + 1 == groups ? last : Pass{nullptr, carry, nullptr, 0};
      pass.before = group == 0 ? nullptr : carry;
      PassOf(end - first, std::make_index_sequence<kGroup + 1>())(models.data() + first, start,
                                                                  length, pass);
      first = end;
    }
  }

  static void Average(std::span<const WeightedModel> models, double inverse, int64_t* sums,
                      float* community, size_t size) {
    alignas(64) int64_t scratch[kTile];
    for (size_t start = 0; start < size; start += kTile) {
      const size_t length = size - start < kTile ? size - start : kTile;
      int64_t* const to = sums == nullptr ? nullptr : sums + start;
      AverageTile(models, start, length, to == nullptr ? scratch : to,
                  Pass{nullptr, to, community == nullptr ? nullptr : community + start, inverse});
    }
  }

  template <class Lanes>
  static size_t MixFrom(size_t i, const float* community, const float* update, double alpha,
                        float* out, size_t size) {
    const auto keep = Lanes::Broadcast(1 - alpha);
    const auto take = Lanes::Broadcast(alpha);
    for (; i + Lanes::kLanes <= size; i += Lanes::kLanes) {
      Lanes::StoreFloats(
          out + i, keep * Lanes::LoadFloats(community + i) + take * Lanes::LoadFloats(update + i));
    }
    return i;
  }

  static void Mix(const float* community, const float* update, double alpha, float* out,
                  size_t size) {
    const size_t tail = MixFrom<V>(0, community, update, alpha, out, size);
    MixFrom<ScalarLane>(tail, community, update, alpha, out, size);
  }

  // Without the sign, floats order like their bits, and infinity and NaN come after all finite
  // values: one integer maximum answers everything, in any order of lanes.
  static float Magnitude(const float* parameters, size_t size) {
    constexpr uint32_t kInfinity = 0x7f800000u;
    size_t i = 0;
    const uint32_t body = V::LargestBits(parameters, size, i);
    const uint32_t tail = ScalarLane::LargestBits(parameters, size, i);
    const uint32_t largest = body > tail ? body : tail;
    return __builtin_bit_cast(float, largest < kInfinity ? largest : kInfinity);
  }

  static constexpr Kernels Table(InstructionSet set, const char* name) {
    return {set, name, Replace, Average, Mix, Magnitude};
  }
};

// The largest of `kLanes` non-negative int32, for the end of LargestBits.
template <size_t kLanes>
uint32_t LargestOf(const uint32_t (&lanes)[kLanes]) {
  uint32_t largest = 0;
  for (const uint32_t lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

}  // namespace
}  // namespace metis
