// Units of two bf16 for vdpbf16ps, which Highway 1.0 lacks. The instruction takes and gives
// subnormals as zero.
#include <immintrin.h>

#include "coda/cpu/few_rows.h"
#include "coda/cpu/multiply.h"
#include "coda/cpu/pack.h"

namespace coda::cpu {
namespace {

struct Bf16Multiply {
  using Units = __m512i;
  static HWY_INLINE Units load(const uint32_t* p) { return _mm512_loadu_si512(p); }
  static HWY_INLINE Units as_units(simd::hn::Vec<simd::BitsTag> bits) { return bits.raw; }
  static HWY_INLINE Units broadcast(const void* p) {
    int unit = 0;
    std::memcpy(&unit, p, sizeof(unit));
    return _mm512_set1_epi32(unit);
  }
  static HWY_INLINE simd::FloatVector step(simd::FloatVector sum, Units a, Units b) {
    return simd::FloatVector{
        _mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b))};
  }
};

constexpr int kRows = 8, kVectors = 2, kColumns = kVectors * simd::kLanes;

}  // namespace

const Kernels& bf16_dot_kernels() {
  static constexpr Kernels kKernels = {
      kRows,
      kColumns,
      2,
      kColumns,
      &Packer<kThisIsa, bf16, true, kRows>::pack,
      &Packer<kThisIsa, bf16, true, kColumns>::pack,
      &multiply_panels<kThisIsa, Bf16Multiply, kRows, kVectors, false>,
      &multiply_panels<kThisIsa, Bf16Multiply, kRows, kVectors, true>,
      &FewRows<kThisIsa, bf16, true, Bf16Multiply, kRows>::multiply,
      &transpose_sums<Bf16Multiply, kColumns>};
  return kKernels;
}

}  // namespace coda::cpu
