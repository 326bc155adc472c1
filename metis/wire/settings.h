// How models travel. The controller decides, for both directions.
#pragma once

namespace metis::wire {

enum class Encoding {
  kRaw,   // float32 as it is: fastest on a fast network
  kZstd,  // lossless, some per cent smaller
  kHalf,  // 16 bits a value: half the bytes, values rounded to about three digits
};

}  // namespace metis::wire
