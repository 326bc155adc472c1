// The kernels against the limits of the machine. Names are group/case: within a group, "limit" is
// the pass that every other case is a ratio to (scripts/bench_report.py knows the goals).
#include <benchmark/benchmark.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "metis/core/kernels.h"

namespace metis::bench {
namespace {

constexpr size_t kMillion = 1'000'000;
constexpr size_t kLargest = 100 * kMillion;
constexpr double kGrid = 0x1p40;

// Aligned memory that has been touched: the first touch is slower than any kernel.
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t size)
      : values_(static_cast<T*>(::operator new[](size * sizeof(T), kAlignment))) {
    for (size_t i = 0; i < size; ++i) {
      values_.get()[i] = static_cast<T>(static_cast<double>(i * 2654435761u % 1000003) / 1e6 - 0.5);
    }
  }
  T* get() const { return values_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* values) const { ::operator delete[](values, kAlignment); }
  };
  std::unique_ptr<T, Free> values_;
};

// Shared by all benchmarks, so that interleaved cases run over the same pages: 2.8 GB.
struct Memory {
  Buffer<float> models{kLargest};  // 10 x 10M, 100 x 1M, or one of 100M
  Buffer<float> outgoing{kLargest};
  Buffer<float> community{kLargest};
  Buffer<int64_t> sums{kLargest};
  Buffer<double> plain_sums{kLargest};
};

// First called before any benchmark runs (main).
const Memory& SharedMemory() {
  static const Memory memory;
  return memory;
}

std::vector<WeightedModel> Models(size_t count, size_t size) {
  std::vector<WeightedModel> models;
  for (size_t k = 0; k < count; ++k) {
    const double contribution = 0.1 + 0.013 * static_cast<double>(k);
    models.push_back({SharedMemory().models.get() + k * size, contribution * kGrid});
  }
  return models;
}

void AverageLimit(benchmark::State& state, size_t count, size_t size) {
  for (const std::vector<WeightedModel> models = Models(count, size); auto _ : state) {
    for (const WeightedModel& model : models) {
      benchmark::DoNotOptimize(ReadPass(model.parameters, size));
    }
    WritePass(SharedMemory().community.get(), 0.5f, size);
    benchmark::ClobberMemory();
  }
}

void Average(benchmark::State& state, const Kernels& kernels, size_t count, size_t size) {
  for (const std::vector<WeightedModel> models = Models(count, size); auto _ : state) {
    kernels.average(models, 0.1 / kGrid, nullptr, SharedMemory().community.get(), size);
    benchmark::ClobberMemory();
  }
}

void ReplaceLimit(benchmark::State& state, size_t size) {
  for (const Memory& memory = SharedMemory(); auto _ : state) {
    PlainReplacePass(memory.plain_sums.get(), {memory.models.get(), 0.3},
                     {memory.outgoing.get(), 0.2}, 0.7, memory.community.get(), size);
    benchmark::ClobberMemory();
  }
}

void Replace(benchmark::State& state, const Kernels& kernels, size_t size) {
  for (const Memory& memory = SharedMemory(); auto _ : state) {
    kernels.replace(memory.sums.get(), {memory.models.get(), 0.3 * kGrid},
                    {memory.outgoing.get(), 0.2 * kGrid}, 0.7 / kGrid, memory.community.get(),
                    size);
    benchmark::ClobberMemory();
  }
}

void MagnitudeLimit(benchmark::State& state, size_t size) {
  for (auto _ : state) benchmark::DoNotOptimize(ReadPass(SharedMemory().models.get(), size));
}

void Magnitude(benchmark::State& state, const Kernels& kernels, size_t size) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernels.magnitude(SharedMemory().models.get(), size));
  }
}

// Few passes a repetition: the report takes the best of many repetitions, spread over the whole
// run.
template <typename Limit, typename Case>
void Register(const std::string& group, size_t floats_read, Limit limit, Case each) {
  const auto passes = static_cast<benchmark::IterationCount>(1 + 20 * kMillion / floats_read);
  const auto add = [&](const std::string& name, auto run) {
    benchmark::RegisterBenchmark((group + "/" + name).c_str(), run)
        ->Iterations(passes)
        ->Unit(benchmark::kMillisecond);
  };
  add("limit", limit);
  for (const InstructionSet set : SupportedInstructionSets()) {
    const Kernels& kernels = KernelsFor(set);
    add(kernels.name, [&kernels, each](benchmark::State& state) { each(state, kernels); });
  }
}

void RegisterAll() {
  for (const size_t count : {10u, 100u}) {
    const size_t size = kLargest / count;
    const size_t millions = size / kMillion;
    Register(
        "average " + std::to_string(count) + " x " + std::to_string(millions) + "M", count * size,
        [=](benchmark::State& state) { AverageLimit(state, count, size); },
        [=](benchmark::State& state, const Kernels& kernels) {
          Average(state, kernels, count, size);
        });
  }
  for (const size_t millions : {1u, 10u, 100u}) {
    const size_t size = millions * kMillion;
    Register(
        "replace " + std::to_string(millions) + "M", 2 * size,
        [=](benchmark::State& state) { ReplaceLimit(state, size); },
        [=](benchmark::State& state, const Kernels& kernels) { Replace(state, kernels, size); });
  }
  for (const size_t millions : {1u, 100u}) {
    const size_t size = millions * kMillion;
    Register(
        "magnitude " + std::to_string(millions) + "M", size,
        [=](benchmark::State& state) { MagnitudeLimit(state, size); },
        [=](benchmark::State& state, const Kernels& kernels) { Magnitude(state, kernels, size); });
  }
}

}  // namespace
}  // namespace metis::bench

int main(int argc, char** argv) {
  metis::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  metis::bench::SharedMemory();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
