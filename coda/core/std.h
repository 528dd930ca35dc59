// The standard library as kernels may use it: libstdc++, and where NVRTC compiles the little that
// kernels need. Everything a kernel includes takes its standard facilities from here and from
// nowhere else.
#pragma once

#if defined(__CUDACC_RTC__)
#include "coda/core/std_nvrtc.h"
#else
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
namespace coda {
namespace stdlib = std;
}
#endif

// A function that programs call on every executor. Always inlined: an epilogue is one straight
// piece of code.
#if defined(__CUDACC__)
#define CODA_HD __host__ __device__ __forceinline__
#elif defined(_MSC_VER)
#define CODA_HD __forceinline
#else
#define CODA_HD inline __attribute__((always_inline))
#endif

#if defined(__CUDACC__) || defined(__clang__)
#define CODA_UNROLL _Pragma("unroll")
#else
#define CODA_UNROLL _Pragma("GCC unroll 64")
#endif
