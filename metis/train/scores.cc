#include "metis/train/scores.h"

#include <ATen/autocast_mode.h>

namespace metis::train {
namespace {

// Mixed precision for one scope of one thread.
class Autocast {
 public:
  Autocast() {
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(true);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_cpu_enabled(false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
};

}  // namespace

at::Tensor Scores(Instance& instance, const at::Tensor& input, Mode mode,
                  learner::Precision precision, uint64_t draw) {
  if (precision == learner::Precision::kFp32) return instance.Forward(input, mode, draw);
  at::Tensor scores;
  {
    Autocast autocast;
    scores = instance.Forward(input, mode, draw);
  }
  return scores.to(at::kFloat);
}

}  // namespace metis::train
