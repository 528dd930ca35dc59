// Warpgroup matrix multiplication: D [64, N] (+)= A [64, 16] · B [N, 16]ᵀ, fp32 accumulators in
// registers, both operands in 128-byte-swizzled shared memory behind descriptors. The instruction
// itself, for each N, is generated (scripts/generate_wgmma.py).
#pragma once
#include "coda/ptx/barrier.cuh"
#include "coda/ptx/wgmma_instruction.cuh"

namespace coda::ptx {

// Which index of an operand is contiguous in shared memory: the contraction's, or its own.
enum class Contiguous { kContraction, kRows };

// Bytes of 64 contraction steps by 64 rows of an operand whose rows are contiguous: one TMA box.
inline constexpr uint32_t kRowsBoxBytes = 64 * 64 * 2;

// kContraction: lines of 64 elements (128 bytes), groups of 8 lines 1024 bytes apart.
// kRows: a contraction step of 64 rows is 128 bytes, 8 of them are 1024 bytes (the stride), the
// next 64 rows are a box further on (the leading offset).
template <Contiguous kContiguous>
CODA_DEVICE uint64_t wgmma_descriptor(uint32_t address) {
  constexpr uint64_t kLeading = kContiguous == Contiguous::kRows ? kRowsBoxBytes >> 4 : 1;
  return (uint64_t{1} << 62) | (uint64_t{1024 >> 4} << 32) | (kLeading << 16) |
         static_cast<uint64_t>((address & 0x3ffff) >> 4);
}

// T: bf16 or fp16. All 128 threads of a warpgroup take part.
template <class T, int kColumns, Contiguous kA, Contiguous kB>
CODA_DEVICE void wgmma(float (&d)[kColumns / 2], uint64_t a, uint64_t b, bool accumulate) {
  WgmmaInstruction<T, kColumns>::template run<kA == Contiguous::kRows, kB == Contiguous::kRows>(
      d, a, b, accumulate);
}
CODA_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
CODA_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kGroups>
CODA_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}
// Keeps a register in program order with the instructions around it.
CODA_DEVICE void pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }
CODA_DEVICE void pin(uint32_t& value) { asm volatile("" : "+r"(value)); }

}  // namespace coda::ptx
