// The cached update of a whole Community (paper, section III): the cost of Replace must not depend
// on the number of learners, and must not allocate once every learner has contributed.
//
// Before each update all of its memory is read out of the caches by a pass over other memory, as
// traffic and other work would: otherwise ten learners' models would stay in a large last-level
// cache, a thousand would not, and the comparison would measure the cache. The "warm" cases leave
// that out.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bench/limits.h"
#include "metis/core/check.h"
#include "metis/federation/community.h"
#include "metis/machine/cpu_time.h"

namespace metis::bench {
namespace {

using federation::Community;
using federation::Gate;
using federation::MemoryModelStore;

constexpr size_t kParameters = 1'000'000;
constexpr size_t kEvicted = 128'000'000;  // floats: more than any last-level cache here

// Of the whole program, by the operators below: blocks that could hold a model.
std::atomic<uint64_t> large_blocks{0};

void* Allocate(size_t bytes, size_t alignment) {
  if (bytes >= kParameters * sizeof(float)) ++large_blocks;
  void* block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

const float* EvictionMemory() {
  static const std::vector<float> memory(kEvicted, 0.25f);
  return memory.data();
}

SchemaPtr Schema() {
  Result<SchemaPtr> schema = ModelSchema::Create({{"parameters", {kParameters}}});
  METIS_CHECK(schema.ok());
  return *schema;
}

// A federation in which every learner has contributed once; kept between repetitions.
class Federation {
 public:
  explicit Federation(uint32_t learners) : learners_(learners), pool_(Schema()) {
    for (uint32_t k = 0; k < learners; ++k) Update(Arrived());
  }

  // A model as the receiving thread hands it over: in a pooled buffer, its magnitude known.
  ModelPtr Arrived() {
    ModelDraft draft = pool_.Draft();
    WritePass(draft.parameters().data(), 0.001f * static_cast<float>(updates_ % 1000), kParameters);
    ModelPtr model = std::move(draft).Seal();
    benchmark::DoNotOptimize(model->Magnitude());
    return model;
  }

  // Learners take turns, with unequal contributions.
  void Update(ModelPtr model) {
    const LearnerId learner(static_cast<uint32_t>(updates_ % learners_));
    const double contribution = 0.25 + 0.5 * static_cast<double>(updates_ % 97) / 97;
    METIS_CHECK(community_.Replace(learner, contribution, std::move(model)).ok());
    ++updates_;
  }

 private:
  const uint64_t learners_;
  uint64_t updates_ = 0;
  ModelPool pool_;
  MemoryModelStore store_;
  Community community_{pool_.Zero(), Gate{}, pool_, store_};
};

void ReplaceCached(benchmark::State& state, uint32_t learners, bool cold) {
  static std::map<uint32_t, Federation> federations;
  Federation& federation = federations.try_emplace(learners, learners).first->second;
  federation.Update(federation.Arrived());
  EvictionMemory();  // made once, and not by an update
  const uint64_t allocated = large_blocks;
  for (auto _ : state) {
    ModelPtr model = federation.Arrived();
    if (cold) benchmark::DoNotOptimize(ReadPass(EvictionMemory(), kEvicted));
    const double start = machine::ThreadCpuSeconds();
    federation.Update(std::move(model));
    state.SetIterationTime(machine::ThreadCpuSeconds() - start);
  }
  state.counters["allocations"] = static_cast<double>(large_blocks - allocated);
}

void RegisterAll() {
  for (const bool cold : {true, false}) {
    for (const uint32_t learners : {10u, 100u, 1000u}) {
      const std::string name = std::string("community 1M") + (cold ? "" : " warm") + "/" +
                               std::to_string(learners) + " learners";
      benchmark::RegisterBenchmark(
          name.c_str(), [=](benchmark::State& state) { ReplaceCached(state, learners, cold); })
          ->Iterations(10)
          ->Unit(benchmark::kMillisecond)
          ->UseManualTime();
    }
  }
}

}  // namespace
}  // namespace metis::bench

// Everything that C++ code allocates goes through these two; arrays and the forms that do not throw
// are defined in terms of them.
void* operator new(size_t bytes) {
  return metis::bench::Allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return metis::bench::Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { std::free(block); }

int main(int argc, char** argv) {
  metis::bench::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
