// The bulk copy engine: boxes of a tensor to shared memory (completing on an mbarrier) and back (in
// bulk groups of the issuing thread). Coordinates: c0 counts elements along the contiguous
// direction, c1 lines.
#pragma once
#if !defined(__CUDACC_RTC__)
#include <cuda.h>
#endif

#include "coda/ptx/barrier.cuh"

namespace coda::ptx {

#if defined(__CUDACC_RTC__)  // has no header of the driver; the same 128 bytes
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};
#else
using TensorMap = CUtensorMap;
#endif

CODA_DEVICE uint64_t map_address(const TensorMap* map) { return reinterpret_cast<uint64_t>(map); }

CODA_DEVICE void tma_prefetch_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map_address(map)) : "memory");
}
CODA_DEVICE void tma_load(uint32_t to, const TensorMap* map, uint32_t barrier, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(map_address(map)), "r"(barrier), "r"(c0), "r"(c1)
      : "memory");
}
// To the same place, with the same barrier, in every block of the cluster that `blocks` names.
CODA_DEVICE void tma_load_multicast(uint32_t to, const TensorMap* map, uint32_t barrier, int c0,
                                    int c1, uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
      "l"(map_address(map)), "r"(barrier), "r"(c0), "r"(c1), "h"(blocks)
      : "memory");
}
CODA_DEVICE void tma_prefetch(const TensorMap* map, int c0, int c1) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map_address(map)),
               "r"(c0), "r"(c1)
               : "memory");
}
CODA_DEVICE void tma_store(const TensorMap* map, uint32_t from, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
                   map_address(map)),
               "r"(from), "r"(c0), "r"(c1)
               : "memory");
}
CODA_DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until at most kGroups of this thread's groups still have to read their shared memory.
template <int kGroups>
CODA_DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kGroups) : "memory");
}
// Until all of them have been written.
CODA_DEVICE void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

}  // namespace coda::ptx
