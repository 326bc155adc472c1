# The kernels (kernels.h), one source for each instruction set. Only these files get instruction-set
# flags: everything else must run on any CPU of the architecture. Never -mfma: a fused multiply-add
# rounds once where the other instruction sets round twice, and machines would disagree.

set(METIS_KERNEL_SOURCES kernels.cc kernels_baseline.cc)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND METIS_KERNEL_SOURCES kernels_avx2.cc kernels_avx512.cc)
  set_source_files_properties(kernels_avx2.cc PROPERTIES COMPILE_OPTIONS "-mavx2")
  set_source_files_properties(
    kernels_avx512.cc PROPERTIES COMPILE_OPTIONS "-mavx512f;-mavx512dq;-mavx512bw;-mavx512vl")
  set_source_files_properties(kernels_avx2.cc kernels_avx512.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()
