// Warpgroup matrix multiplication of coda/ptx/wgmma.cuh, simulated. Accumulators of multiplications
// in flight hold signalling NaNs until wgmma_wait.
#pragma once
#include "coda/core/types.h"
#include "coda/sim/barrier.h"

namespace coda::sim {

enum class Contiguous { kContraction, kRows };

inline constexpr uint32_t kRowsBoxBytes = 64 * 64 * 2;

template <Contiguous kContiguous>
CODA_DEVICE uint64_t wgmma_descriptor(uint32_t address) {
  constexpr uint64_t kLeading = kContiguous == Contiguous::kRows ? kRowsBoxBytes >> 4 : 1;
  return (uint64_t{1} << 62) | (uint64_t{1024 >> 4} << 32) | (kLeading << 16) |
         static_cast<uint64_t>((address & 0x3ffff) >> 4);
}

enum class ElementType : uint8_t { kBf16, kFp16 };

// One wgmma instruction as every warp of the warpgroup has to give it.
struct ProductShape {
  ElementType type;
  uint32_t columns;
  bool rows_contiguous_a, rows_contiguous_b;
  uint64_t a, b;
  bool accumulate;

  bool operator==(const ProductShape&) const = default;
};

void wgmma_issue(float* d, const ProductShape& shape, Location where);

template <class T, int kColumns, Contiguous kA, Contiguous kB>
CODA_DEVICE void wgmma(float (&d)[kColumns / 2], uint64_t a, uint64_t b, bool accumulate,
                       Location where = Location::current()) {
  static_assert(kColumns % 8 == 0 && kColumns >= 8 && kColumns <= 256);
  static_assert(stdlib::is_same_v<T, bf16> || stdlib::is_same_v<T, fp16>);
  constexpr ElementType kType =
      stdlib::is_same_v<T, bf16> ? ElementType::kBf16 : ElementType::kFp16;
  wgmma_issue(d,
              {kType, kColumns, kA == Contiguous::kRows, kB == Contiguous::kRows, a, b, accumulate},
              where);
}
void wgmma_fence(Location where = Location::current());
void wgmma_commit(Location where = Location::current());

void wgmma_wait_groups(uint32_t groups, Location where);
template <int kGroups>
CODA_DEVICE void wgmma_wait(Location where = Location::current()) {
  wgmma_wait_groups(kGroups, where);
}

CODA_DEVICE void pin(float&) {}
CODA_DEVICE void pin(uint32_t&) {}

}  // namespace coda::sim
