// Mbarriers as objects: phases, pending arrivals, transaction bytes.
#pragma once
#include "coda/sim/scheduler.h"

namespace coda::sim {

// A shared-memory address of the cluster: which block, and where in it.
struct ClusterAddress {
  Block* block;
  uint32_t offset;
};
inline constexpr uint32_t kRankShift = 24;  // 1 + rank above it; 0: the block's own
ClusterAddress resolve(const Call& call, uint32_t address);
// For instructions that take an address of the executing block only.
uint32_t own_address(const Call& call, uint32_t address);

// How an instruction uses an mbarrier decides which fences its initialisation needs.
enum class Use { kOwn, kRemote, kCopy };
Mbarrier& find_mbarrier(const Call& call, Block& block, uint32_t address, Use use);

void arrive(Call& call, Block& block, Mbarrier& barrier, int64_t expected);
// Bytes of a copy have arrived; `issuer` and `site` are those of the copy.
void complete_bytes(Machine& machine, const Thread& issuer, uint16_t site, Mbarrier& barrier,
                    int64_t bytes);

}  // namespace coda::sim
