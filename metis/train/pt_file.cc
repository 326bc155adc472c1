#include "metis/train/pt_file.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/jit/serialization/unpickler.h>
#include <torch/script.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "metis/core/text.h"
#include "metis/train/plain_pickle.h"
#include "metis/train/runtime.h"

namespace metis::train {
namespace {

void Append(std::vector<PtTensor>& out, const std::string& name, const at::Tensor& tensor) {
  if (!tensor.is_floating_point() || tensor.numel() == 0) return;
  const at::Tensor plain = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  PtTensor read;
  read.spec.name = name;
  for (int64_t size : plain.sizes()) read.spec.shape.push_back(static_cast<uint64_t>(size));
  const float* from = plain.data_ptr<float>();
  read.values.assign(from, from + plain.numel());
  out.push_back(std::move(read));
}

// What torch.save put into a file: a zip archive of one pickle and the storages it refers to.
c10::IValue Unpickle(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  caffe2::serialize::PyTorchStreamReader archive(&in);
  const auto [data, size] = archive.getRecord("data.pkl");
  Result<std::string> pickle = PlainPickle({static_cast<const char*>(data.get()), size});
  if (!pickle) throw std::runtime_error(pickle.error().message);
  size_t at = 0;
  const auto read = [&](char* buffer, size_t wanted) {
    const size_t given = std::min(wanted, pickle->size() - at);
    std::copy_n(pickle->data() + at, given, buffer);
    at += given;
    return given;
  };
  const auto storage = [&](const std::string& name) {
    return std::get<0>(archive.getRecord("data/" + name));
  };
  return torch::jit::Unpickler(read, nullptr, nullptr, storage, at::Device(at::kCPU))
      .parse_ivalue();
}

void AppendEntry(std::vector<PtTensor>& out, const c10::IValue& key, const c10::IValue& value) {
  if (key.isString() && value.isTensor()) Append(out, key.toStringRef(), value.toTensor());
}

// Empty if the value is no dictionary of tensors; tuples are those of plain_pickle.h.
std::vector<PtTensor> FromDictionary(const c10::IValue& value) {
  std::vector<PtTensor> tensors;
  if (value.isTuple() && !value.toTupleRef().elements().empty()) {
    const auto& parts = value.toTupleRef().elements();
    tensors = FromDictionary(parts[0]);
    if (parts.size() == 3) AppendEntry(tensors, parts[1], parts[2]);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict())
      AppendEntry(tensors, entry.key(), entry.value());
  }
  return tensors;
}

std::vector<PtTensor> FromModule(const std::string& path) {
  std::vector<PtTensor> tensors;
  const torch::jit::Module module = torch::jit::load(path, at::kCPU);
  for (const auto& named : module.named_parameters()) Append(tensors, named.name, named.value);
  for (const auto& named : module.named_buffers()) Append(tensors, named.name, named.value);
  return tensors;
}

// A scripted module keeps its code beside its values; a state_dict has none.
bool HoldsCode(const std::vector<char>& bytes) {
  constexpr std::string_view kCode = "/code/__torch__";
  return std::search(bytes.begin(), bytes.end(), kCode.begin(), kCode.end()) != bytes.end();
}

}  // namespace

Result<void> WritePt(const std::string& path, const Model& model) {
  std::vector<char> bytes;
  Result<void> pickled = Compute("making a .pt file", [&] {
    c10::Dict<std::string, at::Tensor> tensors;
    for (size_t i = 0; i < model.schema()->tensors().size(); ++i) {
      const TensorSpec& spec = model.schema()->tensors()[i];
      std::vector<int64_t> shape(spec.shape.begin(), spec.shape.end());
      at::Tensor tensor = at::empty(shape, at::kFloat);
      std::copy(model.tensor(i).begin(), model.tensor(i).end(), tensor.data_ptr<float>());
      tensors.insert(spec.name, tensor);
    }
    bytes = torch::jit::pickle_save(tensors);
  });
  if (!pickled) return pickled.error().In(path);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return Unavailable(Text(path, ": the file cannot be written"));
  return {};
}

Result<std::vector<PtTensor>> ReadPt(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return NotFound(Text(path, ": there is no such file"));
  }
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<PtTensor> tensors;
  Result<void> read = Compute("reading it as a .pt file", [&] {
    tensors = HoldsCode(bytes) ? FromModule(path) : FromDictionary(Unpickle(path));
  });
  if (!read) {
    return Invalid(Text(path, ": ", read.error().message,
                        "\nExpected is what torch.save(model.state_dict(), path) or ",
                        "torch.jit.save(module, path) writes."));
  }
  if (tensors.empty()) {
    return Invalid(Text(path, ": there are no named tensors in it; save model.state_dict(), not ",
                        "the optimiser or a list"));
  }
  return tensors;
}

Result<ModelPtr> FitTo(const std::vector<PtTensor>& tensors, ModelPool& pool) {
  std::map<std::string_view, const PtTensor*> by_name;
  for (const PtTensor& tensor : tensors) by_name[tensor.spec.name] = &tensor;
  ModelDraft draft = pool.Draft();
  for (size_t i = 0; i < pool.schema()->tensors().size(); ++i) {
    const TensorSpec& wanted = pool.schema()->tensors()[i];
    auto found = by_name.find(wanted.name);
    if (found == by_name.end()) {
      std::vector<std::string> names;
      for (const PtTensor& tensor : tensors) names.push_back(tensor.spec.name);
      return Invalid(Text("tensor ", wanted.name, " is missing; the file has ", Join(names)));
    }
    const PtTensor& given = *found->second;
    if (given.spec.shape != wanted.shape) {
      return Invalid(Text("tensor ", wanted.name, " is ", FormatShape(given.spec.shape),
                          " in the file, ", FormatShape(wanted.shape), " in the model"));
    }
    std::copy(given.values.begin(), given.values.end(), draft.tensor(i).begin());
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    return Invalid(Text("tensor ", by_name.begin()->first,
                        " of the file has no place in the model (", by_name.size(),
                        " such): is it of another architecture?"));
  }
  return std::move(draft).Seal();
}

}  // namespace metis::train
