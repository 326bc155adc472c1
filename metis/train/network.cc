#include "metis/train/network.h"

#include <algorithm>

#include "metis/core/check.h"
#include "metis/core/random.h"

namespace metis::train {

bool Network::has_statistics() const {
  return std::any_of(rules_.begin(), rules_.end(), [](const TensorRule& rule) {
    return rule.kind == TensorRule::Kind::kStatistic;
  });
}

void Network::Begin(size_t index, uint64_t seed, std::span<float> values) const {
  const TensorRule& rule = rules_[index];
  // A stream of its own: tensors can be begun in any order.
  Random random({.seed = seed, .cycle = index, .purpose = Purpose::kInitialModel});
  for (float& value : values) {
    switch (rule.start) {
      case TensorRule::Start::kZero:
        value = 0;
        break;
      case TensorRule::Start::kOne:
        value = 1;
        break;
      case TensorRule::Start::kUniform:
        value = static_cast<float>(random.Uniform(-rule.spread, rule.spread));
        break;
      case TensorRule::Start::kNormal:
        value = static_cast<float>(rule.spread * random.Normal());
        break;
      case TensorRule::Start::kGiven:
        METIS_CHECK_MSG(false, "a network with given values must say them itself");
    }
  }
}

}  // namespace metis::train
