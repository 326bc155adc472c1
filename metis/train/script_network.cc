#include "metis/train/script_network.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>
#include <torch/script.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "metis/core/text.h"
#include "metis/train/runtime.h"

namespace metis::train {
namespace {

namespace jit = torch::jit;

// Counts of batches that batch normalisation keeps for itself; not shared.
constexpr std::string_view kCounter = "num_batches_tracked";

// Set from the key of a mini-batch while a module draws; the generator belongs to the process.
std::mutex& GeneratorMutex() {
  static std::mutex mutex;
  return mutex;
}

bool Draws(const jit::Module& module) {
  std::shared_ptr<jit::Graph> graph = module.get_method("forward").graph()->copy();
  jit::Inline(*graph);
  jit::DepthFirstGraphNodeIterator nodes(graph);
  for (jit::Node* node = nodes.next(); node != nullptr; node = nodes.next()) {
    const std::string kind = node->kind().toQualString();
    for (const char* word : {"dropout", "bernoulli", "rand", "normal_", "multinomial", "uniform_",
                             "exponential_", "poisson", "rrelu"}) {
      if (kind.starts_with("aten::") && kind.find(word) != kind.npos) return true;
    }
  }
  return false;
}

// A scripted module as the instances have it: parameters, then statistics; each with its name.
struct Tensors {
  std::vector<std::pair<std::string, at::Tensor>> trained;
  std::vector<std::pair<std::string, at::Tensor>> statistics;
  std::vector<at::Tensor> counters;
};

Tensors TensorsOf(const jit::Module& module) {
  Tensors tensors;
  for (const auto& parameter : module.named_parameters()) {
    tensors.trained.emplace_back(parameter.name, parameter.value);
  }
  for (const auto& buffer : module.named_buffers()) {
    if (buffer.value.scalar_type() == at::kFloat &&
        (buffer.name.ends_with("running_mean") || buffer.name.ends_with("running_var"))) {
      tensors.statistics.emplace_back(buffer.name, buffer.value);
    } else if (buffer.name.ends_with(kCounter)) {
      tensors.counters.push_back(buffer.value);
    }
  }
  return tensors;
}

class ScriptInstance final : public Instance {
 public:
  ScriptInstance(jit::Module module, bool draws) : module_(std::move(module)), draws_(draws) {
    Tensors tensors = TensorsOf(module_);
    for (auto& [name, tensor] : tensors.trained) {
      tensor.requires_grad_(true);
      tensors_.push_back(tensor);
    }
    for (auto& [name, tensor] : tensors.statistics) tensors_.push_back(tensor);
    counters_ = std::move(tensors.counters);
  }

  at::Tensor Forward(const at::Tensor& input, Mode mode, uint64_t draw) override {
    SetMode(mode);
    // The optimising executor changes its mind, and with it the last bits, after a few passes.
    jit::GraphOptimizerEnabledGuard plain(false);
    if (!draws_ || mode != Mode::kTraining) return module_.forward({input}).toTensor();
    std::lock_guard lock(GeneratorMutex());
    at::Generator generator = at::detail::getDefaultCPUGenerator();  // a handle to the one there is
    generator.set_current_seed(draw);
    return module_.forward({input}).toTensor();
  }

 private:
  void SetMode(Mode mode) {
    for (at::Tensor& counter : counters_) counter.zero_();
    if (mode == mode_) return;
    mode_ = mode;
    module_.train(mode == Mode::kTraining);
    if (mode != Mode::kBatchStatistics) return;
    for (jit::Module part : module_.modules()) {
      const auto name = part.type()->name();
      if (name && name->name().find("BatchNorm") != std::string::npos) part.train(true);
    }
  }

  jit::Module module_;
  const bool draws_;
  std::vector<at::Tensor> counters_;
  Mode mode_ = Mode::kEvaluation;
};

class ScriptNetwork final : public Network {
 public:
  explicit ScriptNetwork(jit::Module module) : module_(std::move(module)), draws_(Draws(module_)) {
    module_.eval();
    const auto add = [this](const auto& named, TensorRule::Kind kind) {
      for (const auto& [name, tensor] : named) {
        rules_.push_back({.name = name,
                          .shape = tensor.sizes().vec(),
                          .kind = kind,
                          .start = TensorRule::Start::kGiven});
        given_.push_back(tensor.detach().clone(at::MemoryFormat::Contiguous));
      }
    };
    Tensors tensors = TensorsOf(module_);
    add(tensors.trained, TensorRule::Kind::kTrained);
    add(tensors.statistics, TensorRule::Kind::kStatistic);
  }

  std::unique_ptr<Instance> MakeInstance() const override {
    // Else a copy of a parameter would hand its gradient on to the original.
    at::NoGradGuard no_gradient;
    return std::make_unique<ScriptInstance>(module_.deepcopy(), draws_);
  }

  void Begin(size_t index, uint64_t /*seed*/, std::span<float> values) const override {
    const float* from = given_[index].data_ptr<float>();
    std::copy(from, from + values.size(), values.begin());
  }

 private:
  jit::Module module_;
  const bool draws_;
  std::vector<at::Tensor> given_;
};

Result<void> CheckTensors(const jit::Module& module) {
  Tensors tensors = TensorsOf(module);
  if (tensors.trained.empty()) return Invalid("the module has no parameters to train");
  for (const auto& [name, tensor] : tensors.trained) {
    if (tensor.scalar_type() != at::kFloat) {
      return Invalid(Text("parameter ", name, " is ", c10::toString(tensor.scalar_type()),
                          ", Metis trains float32: call .float() before scripting"));
    }
  }
  return {};
}

Result<void> TryModule(jit::Module& module, const ArchitectureSettings& settings) {
  const data::Shape& shape = settings.example;
  at::NoGradGuard no_gradient;
  module.eval();
  const at::Tensor scores =
      module.forward({at::zeros({2, shape.channels, shape.height, shape.width})}).toTensor();
  if (scores.dim() == 2 && scores.size(0) == 2 && scores.size(1) == settings.classes &&
      scores.scalar_type() == at::kFloat) {
    return {};
  }
  std::vector<std::string> sizes;
  for (int64_t size : scores.sizes()) sizes.push_back(Text(size));
  return Invalid(Text("for two examples of ", FormatShape(shape), " the module gives ",
                      Join(sizes, "x"), " values of ", c10::toString(scores.scalar_type()),
                      ", not 2x", settings.classes,
                      " scores of Float: one score a class for each example is needed"));
}

}  // namespace

Result<std::unique_ptr<Network>> LoadScript(const std::string& path,
                                            const ArchitectureSettings& settings) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return NotFound(Text(path, ": there is no such file; torchscript:FILE names a module saved ",
                         "with torch.jit.save"));
  }
  std::unique_ptr<Network> network;
  Result<void> suits;
  Result<void> loaded = Compute("reading the TorchScript module", [&] {
    jit::Module module = jit::load(path, at::kCPU);
    suits = CheckTensors(module);
    if (suits) suits = TryModule(module, settings);
    if (suits) network = std::make_unique<ScriptNetwork>(std::move(module));
  });
  if (!loaded) return loaded.error().In(path);
  if (!suits) return suits.error().In(path);
  return network;
}

}  // namespace metis::train
