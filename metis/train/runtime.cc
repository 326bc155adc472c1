#include "metis/train/runtime.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/version.h>

#include <exception>
#include <limits>
#include <mutex>

#include "metis/core/text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace metis::train {
namespace {

// The linear algebra library behind libtorch is chosen by the system; it is looked for at run time.
template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

// OpenBLAS may have threads of its own.
void ConfineLinearAlgebra() {
  if (auto* set_threads = Find<void(int)>("openblas_set_num_threads")) set_threads(1);
}

// OpenBLAS built without threads lets callers on different threads share its work space, and gives
// wrong values now and then. Then one computes at a time: slow, and right.
std::unique_lock<std::recursive_mutex> ExclusiveIfNeeded() {
  static std::recursive_mutex mutex;
  static const bool needed = [] {
    auto* parallel = Find<int()>("openblas_get_parallel");
    return parallel != nullptr && parallel() == 0;
  }();
  return needed ? std::unique_lock(mutex) : std::unique_lock<std::recursive_mutex>();
}

#if defined(__x86_64__)
struct CpuFeatures {
  bool amx = false;        // tiles with bf16 products are advertised
  bool amx_tiles = false;  // and their layout is, without which they cannot be configured
  bool avx512_bf16 = false;
};

CpuFeatures AskCpu() {
  constexpr unsigned kFeatures = 7;
  constexpr unsigned kTiles = 0x1D;
  constexpr unsigned kAmxBf16 = 1U << 22;    // leaf 7.0, EDX
  constexpr unsigned kAvx512Bf16 = 1U << 5;  // leaf 7.1, EAX
  CpuFeatures features;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  features.amx = __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) != 0 && (d & kAmxBf16) != 0;
  features.avx512_bf16 =
      __get_cpuid_count(kFeatures, 1, &a, &b, &c, &d) != 0 && (a & kAvx512Bf16) != 0;
  features.amx_tiles = __get_cpuid_count(kTiles, 0, &a, &b, &c, &d) != 0 && a != 0;
  return features;
}
#endif

// Some virtual machines advertise AMX and hide the layout of its tiles. oneDNN, which libtorch
// computes with, believes the first and is ended by an illegal instruction.
bool AmxIsHalfHidden() {
#if defined(__x86_64__)
  const CpuFeatures features = AskCpu();
  return features.amx && !features.amx_tiles;
#else
  return false;
#endif
}

// Before oneDNN's first work; it takes no notice later.
void AvoidHalfHiddenAmx() {
  if (!AmxIsHalfHidden()) return;
  constexpr int kAvx512Bf16 = 0xE7;  // dnnl_cpu_isa_avx512_core_bf16
  if (auto* set_most = Find<int(int)>("dnnl_set_max_cpu_isa")) set_most(kAvx512Bf16);
}

void ConfineThisThread() {
  thread_local const bool confined = [] {
    static const bool once = [] {
      ConfineLinearAlgebra();
      AvoidHalfHiddenAmx();
      return true;
    }();
    at::set_num_threads(1);
    return once;
  }();
  static_cast<void>(confined);
}

bool HasFastBfloats() {
#if defined(__x86_64__)
  const CpuFeatures features = AskCpu();
  return features.amx || features.avx512_bf16;
#else
  return false;
#endif
}

}  // namespace

void KeepFreedMemory() {
  constexpr int kLarge = std::numeric_limits<int>::max();
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  ::mallopt(M_TRIM_THRESHOLD, kLarge);
}

Result<void> Compute(std::string_view doing, const std::function<void()>& work) {
  try {
    ConfineThisThread();
    const auto exclusive = ExclusiveIfNeeded();
    work();
    return {};
  } catch (const c10::Error& error) {
    return Invalid(Text(doing, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return Invalid(Text(doing, ": ", error.what()));
  }
}

std::string TorchVersion() { return TORCH_VERSION; }

learner::Precision FastestPrecision() {
#if defined(__x86_64__)
  const CpuFeatures features = AskCpu();
  if (features.amx && features.amx_tiles) return learner::Precision::kBf16;
#endif
  return learner::Precision::kFp32;
}

std::string PrecisionWarning(learner::Precision precision) {
  if (precision != learner::Precision::kBf16) return "";
  if (!HasFastBfloats()) {
    return "this CPU has neither AMX nor AVX-512 bf16: precision bf16 works, but is slower here "
           "than fp32";
  }
  if (AmxIsHalfHidden()) {
    return "this machine advertises AMX but hides its tiles (CPUID leaf 1D), as some virtual "
           "machines do: precision bf16 uses AVX-512 instead and is seldom faster than fp32";
  }
  return "";
}

}  // namespace metis::train
