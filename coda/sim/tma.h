// The bulk copy engine of coda/ptx/tma.cuh, simulated.
#pragma once
#include "coda/sim/barrier.h"
#include "coda/sim/tensor_map.h"

namespace coda::sim {

void tma_prefetch_map(const TensorMap* map, Location where = Location::current());
void tma_load(uint32_t to, const TensorMap* map, uint32_t barrier, int c0, int c1,
              Location where = Location::current());
void tma_load_multicast(uint32_t to, const TensorMap* map, uint32_t barrier, int c0, int c1,
                        uint16_t blocks, Location where = Location::current());
void tma_prefetch(const TensorMap* map, int c0, int c1, Location where = Location::current());
void tma_store(const TensorMap* map, uint32_t from, int c0, int c1,
               Location where = Location::current());
void bulk_commit(Location where = Location::current());
void bulk_wait(Location where = Location::current());

void bulk_wait_read_groups(uint32_t groups, Location where);
template <int kGroups>
CODA_DEVICE void bulk_wait_read(Location where = Location::current()) {
  bulk_wait_read_groups(kGroups, where);
}

}  // namespace coda::sim
