// The standard library as kernels may use it: libstdc++ on the host, cuda::std where NVRTC
// compiles. Everything a kernel includes takes its standard facilities from here and from nowhere
// else.
#pragma once

#if defined(__CUDACC_RTC__)
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/concepts>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
namespace coda {
namespace stdlib = cuda::std;
}
using cuda::std::int32_t;
using cuda::std::int64_t;
using cuda::std::size_t;
using cuda::std::uint16_t;
using cuda::std::uint32_t;
using cuda::std::uintptr_t;
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
