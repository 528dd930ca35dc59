// The kernel: accumulator_i = A·B_iᵀ and a program on every tile, for sm_90a.
//
// 384 threads: warpgroup 0 feeds (warp 0 the mainloop; warps 1 and 2 the epilogues of consumers 0
// and 1), warpgroups 1 and 2 consume. Persistent: cluster c takes the units c, c + clusters, ...,
// which are tiles or, where the contraction is cut, slices of tiles (slices.h).
//   pingpong     unit i of a block belongs to consumer i % 2; a hand-over serialises the mainloops,
//                so one consumer's epilogue runs under the other's mainloop
//   cooperative  each consumer takes half of the rows of every tile
// Barriers: full[stage] (the producer and the bytes of A and B, whoever sends them), empty[stage]
// (four warps of each consumer of a tile in every block that gets the stage from here),
// input_full/empty[consumer][set], vector_full/empty[consumer].
#pragma once
#include "coda/kernel/consumer.h"
#include "coda/kernel/loader.h"

namespace coda::kernel {
inline namespace CODA_TARGET {

template <class K>
CODA_DEVICE void init_barriers(uint32_t shared) {
  const uint32_t barriers = shared + K::kOffsetBarriers;
  const auto init = [&](int number, int many, uint32_t count) {
    for (int i = 0; i < many; ++i) hw::mbarrier_init(barriers + (number + i) * 8, count);
  };
  init(K::kFull, K::kStages, 1);
  init(K::kEmpty, K::kStages, 4 * K::kConsumersPerTile * K::kLinks);
  init(K::kInputFull, 2 * K::kInputSets, 1);
  init(K::kInputEmpty, 2 * K::kInputSets, 4);
  init(K::kVectorFull, 2, 32);
  init(K::kVectorEmpty, 2, 4);
  hw::mbarrier_init_fence();
}

template <class K>
CODA_DEVICE void gemm_block(const Arguments<typename K::Program>& arguments) {
  const uint32_t shared = hw::dynamic_shared();
  const uint32_t warp = hw::shuffle(hw::thread_index() / 32, 0);
  const uint32_t rank = K::kCluster > 1 ? hw::cluster_rank() : 0;
  const uint32_t cluster = hw::block_index() / K::kCluster;

  if (hw::thread_index() == 0) {
    if ((shared & 1023) != 0) hw::trap();  // every swizzled buffer relies on it
    init_barriers<K>(shared);
  }
  if constexpr (K::kCluster > 1) {
    hw::cluster_arrive();
    hw::cluster_wait();
  } else {
    hw::block_sync();
  }
  hw::dependency_wait();
  hw::dependents_launch();

  if (warp < 4) {
    hw::template registers_decrease<K::kFeederRegisters>();
    if (warp == 0) {
      if (hw::lane() == 0) Producer<K>(arguments, shared, rank).run(cluster);
    } else if (warp <= 2 && (K::kStaging.inputs > 0 || K::kStaging.vector_bytes > 0)) {
      Loader<K>(arguments, shared, rank, warp - 1).run(cluster);
    }
    hw::warp_sync();
  } else {
    hw::template registers_increase<K::kConsumerRegisters>();
    Consumer<K>(arguments, shared, rank, warp / 4 - 1, warp % 4).run(cluster);
    hw::warp_sync();
  }
  // A block's barriers and buffers have to outlive its peers' arrivals and multicasts.
  if constexpr (K::kCluster > 1) {
    hw::cluster_arrive();
    hw::cluster_wait();
  }
}

#if !defined(CODA_SIM)
template <class K>
__global__ void __launch_bounds__(kThreads, 1)
    gemm(const __grid_constant__ Arguments<typename K::Program> arguments) {
  gemm_block<K>(arguments);
}
#endif

}  // namespace CODA_TARGET
}  // namespace coda::kernel
