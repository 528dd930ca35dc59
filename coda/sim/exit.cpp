// The end of threads and blocks: nothing may be left open, and nothing may still come.
#include <fmt/format.h>

#include "coda/sim/block_barriers.h"
#include "coda/sim/scheduler.h"

namespace coda::sim {

void Machine::fail_at_end(const Actor& actor, uint16_t site, const std::string& what) const {
  const Location place = sites.place(site);
  throw Failure(Violation::kLeftover, place.file_name(), place.line(), actor, what);
}

void Machine::exit_thread(Thread& thread) {
  Block& block = *thread.block;
  Warp& warp = *thread.warp;
  BulkGroups& bulk = thread.bulk;
  if (warp.arrived != 0) {
    fail(Violation::kDivergence, thread, warp.site,
         "this lane leaves the kernel while others of its warp wait for it");
  }
  if (bulk.open) fail_at_end(thread.actor(), bulk.last_site, "a store was never committed");
  if (bulk.read < bulk.committed.size() && bulk.agent != 0) {
    fail_at_end(thread.actor(), bulk.last_site,
                fmt::format("{} groups of stores were not waited for: their shared memory may be "
                            "gone before it is read",
                            bulk.committed.size() - bulk.read));
  }
  for (auto& group : bulk.committed) group->owner = nullptr;
  block.exits.release(thread.clock);
  thread.exited = true;
  if (--warp.live == 0) exit_warp(warp);
  --block.live;
  --block.cluster.live;
  settle_barriers_after_exit(*this, block);
  if (block.live == 0) exit_block(block);
}

void Machine::exit_warp(const Warp& warp) const {
  const Actor actor{warp.block->cluster.grid.index, static_cast<int>(warp.block->index),
                    static_cast<int>(warp.index), -1};
  if (warp.issued != warp.waited) {
    fail_at_end(
        actor, warp.wgmma_site,
        fmt::format("{} of {} wgmma were not waited for", warp.issued - warp.waited, warp.issued));
  }
  if (warp.cluster_arrived) {
    fail_at_end(actor, warp.cluster_site, "cluster_arrive without cluster_wait");
  }
  if (warp.group != nullptr && warp.live == 0) {
    for (uint32_t w = warp.index / 4 * 4; w < warp.index / 4 * 4 + 4; ++w) {
      const Warp& other = warp.block->warps[w];
      if (other.live == 0 && other.registers != warp.registers) {
        throw Failure(Violation::kRegisters, "", 0, actor,
                      fmt::format("leaves with {} registers, warp {} of its warpgroup with {}",
                                  warp.registers, w, other.registers));
      }
    }
  }
}

void Machine::exit_block(Block& block) {
  const Actor actor{block.cluster.grid.index, static_cast<int>(block.index), -1, -1};
  const Snapshot& seen = block.exits.publish();
  for (const auto& [address, barrier] : block.mbarriers) {
    const std::string name = describe_address(address);
    if (barrier.pending != barrier.count || barrier.bytes != 0) {
      fail_at_end(
          actor, barrier.last_site,
          fmt::format("mbarrier {} is left inside phase {}: {} of {} arrivals and {} "
                      "bytes outstanding",
                      name, barrier.completed, barrier.pending, barrier.count, barrier.bytes));
    }
    if (time_in(seen, barrier.agent) < barrier.loads_end) {
      fail_at_end(actor, barrier.last_site,
                  fmt::format("nobody waited for phase {} of mbarrier {}: its loads may land when "
                              "the block has exited",
                              barrier.loads_end - 1, name));
    }
  }
  for (uint32_t i = 0; i < block.named.size(); ++i) {
    const NamedBarrier& named = block.named[i];
    if (named.arrived != 0) {
      fail_at_end(actor, named.last_site,
                  fmt::format("named barrier {} is left with {} of {} threads", i, named.arrived,
                              named.threads));
    }
  }
  if (block.in_flight != 0) {
    throw Failure(Violation::kLeftover, "", 0, actor,
                  fmt::format("exits with {} asynchronous operations in flight", block.in_flight));
  }
  for (const auto& [agent, touch] : block.touched) {
    if (time_in(seen, agent) < touch.time) {
      fail(Violation::kExited, block.cluster.thread_of(agent), touch.site,
           fmt::format("touches block {}, which nothing keeps from having exited", block.index));
    }
  }
  if (!block.triggered) {
    block.triggered = true;
    ++block.cluster.grid.triggered;
  }
}

}  // namespace coda::sim
