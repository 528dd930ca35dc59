// Barriers and fences of coda/ptx/barrier.cuh, simulated.
#pragma once
#include "coda/core/std.h"
#include "coda/sim/failure.h"

#define CODA_DEVICE inline
#define CODA_NO_UNROLL

namespace coda::sim {

// The block's dynamic shared memory; a multiple of 1024.
uint32_t dynamic_shared();
uint32_t shared_address(const void* pointer);

void mbarrier_init(uint32_t barrier, uint32_t count, Location where = Location::current());
void mbarrier_init_fence(Location where = Location::current());
void mbarrier_arrive(uint32_t barrier, Location where = Location::current());
void mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes, Location where = Location::current());
void mbarrier_arrive_cluster(uint32_t barrier, Location where = Location::current());
bool mbarrier_try_wait(uint32_t barrier, uint32_t parity, Location where = Location::current());
void mbarrier_wait(uint32_t barrier, uint32_t parity, Location where = Location::current());

uint32_t cluster_rank();
uint32_t cluster_address(uint32_t address, uint32_t rank, Location where = Location::current());
void cluster_arrive(Location where = Location::current());
void cluster_wait(Location where = Location::current());

void named_sync(uint32_t barrier, uint32_t threads, Location where = Location::current());
void named_arrive(uint32_t barrier, uint32_t threads, Location where = Location::current());
void block_sync(Location where = Location::current());
void warp_sync(Location where = Location::current());

void fence_proxy_async(Location where = Location::current());

}  // namespace coda::sim
