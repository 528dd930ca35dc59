// Who a thread is, what its warp shares, how many registers it has, and the launch it depends on.
#pragma once
#include "coda/ptx/barrier.cuh"

namespace coda::ptx {

CODA_DEVICE uint32_t thread_index() { return threadIdx.x; }
CODA_DEVICE uint32_t block_index() { return blockIdx.x; }
CODA_DEVICE uint32_t lane() {
  uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
// Read anew at every use: not worth a register beside 192 accumulators.
CODA_DEVICE uint32_t lane_again() {
  uint32_t lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// All 32 lanes take part.
template <class T>
CODA_DEVICE T shuffle(T value, uint32_t from) {
  return __shfl_sync(0xffffffffu, value, from);
}
template <class T>
CODA_DEVICE T shuffle_xor(T value, uint32_t mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

template <int kRegisters>
CODA_DEVICE void registers_decrease() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
CODA_DEVICE void registers_increase() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Programmatic dependent launch: wait until the kernels before this one are done and their writes
// visible; let the kernel after this one start.
CODA_DEVICE void dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
CODA_DEVICE void dependents_launch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// The block's dynamic shared memory; the launch asks for an alignment of 1024 bytes.
CODA_DEVICE uint32_t dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return shared_address(memory);
}

CODA_DEVICE void trap() { asm volatile("trap;"); }

}  // namespace coda::ptx
