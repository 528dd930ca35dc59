// Global memory: a load that may be left out, and what blocks of a grid tell each other through it:
// accesses of four floats, the fence that orders them, and the counter that says they are there.
#pragma once
#include "coda/ptx/barrier.cuh"

namespace coda::ptx {

// 16-byte aligned.
CODA_DEVICE void store_global_x4(float* to, float a, float b, float c, float d) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}
// Past L1: what another block wrote is read once.
CODA_DEVICE void load_global_x4(const float* from, float (&value)[4]) {
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value[0]), "=f"(value[1]), "=f"(value[2]), "=f"(value[3])
               : "l"(from)
               : "memory");
}
// The word at an address, or `otherwise` without looking; no branch, so that several are on their
// way at once.
CODA_DEVICE uint32_t load_global_if(bool wanted, uint64_t from, uint32_t otherwise) {
  uint32_t word = otherwise;
  asm("{\n.reg .pred wanted;\nsetp.ne.u32 wanted, %2, 0;\n@wanted ld.global.u32 %0, [%1];\n}"
      : "+r"(word)
      : "l"(from), "r"(static_cast<uint32_t>(wanted)));
  return word;
}
// Around a relaxed atomic: what this thread has seen goes with it to whoever reads it and fences.
CODA_DEVICE void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
// Relaxed, among all blocks; what was there before.
CODA_DEVICE uint32_t atomic_add(uint32_t* to, uint32_t value) {
  uint32_t before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(to), "r"(value)
               : "memory");
  return before;
}
// These order nothing.
CODA_DEVICE void add_relaxed(uint32_t* to, uint32_t value) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
CODA_DEVICE void store_relaxed(uint32_t* to, uint32_t value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
CODA_DEVICE uint32_t load_relaxed(const uint32_t* from) {
  uint32_t word;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
  return word;
}

}  // namespace coda::ptx
