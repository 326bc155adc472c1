#include "metis/train/batch.h"

#include "metis/core/check.h"

namespace metis::train {

Batch::Batch(const Examples& examples, const Preparation& preparation, size_t most)
    : examples_(examples), preparation_(preparation) {
  const auto count = static_cast<int64_t>(most);
  const int64_t channels = examples.set->shape().channels;
  all_inputs_ = at::empty(
      {count, channels, preparation.height, preparation.width},
      at::TensorOptions().dtype(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  all_labels_ = at::empty({count}, at::kLong);
}

void Batch::Fill(std::span<const uint32_t> members, Random* random) {
  METIS_CHECK(static_cast<int64_t>(members.size()) <= all_labels_.size(0));
  const data::Dataset& set = *examples_.set;
  const size_t values = size_t{set.shape().channels} * preparation_.height * preparation_.width;
  const Placement centred = Centred(set.shape(), preparation_);
  float* inputs = all_inputs_.data_ptr<float>();
  int64_t* labels = all_labels_.data_ptr<int64_t>();
  for (size_t i = 0; i < members.size(); ++i) {
    const Placement placement =
        random != nullptr ? DrawPlacement(set.shape(), preparation_, *random) : centred;
    Prepare(set, examples_.indices[members[i]], preparation_, placement,
            {inputs + i * values, values});
    labels[i] = examples_.labels[members[i]];
  }
  input_ = all_inputs_.narrow(0, 0, static_cast<int64_t>(members.size()));
  labels_ = all_labels_.narrow(0, 0, static_cast<int64_t>(members.size()));
}

}  // namespace metis::train
