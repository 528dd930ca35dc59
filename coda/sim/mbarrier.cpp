#include "coda/sim/mbarrier.h"

#include <fmt/format.h>

#include <algorithm>

#include "coda/sim/barrier.h"

namespace coda::sim {

namespace {

constexpr uint32_t kMaxCount = (1u << 20) - 1;

bool fenced(const View& view, const std::vector<uint32_t>& fences, uint32_t agent, uint32_t time) {
  const auto first = std::lower_bound(fences.begin(), fences.end(), time);
  return first != fences.end() && view.time_of(agent) > *first;
}

void complete_phase(Machine& machine, const Thread& thread, uint16_t site, Mbarrier& barrier) {
  if (!barrier.late.empty()) {
    const Thread& late = *barrier.late.front();
    machine.fail(Violation::kPhase, thread, site,
                 fmt::format("phase {} of mbarrier {} completes before {}, which waits for phase "
                             "{}, has seen that one: nothing holds this phase back for it",
                             barrier.completed, describe_address(barrier.address),
                             describe(late.actor()), barrier.completed - 1));
  }
  ++barrier.completed;
  barrier.pending = barrier.count;
  barrier.clock.set(barrier.agent, barrier.completed);
  barrier.released = barrier.clock.publish();
  for (Thread* waiter : barrier.waiters) waiter->woken_by = &barrier;
  barrier.late = barrier.waiters;
  machine.wake(barrier.waiters);
}

void check_phase(Machine& machine, const Thread& thread, uint16_t site, Mbarrier& barrier) {
  constexpr int64_t kMaxBytes = (1 << 20) - 1;
  if (barrier.bytes > kMaxBytes || barrier.bytes < -kMaxBytes) {
    machine.fail(Violation::kTransactions, thread, site,
                 fmt::format("mbarrier {} counts {} bytes, at most {} are possible",
                             describe_address(barrier.address), barrier.bytes, kMaxBytes));
  }
  if (barrier.pending != 0) return;
  if (barrier.bytes < 0) {
    machine.fail(Violation::kTransactions, thread, site,
                 fmt::format("{} bytes more than phase {} of mbarrier {} expects have arrived",
                             -barrier.bytes, barrier.completed, describe_address(barrier.address)));
  }
  if (barrier.bytes == 0) complete_phase(machine, thread, site, barrier);
}

bool passed(const Mbarrier& barrier, uint32_t parity) { return (barrier.completed & 1) != parity; }

// True once the phase with this parity is over; with `poll` false may come before.
bool wait_phase(Call& call, uint32_t address, uint32_t parity, bool poll) {
  Thread& thread = call.thread;
  Mbarrier& barrier = find_mbarrier(call, *thread.block, own_address(call, address), Use::kOwn);
  if (parity > 1) call.fail(Violation::kBarrier, fmt::format("parity {}", parity));
  while (!passed(barrier, parity)) {
    if (poll && call.machine.random.one_in(3)) {
      call.machine.wake(thread);
      call.machine.suspend(thread, {});
      return false;
    }
    barrier.waiters.push_back(&thread);
    if (poll) call.machine.polling.push_back(&thread);
    call.wait(Reason::kMbarrier, address, parity);
    std::erase(barrier.waiters, &thread);
    std::erase(barrier.late, &thread);
    if (poll) {
      std::erase(call.machine.polling, &thread);
      if (thread.woken_by != &barrier) return false;
    }
    thread.woken_by = nullptr;
  }
  thread.block->cluster.memo.acquire(thread.clock, barrier.released);
  return true;
}

}  // namespace

ClusterAddress resolve(const Call& call, uint32_t address) {
  Block& own = *call.thread.block;
  const uint32_t rank = address >> kRankShift;
  if (rank == 0) return {&own, address};
  Cluster& cluster = own.cluster;
  if (rank > cluster.blocks.size()) {
    call.fail(Violation::kAddress, fmt::format("{:#x} is in no block of the cluster", address));
  }
  return {cluster.blocks[rank - 1].get(), address & ((1u << kRankShift) - 1)};
}

uint32_t own_address(const Call& call, uint32_t address) {
  if (address >> kRankShift != 0) {
    call.fail(Violation::kAddress,
              fmt::format("{:#x} comes from cluster_address; this instruction takes an address of "
                          "the block itself",
                          address));
  }
  return address;
}

Mbarrier& find_mbarrier(const Call& call, Block& block, uint32_t address, Use use) {
  const auto found = block.mbarriers.find(address);
  if (found == block.mbarriers.end()) {
    call.fail(Violation::kBarrier, fmt::format("no mbarrier is initialised at {} of block {}",
                                               describe_address(address), block.index));
  }
  Mbarrier& barrier = found->second;
  Thread& initialiser = block.cluster.thread_of(barrier.initialiser);
  const View view(call.thread.clock);
  const uint32_t agent = barrier.initialiser, time = barrier.initialised_at;
  if (view.time_of(agent) < time) {
    call.fail(Violation::kBarrier,
              fmt::format("nothing orders the initialisation of mbarrier {} by {} before this",
                          describe_address(address), describe(initialiser.actor())));
  }
  if (use != Use::kOwn && !fenced(view, initialiser.init_fences, agent, time) &&
      !(use == Use::kCopy && fenced(view, initialiser.proxy_fences, agent, time))) {
    call.fail(Violation::kBarrier,
              fmt::format("{} has not executed mbarrier_init_fence after initialising mbarrier "
                          "{} of block {}, before this",
                          describe(initialiser.actor()), describe_address(address), block.index));
  }
  return barrier;
}

void arrive(Call& call, Block& block, Mbarrier& barrier, int64_t expected) {
  Thread& thread = call.thread;
  if (&block != thread.block) {
    if (block.live == 0) {
      call.fail(Violation::kExited, fmt::format("block {} has left the kernel", block.index));
    }
    block.touched[thread.clock.agent] = {thread.clock.own, call.site};
  }
  if (barrier.pending == 0) {
    call.fail(Violation::kArrivals,
              fmt::format("phase {} of mbarrier {} has all its {} arrivals already ({} bytes are "
                          "outstanding)",
                          barrier.completed, describe_address(barrier.address), barrier.count,
                          barrier.bytes));
  }
  barrier.last_site = call.site;
  --barrier.pending;
  barrier.bytes += expected;
  barrier.clock.release(thread.clock);
  check_phase(call.machine, thread, call.site, barrier);
}

void complete_bytes(Machine& machine, const Thread& issuer, uint16_t site, Mbarrier& barrier,
                    int64_t bytes) {
  barrier.loads_end = barrier.completed + 1;
  barrier.last_site = site;
  barrier.bytes -= bytes;
  check_phase(machine, issuer, site, barrier);
}

void mbarrier_init(uint32_t barrier, uint32_t count, Location where) {
  Call call(where, SiteKind::kOther, "mbarrier_init");
  Block& block = *call.thread.block;
  const uint32_t address = own_address(call, barrier);
  if (address % 8 != 0 || !block.memory.holds(address, 8)) {
    call.fail(Violation::kAddress,
              fmt::format("{} is not a place for an mbarrier", describe_address(address)));
  }
  if (count == 0 || count > kMaxCount) {
    call.fail(Violation::kBarrier, fmt::format("a count of {}", count));
  }
  if (block.mbarriers.count(address) != 0) {
    call.fail(Violation::kBarrier,
              fmt::format("mbarrier {} is initialised already", describe_address(address)));
  }
  block.memory.make_barrier(call.thread, call.site, address);
  Mbarrier& made = block.mbarriers[address];
  made.address = address;
  made.count = made.pending = count;
  made.last_site = call.site;
  made.initialiser = call.thread.clock.agent;
  made.initialised_at = call.thread.clock.own;
  made.agent = block.cluster.add_agent(AgentKind::kMbarrier, &block, address);
}

void mbarrier_init_fence(Location where) {
  Call call(where, SiteKind::kFence, "mbarrier_init_fence");
  if (call.dropped()) return;
  call.thread.init_fences.push_back(call.thread.clock.own++);
}

void mbarrier_arrive(uint32_t barrier, Location where) {
  Call call(where, SiteKind::kArrive, "mbarrier_arrive");
  if (call.dropped()) return;
  Block& block = *call.thread.block;
  arrive(call, block, find_mbarrier(call, block, own_address(call, barrier), Use::kOwn), 0);
}

void mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes, Location where) {
  Call call(where, SiteKind::kExpect, "mbarrier_arrive_expect");
  if (call.dropped()) return;
  if (call.mutated(MutationKind::kHalveBytes)) bytes /= 2;
  if (call.mutated(MutationKind::kOmitBytes)) bytes = 0;
  Block& block = *call.thread.block;
  arrive(call, block, find_mbarrier(call, block, own_address(call, barrier), Use::kOwn), bytes);
}

void mbarrier_arrive_cluster(uint32_t barrier, Location where) {
  Call call(where, SiteKind::kArrive, "mbarrier_arrive_cluster");
  if (call.dropped()) return;
  const ClusterAddress to = resolve(call, barrier);
  const Use use = to.block == call.thread.block ? Use::kOwn : Use::kRemote;
  arrive(call, *to.block, find_mbarrier(call, *to.block, to.offset, use), 0);
}

bool mbarrier_try_wait(uint32_t barrier, uint32_t parity, Location where) {
  Call call(where, SiteKind::kWait, "mbarrier_try_wait");
  if (call.dropped()) return true;
  const uint64_t progress = call.machine.progress - 1;
  const bool done = wait_phase(call, barrier, parity, true);
  if (!done && call.machine.progress == progress + 1) call.machine.progress = progress;
  return done;
}

void mbarrier_wait(uint32_t barrier, uint32_t parity, Location where) {
  Call call(where, SiteKind::kWait, "mbarrier_wait");
  if (call.dropped()) return;
  call.part_lane();
  wait_phase(call, barrier, parity, false);
}

uint32_t cluster_rank() { return self().block->rank; }

uint32_t cluster_address(uint32_t address, uint32_t rank, Location where) {
  Call call(where, SiteKind::kOther, "cluster_address");
  if (rank >= call.thread.block->cluster.blocks.size()) {
    call.fail(Violation::kAddress, fmt::format("rank {} in a cluster of {}", rank,
                                               call.thread.block->cluster.blocks.size()));
  }
  return own_address(call, address) | (rank + 1) << kRankShift;
}

}  // namespace coda::sim
