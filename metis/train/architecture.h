// A network architecture by name, made for the shape and the classes of some data: what its models
// look like (schema), how they begin, how examples become inputs. No libtorch in this header: the
// programs that only ask these things stay free of it. Immutable; any thread may use it.
//
//   name              what                                                          parameters
//   mnist-cnn         conv 5x5x16, pool, conv 5x5x32, pool, 128                     215,370
//   (1x28x28,
//                                                                                   10 classes)
//   cifar10-cnn       crop 24x24, conv 5x5x64, pool, LRN, conv 5x5x64, LRN, pool,   1,068,298
//                     384, 192                                                      (3x32x32, 10)
//   femnist-cnn       conv 5x5x32, pool, conv 5x5x64, pool, 2048                    6,603,710
//                                                                                   (1x28x28, 62)
//   resnet-cifar:D    residual network of 6n+2 layers, 16/32/64 filters             764,404 for 50
//                                                                                   (3x32x32, 100)
//   resnet50          bottleneck residual network of ImageNet                       25,557,032
//                                                                                   (1000 classes)
//   mlp:A,B,...       fully connected layers of A, B, ... units, mlp alone: 128
//   logistic          softmax regression
//   torchscript:FILE  a module scripted in Python (torch.jit.script, torch.jit.save)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/data/dataset.h"
#include "metis/train/examples.h"

namespace metis::train {

class InstancePool;
class Layout;
class Network;

struct ArchitectureSettings {
  std::string name;
  data::Shape example;
  uint32_t classes = 0;
  // Running statistics of batch normalisation travel with the model. If not, every learner keeps
  // its own, and a model is evaluated by the statistics of each mini-batch.
  bool share_statistics = true;
};

class Architecture {
 public:
  // Fails on an unknown name, on numbers out of range, on examples too small for the network, and
  // on a TorchScript file that is no such file or does not give one score a class.
  static Result<std::shared_ptr<const Architecture>> Create(const ArchitectureSettings& settings);
  // Whose examples are those of the set.
  static Result<std::shared_ptr<const Architecture>> For(std::string_view name,
                                                         const data::Dataset& set,
                                                         bool share_statistics = true);
  ~Architecture();

  const ArchitectureSettings& settings() const { return settings_; }
  const std::string& name() const { return settings_.name; }
  const SchemaPtr& schema() const;
  size_t trained_parameters() const;  // of schema()->parameters(), without statistics
  const Preparation& preparation() const { return preparation_; }
  bool has_statistics() const;

  // The same bits for the same seed on every machine; the file's own values for TorchScript.
  ModelPtr Initial(ModelPool& pool, uint64_t seed) const;

  // For trainers and evaluators.
  const Network& network() const { return *network_; }
  const Layout& layout() const { return *layout_; }
  InstancePool& instances() const { return *instances_; }  // synchronises itself

 private:
  Architecture(ArchitectureSettings settings, Preparation preparation,
               std::unique_ptr<Network> network, std::unique_ptr<Layout> layout);

  const ArchitectureSettings settings_;
  const Preparation preparation_;
  const std::unique_ptr<const Network> network_;
  const std::unique_ptr<const Layout> layout_;
  const std::unique_ptr<InstancePool> instances_;
};

using ArchitecturePtr = std::shared_ptr<const Architecture>;

// The names above, with their placeholders, for messages.
std::vector<std::string> ArchitectureNames();

}  // namespace metis::train
