#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "metis/train/kernels.h"
#include "metis/train/layered_network.h"

namespace metis::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Values with channels innermost; at once for what the convolutions before it give.
at::Tensor ChannelsInnermost(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

NormalisationSettings SettingsFor(const at::Tensor& x) {
  return {.channels = static_cast<size_t>(x.size(1))};
}

size_t Positions(const at::Tensor& x) {
  return static_cast<size_t>(x.size(0) * x.size(2) * x.size(3));
}

const uint16_t* Bits(const at::Tensor& x) {
  return static_cast<const uint16_t*>(static_cast<const void*>(x.data_ptr()));
}
uint16_t* MutableBits(const at::Tensor& x) {
  return static_cast<uint16_t*>(static_cast<void*>(x.data_ptr()));
}

class ResponseNormFunction : public torch::autograd::Function<ResponseNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input) {
    const at::Tensor x = ChannelsInnermost(input);
    const NormalisationSettings settings = SettingsFor(x);
    std::vector<float> scratch(NormalisationScratch(settings));
    at::Tensor y = at::empty_like(x);
    const TrainKernels& kernels = BestTrainKernels();
    if (x.scalar_type() == at::kBFloat16) {
      kernels.normalise_bf16(settings, Bits(x), MutableBits(y), scratch.data(), Positions(x));
    } else {
      kernels.normalise(settings, x.data_ptr<float>(), y.data_ptr<float>(), scratch.data(),
                        Positions(x));
    }
    context->save_for_backward({x});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& outer) {
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor dy = ChannelsInnermost(outer[0].to(x.scalar_type()));
    const NormalisationSettings settings = SettingsFor(x);
    std::vector<float> scratch(NormalisationScratch(settings));
    at::Tensor dx = at::empty_like(x);
    const TrainKernels& kernels = BestTrainKernels();
    if (x.scalar_type() == at::kBFloat16) {
      kernels.normalise_back_bf16(settings, Bits(x), Bits(dy), MutableBits(dx), scratch.data(),
                                  Positions(x));
    } else {
      kernels.normalise_back(settings, x.data_ptr<float>(), dy.data_ptr<float>(),
                             dx.data_ptr<float>(), scratch.data(), Positions(x));
    }
    return {dx};
  }
};

}  // namespace

at::Tensor ResponseNormalised(const at::Tensor& x) { return ResponseNormFunction::apply(x); }

}  // namespace metis::train
