// Named barriers, the barriers of a block, a warp and a cluster, and the proxy fence.
#include "coda/sim/block_barriers.h"

#include <fmt/format.h>

#include "coda/sim/barrier.h"
#include "coda/sim/mbarrier.h"
#include "coda/sim/warp.h"

namespace coda::sim {

namespace {

struct NoArguments {};

void complete_named(Machine& machine, NamedBarrier& barrier) {
  barrier.released = barrier.clock.publish();
  barrier.clock.clear();
  barrier.arrived = barrier.threads = 0;
  barrier.warps = 0;
  ++barrier.round;
  machine.wake(barrier.waiters);
}

// A whole warp arrives. `threads` 0: all of the block that have not left the kernel.
void arrive_named(Call& call, uint32_t number, uint32_t threads) {
  Block& block = *call.thread.block;
  Warp& warp = *call.thread.warp;
  if (number >= block.named.size()) {
    call.fail(Violation::kBarrier, fmt::format("named barrier {} of 16", number));
  }
  NamedBarrier& barrier = block.named[number];
  const bool whole_block = threads == 0;
  if (whole_block) threads = static_cast<uint32_t>(block.threads.size());
  if (threads % 32 != 0 || threads > block.threads.size()) {
    call.fail(Violation::kBarrier, fmt::format("named barrier {} for {} threads of {}", number,
                                               threads, block.threads.size()));
  }
  if (barrier.arrived != 0 && barrier.threads != threads) {
    call.fail(Violation::kBarrier,
              fmt::format("named barrier {} is used by {} threads and by {} in one round", number,
                          barrier.threads, threads));
  }
  const uint64_t bit = uint64_t{1} << warp.index;
  if ((barrier.warps & bit) != 0) {
    call.fail(Violation::kArrivals,
              fmt::format("warp {} arrives twice in round {} of named barrier {}", warp.index,
                          barrier.round, number));
  }
  barrier.threads = threads;
  barrier.arrived += 32;
  barrier.warps |= bit;
  barrier.last_site = call.site;
  for (Thread* lane : warp.lanes) barrier.clock.release(lane->clock);
  const uint32_t expected = whole_block ? block.live : threads;
  if (barrier.arrived >= expected) complete_named(call.machine, barrier);
}

void sync_named(Call& call, uint32_t number, uint32_t threads) {
  Block& block = *call.thread.block;
  Thread& thread = call.thread;
  // The round is that of the warp's arrival, which may complete it.
  struct Arguments {
    uint32_t number, threads, round;
  } arguments{number, threads, 0};
  together(call, true, arguments, [&](Arguments*(&all)[32]) {
    for (const Arguments* other : all) {
      if (other->number != number || other->threads != threads) {
        call.fail(Violation::kDivergence, "the lanes of the warp name different barriers");
      }
    }
    const uint32_t round = number < 16 ? block.named[number].round : 0;
    for (Arguments* other : all) other->round = round;
    arrive_named(call, number, threads);
  });
  NamedBarrier& barrier = block.named[number];
  while (barrier.round == arguments.round) {
    barrier.waiters.push_back(&thread);
    call.wait(Reason::kNamedBarrier, number, threads);
  }
  block.cluster.memo.acquire(thread.clock, barrier.released);
}

void complete_cluster(Machine& machine, Cluster& cluster) {
  cluster.barrier_released = cluster.barrier_clock.publish();
  cluster.arrived = 0;
  ++cluster.barrier_round;
  machine.wake(cluster.barrier_waiters);
}

}  // namespace

void settle_barriers_after_exit(Machine& machine, Block& block) {
  Cluster& cluster = block.cluster;
  if (cluster.live > 0 && cluster.arrived == cluster.live) complete_cluster(machine, cluster);
  NamedBarrier& whole = block.named[0];
  if (whole.arrived > 0 && whole.threads == block.threads.size() && whole.arrived == block.live) {
    complete_named(machine, whole);
  }
}

void named_sync(uint32_t barrier, uint32_t threads, Location where) {
  Call call(where, SiteKind::kBarrier, "named_sync");
  if (!call.dropped()) sync_named(call, barrier, threads);
}

void block_sync(Location where) {
  Call call(where, SiteKind::kBarrier, "block_sync");
  if (!call.dropped()) sync_named(call, 0, 0);
}

void named_arrive(uint32_t barrier, uint32_t threads, Location where) {
  Call call(where, SiteKind::kArrive, "named_arrive");
  if (call.dropped()) return;
  NoArguments none;
  together(call, true, none, [&](NoArguments*(&)[32]) { arrive_named(call, barrier, threads); });
}

void warp_sync(Location where) {
  Call call(where, SiteKind::kBarrier, "warp_sync");
  if (call.dropped()) return;
  NoArguments none;
  together(call, false, none, [&](NoArguments*(&)[32]) {
    Accumulator clock;
    Warp& warp = *call.thread.warp;
    for (Thread* lane : warp.lanes) clock.release(lane->clock);
    for (Thread* lane : warp.lanes) lane->clock.seen = clock.publish();
  });
}

void cluster_arrive(Location where) {
  Call call(where, SiteKind::kBarrier, "cluster_arrive");
  if (call.dropped()) return;
  NoArguments none;
  together(call, true, none, [&](NoArguments*(&)[32]) {
    Warp& warp = *call.thread.warp;
    Cluster& cluster = warp.block->cluster;
    if (warp.cluster_arrived) {
      call.fail(Violation::kBarrier, "a second arrival without cluster_wait between");
    }
    warp.cluster_arrived = true;
    warp.cluster_round = cluster.barrier_round;
    warp.cluster_site = call.site;
    for (Thread* lane : warp.lanes) cluster.barrier_clock.release(lane->clock);
    cluster.arrived += 32;
    if (cluster.arrived == cluster.live) complete_cluster(call.machine, cluster);
  });
}

void cluster_wait(Location where) {
  Call call(where, SiteKind::kBarrier, "cluster_wait");
  if (call.dropped()) return;
  NoArguments none;
  Thread& thread = call.thread;
  Warp& warp = *thread.warp;
  Cluster& cluster = warp.block->cluster;
  together(call, true, none, [&](NoArguments*(&)[32]) {
    if (!warp.cluster_arrived) call.fail(Violation::kBarrier, "without cluster_arrive before");
    warp.cluster_arrived = false;
  });
  while (cluster.barrier_round == warp.cluster_round) {
    cluster.barrier_waiters.push_back(&thread);
    call.wait(Reason::kClusterBarrier, 0, 0);
  }
  cluster.memo.acquire(thread.clock, cluster.barrier_released);
}

void fence_proxy_async(Location where) {
  Call call(where, SiteKind::kFence, "fence_proxy_async");
  if (call.dropped()) return;
  call.thread.proxy_fences.push_back(call.thread.clock.own++);
}

uint32_t dynamic_shared() { return kSharedBase; }

uint32_t shared_address(const void* pointer) {
  SharedMemory& memory = self().block->memory;
  const auto* byte = static_cast<const uint8_t*>(pointer);
  const uint8_t* first = memory.at(kSharedBase);
  if (byte < first || byte >= first + memory.bytes()) {
    throw Error("sim: shared_address: the pointer is not into the block's shared memory");
  }
  return kSharedBase + static_cast<uint32_t>(byte - first);
}

}  // namespace coda::sim
