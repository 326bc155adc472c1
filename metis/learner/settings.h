// How a learner trains locally. The same at every learner of a federation.
#pragma once

#include <cstdint>
#include <string>

namespace metis::learner {

enum class Precision {
  kFp32,
  kBf16,  // mixed: 16-bit multiplication where that is safe, weights and sums in 32 bits
};

struct TrainingSettings {
  double learning_rate = 0.05;  // eta > 0
  double momentum = 0.75;       // [0, 1)
  double proximal = 0;          // mu >= 0 of mu/2 |w - w_received|^2 (FedProx, FedAsync)
  uint32_t batch_size = 100;
  bool keep_momentum = false;         // true: momentum survives a received model
  double validation_fraction = 0.05;  // reserved where the policy needs a validation set, (0, 0.5]

  std::string model = "auto";  // an architecture of train/architecture.h; auto: by the data set
  // Running statistics of batch normalisation travel with the model; else each learner keeps its
  // own.
  bool share_statistics = true;
  Precision precision = Precision::kFp32;
  bool augmentation = false;  // of colour images: a random crop, mirrored every other time

  friend bool operator==(const TrainingSettings&, const TrainingSettings&) = default;
};

}  // namespace metis::learner
