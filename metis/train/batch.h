// One mini-batch as tensors: inputs with channels innermost, and labels. Reused from batch to
// batch; one thread. Includes libtorch.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>

#include "metis/core/random.h"
#include "metis/train/examples.h"

namespace metis::train {

class Batch {
 public:
  // For at most `most` examples.
  Batch(const Examples& examples, const Preparation& preparation, size_t most);

  // `members` are places in `examples`. Crops are drawn where `random` is given, else centred.
  void Fill(std::span<const uint32_t> members, Random* random);

  const at::Tensor& input() const { return input_; }    // [n, channels, height, width], fp32
  const at::Tensor& labels() const { return labels_; }  // [n], int64

 private:
  const Examples& examples_;
  const Preparation preparation_;
  at::Tensor all_inputs_;
  at::Tensor all_labels_;
  at::Tensor input_;
  at::Tensor labels_;
};

}  // namespace metis::train
