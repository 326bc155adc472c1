// Local training against a bare libtorch loop: the same network out of torch::nn modules, the same
// layout and precision, torch::optim::SGD, and mini-batches that lie ready in memory. The bare loop
// neither shuffles nor prepares images; Metis does both within its time. "bare with own norm" is
// the bare loop with the response normalisation of metis/train, to tell that gain from the rest.
//
// One epoch of 2,000 images on one thread; CPU time. Freed memory is kept by both alike
// (train/runtime.h): it is a setting of the process.
#include <ATen/autocast_mode.h>
#include <benchmark/benchmark.h>
#include <torch/nn.h>
#include <torch/optim/sgd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "metis/core/check.h"
#include "metis/core/random.h"
#include "metis/train/layered_network.h"
#include "metis/train/runtime.h"
#include "metis/train/torch_trainer.h"

namespace metis::bench {
namespace {

namespace nn = torch::nn;
using learner::Precision;

constexpr uint32_t kImages = 2000;
constexpr uint32_t kBatch = 100;

struct Case {
  const char* model;
  data::Shape shape;
  uint32_t classes;
};
constexpr Case kMnist = {"mnist-cnn", {1, 28, 28}, 10};
constexpr Case kCifar = {"cifar10-cnn", {3, 32, 32}, 10};
constexpr Case kFemnist = {"femnist-cnn", {1, 28, 28}, 62};

nn::Conv2d Convolution(int64_t from, int64_t to) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, 5).padding(2));
}

nn::MaxPool2d Pool(int64_t size) {
  return nn::MaxPool2d(nn::MaxPool2dOptions(size).stride(2).ceil_mode(true));
}

nn::LocalResponseNorm Norm() {
  return nn::LocalResponseNorm(nn::LocalResponseNormOptions(9).alpha(0.001).beta(0.75).k(1));
}

nn::Functional OwnNorm() {
  return nn::Functional([](at::Tensor x) { return train::ResponseNormalised(x); });
}

nn::Sequential BareCifar(bool own_norm) {
  nn::Sequential layers(Convolution(3, 64), nn::ReLU(), Pool(3));
  own_norm ? layers->push_back(OwnNorm()) : layers->push_back(Norm());
  layers->push_back(Convolution(64, 64));
  layers->push_back(nn::ReLU());
  own_norm ? layers->push_back(OwnNorm()) : layers->push_back(Norm());
  layers->push_back(Pool(3));
  layers->push_back(nn::Flatten());
  layers->push_back(nn::Linear(2304, 384));
  layers->push_back(nn::ReLU());
  layers->push_back(nn::Linear(384, 192));
  layers->push_back(nn::ReLU());
  layers->push_back(nn::Linear(192, 10));
  return layers;
}

nn::Sequential BareTwoConvolutions(int64_t filters, int64_t units, int64_t classes) {
  return nn::Sequential(Convolution(1, filters), nn::ReLU(), Pool(2),
                        Convolution(filters, 2 * filters), nn::ReLU(), Pool(2), nn::Flatten(),
                        nn::Linear(49 * 2 * filters, units), nn::ReLU(),
                        nn::Linear(units, classes));
}

nn::Sequential BareNetwork(const Case& what, bool own_norm) {
  if (what.model == kCifar.model) return BareCifar(own_norm);
  if (what.model == kMnist.model) return BareTwoConvolutions(16, 128, what.classes);
  return BareTwoConvolutions(32, 2048, what.classes);
}

// Convolution weights with channels innermost.
void SetLayout(nn::Module& module) {
  torch::NoGradGuard no_gradient;
  for (torch::Tensor& parameter : module.parameters()) {
    if (parameter.dim() == 4) {
      parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
    }
  }
}

class BareLoop {
 public:
  BareLoop(const Case& what, Precision precision, bool own_norm)
      : bf16_(precision == Precision::kBf16),
        network_(BareNetwork(what, own_norm)),
        optimizer_(network_->parameters(), torch::optim::SGDOptions(0.01).momentum(0.75)) {
    SetLayout(*network_);
    const int64_t side = what.model == kCifar.model ? 24 : 28;
    for (uint32_t i = 0; i < kImages / kBatch; ++i) {
      inputs_.push_back(torch::randn({kBatch, what.shape.channels, side, side})
                            .contiguous(torch::MemoryFormat::ChannelsLast));
      labels_.push_back(torch::randint(what.classes, {kBatch}, torch::kLong));
    }
  }

  void Epoch() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      optimizer_.zero_grad();
      torch::Tensor scores = Forward(inputs_[i]);
      torch::Tensor loss = torch::nn::functional::cross_entropy(scores, labels_[i]);
      loss.backward();
      optimizer_.step();
      benchmark::DoNotOptimize(loss.item<float>());
    }
  }

 private:
  torch::Tensor Forward(const torch::Tensor& input) {
    if (!bf16_) return network_->forward(input);
    at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
    at::autocast::set_cpu_enabled(true);
    torch::Tensor scores = network_->forward(input).to(torch::kFloat);
    at::autocast::clear_cache();
    at::autocast::set_cpu_enabled(false);
    return scores;
  }

  const bool bf16_;
  nn::Sequential network_;
  torch::optim::SGD optimizer_;
  std::vector<torch::Tensor> inputs_;
  std::vector<torch::Tensor> labels_;
};

class MetisLoop {
 public:
  MetisLoop(const Case& what, Precision precision) {
    data::DatasetParts parts;
    parts.name = "noise";
    parts.shape = what.shape;
    parts.classes = what.classes;
    Random random({.seed = 1, .purpose = Purpose::kTest});
    for (size_t i = 0; i < kImages * what.shape.size(); ++i) {
      parts.pixels.push_back(static_cast<uint8_t>(random.Below(256)));
    }
    for (uint32_t i = 0; i < kImages; ++i) {
      parts.labels.push_back(static_cast<uint32_t>(random.Below(what.classes)));
    }
    Result<data::Dataset> made = data::Dataset::Make(std::move(parts));
    METIS_CHECK(made.ok());
    auto set = std::make_shared<const data::Dataset>(std::move(*made));
    architecture_ = *train::Architecture::For(what.model, *set);
    pool_ = std::make_unique<ModelPool>(architecture_->schema());
    trainer_ = *train::MakeTrainer(
        architecture_, train::Examples::All(set),
        {.learning_rate = 0.01, .momentum = 0.75, .batch_size = kBatch, .precision = precision},
        *pool_, 1990, LearnerId(0));
    METIS_CHECK(trainer_->Load(architecture_->Initial(*pool_, 1990)).ok());
  }

  void Epoch() { METIS_CHECK(trainer_->TrainEpoch({1, ++epoch_}, {}).ok()); }

 private:
  train::ArchitecturePtr architecture_;
  std::unique_ptr<ModelPool> pool_;
  std::unique_ptr<learner::Trainer> trainer_;
  uint64_t epoch_ = 0;
};

// Loops are kept between repetitions: the first epoch of each is for warming up.
template <typename Loop, typename... Arguments>
void Register(const std::string& name, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 static std::map<std::string, std::unique_ptr<Loop>> loops;
                                 METIS_CHECK(train::Compute("benchmark", [&] {
                                               std::unique_ptr<Loop>& loop = loops[name];
                                               if (!loop) {
                                                 loop = std::make_unique<Loop>(arguments...);
                                                 loop->Epoch();
                                               }
                                               for (auto _ : state) loop->Epoch();
                                             }).ok());
                                 state.counters["images_per_second"] = benchmark::Counter(
                                     static_cast<double>(state.iterations()) * kImages,
                                     benchmark::Counter::kIsRate);
                               })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

void RegisterAll() {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    for (const Case& what : {kCifar, kMnist, kFemnist}) {
      const std::string group =
          std::string(what.model) + (precision == Precision::kBf16 ? " bf16/" : " fp32/");
      Register<BareLoop>(group + "limit", what, precision, false);
      if (what.model == kCifar.model) {
        Register<BareLoop>(group + "bare with own norm", what, precision, true);
      }
      Register<MetisLoop>(group + "metis", what, precision);
    }
  }
}

}  // namespace
}  // namespace metis::bench

int main(int argc, char** argv) {
  metis::train::KeepFreedMemory();
  metis::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
