#include "coda/sim/machine.h"

#include "coda/sim/product.h"
#include "coda/sim/scheduler.h"

namespace coda::sim {

Actor Thread::actor() const {
  return {block->cluster.grid.index, static_cast<int>(block->index), static_cast<int>(warp->index),
          static_cast<int>(lane)};
}

Warpgroup::Warpgroup() = default;
Warpgroup::~Warpgroup() = default;

uint32_t next_product_warps(const Warpgroup& group) {
  return group.products.empty() ? 0 : group.products.front()->warps;
}

Block::Block(Cluster& cluster, uint32_t rank, uint32_t index, uint32_t count, uint32_t shared_bytes)
    : cluster(cluster),
      rank(rank),
      index(index),
      memory(cluster, index, shared_bytes),
      warps(count / 32),
      live(count) {
  for (uint32_t w = 0; w < warps.size(); ++w) {
    warps[w].block = this;
    warps[w].index = w;
    warps[w].live = 32;
    warps[w].registers = cluster.grid.registers;
  }
  for (uint32_t t = 0; t < count; ++t) {
    auto thread = std::make_unique<Thread>();
    thread->block = this;
    thread->warp = &warps[t / 32];
    thread->index = t;
    thread->lane = t % 32;
    thread->clock.agent = rank * count + t;
    thread->warp->lanes[thread->lane] = thread.get();
    threads.push_back(std::move(thread));
  }
}

Cluster::Cluster(Machine& machine, Grid& grid, uint32_t first_block)
    : machine(machine), grid(grid) {
  for (uint32_t rank = 0; rank < grid.cluster_size; ++rank) {
    blocks.push_back(
        std::make_unique<Block>(*this, rank, first_block + rank, grid.threads, grid.shared_bytes));
    for (uint32_t t = 0; t < grid.threads; ++t) {
      add_agent(AgentKind::kThread, blocks.back().get(), t);
    }
  }
  live = grid.cluster_size * grid.threads;
  for (auto& block : blocks) {
    for (uint32_t g = 0; g < block->warps.size() / 4; ++g) {
      block->groups.push_back(std::make_unique<Warpgroup>());
      block->groups[g]->block = block.get();
      block->groups[g]->agent = add_agent(AgentKind::kMultiply, block.get(), g);
      for (uint32_t w = 0; w < 4; ++w) block->warps[4 * g + w].group = block->groups[g].get();
    }
  }
}

uint32_t Cluster::add_agent(AgentKind kind, Block* block, uint32_t index) {
  if (agents.size() >= 0xffff) throw Error("sim: more than 65535 agents in a cluster");
  agents.push_back({kind, block, index});
  return static_cast<uint32_t>(agents.size() - 1);
}

Thread& Cluster::thread_of(uint32_t agent) {
  return *agents[agent].block->threads[agents[agent].index];
}

}  // namespace coda::sim
