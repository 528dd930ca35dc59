// fp32 units: compiled once per instruction set.
#include "coda/cpu/few_rows.h"
#include "coda/cpu/multiply.h"
#include "coda/cpu/pack.h"

namespace coda::cpu {
namespace {

struct FloatMultiply {
  using Units = simd::FloatVector;
  static HWY_INLINE Units load(const uint32_t* p) {
    return simd::load(reinterpret_cast<const float*>(p));
  }
  static HWY_INLINE Units as_units(simd::hn::Vec<simd::BitsTag> bits) {
    return simd::hn::BitCast(simd::FloatTag(), bits);
  }
  static HWY_INLINE Units broadcast(const void* p) {
    return simd::hn::Set(simd::FloatTag(), *static_cast<const float*>(p));
  }
  static HWY_INLINE simd::FloatVector step(simd::FloatVector sum, Units a, Units b) {
    return simd::hn::MulAdd(a, b, sum);
  }
};

// 16 accumulators of 32 registers (8×48 is no faster and leaves ragged panels), 12 of 16.
constexpr int kRows = kThisIsa == Isa::kAvx512 ? 8 : 4;
constexpr int kVectors = kThisIsa == Isa::kAvx512 ? 2 : 3;
constexpr int kColumns = kVectors * simd::kLanes;

template <class T>
constexpr Kernels make() {
  return {kRows,
          kColumns,
          1,
          kColumns,
          &Packer<kThisIsa, T, false, kRows>::pack,
          &Packer<kThisIsa, T, false, kColumns>::pack,
          &multiply_panels<kThisIsa, FloatMultiply, kRows, kVectors, false>,
          std::is_same_v<T, float>
              ? &multiply_panels<kThisIsa, FloatMultiply, kRows, kVectors, true>
              : nullptr,
          &FewRows<kThisIsa, T, false, FloatMultiply, kRows>::multiply,
          &transpose_sums<FloatMultiply, kColumns>};
}
static_assert(kColumns % kRows == 0 && kColumns % simd::kLanes == 0);

}  // namespace

template <>
const Kernels& widening_kernels<kThisIsa>(DType type) {
  static constexpr Kernels kFp32 = make<float>(), kBf16 = make<bf16>(), kFp16 = make<fp16>();
  return type == DType::kFp32 ? kFp32 : type == DType::kBf16 ? kBf16 : kFp16;
}

}  // namespace coda::cpu
