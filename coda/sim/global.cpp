#include "coda/sim/global.h"

#include <fmt/format.h>

#include <cstring>

#include "coda/sim/scheduler.h"

namespace coda::sim {

namespace {

void check_alignment(const Call& call, const void* address, uintptr_t bytes) {
  if (reinterpret_cast<uintptr_t>(address) % bytes == 0) return;
  call.fail(Violation::kAddress, fmt::format("{} is not aligned to {} bytes", address, bytes));
}

}  // namespace

void GlobalMemory::write(const Thread& thread, uint16_t site, const void* address) {
  writes_[address] = {cluster_of(thread), thread.clock.agent, thread.clock.own, site};
}

uint64_t GlobalMemory::cluster_of(const Thread& thread) {
  const Cluster& cluster = thread.block->cluster;
  return uint64_t{static_cast<uint32_t>(cluster.grid.index)} << 32 | cluster.blocks[0]->index;
}

const uint16_t* GlobalMemory::written_at(const Thread& thread, const void* address) const {
  const auto found = writes_.find(address);
  if (found == writes_.end()) return nullptr;
  const bool this_launch = found->second.cluster >> 32 == cluster_of(thread) >> 32;
  return this_launch ? &found->second.site : nullptr;
}

bool GlobalMemory::ordered(const Thread& thread, const void* address) const {
  const Write& write = writes_.at(address);
  if (write.cluster == cluster_of(thread) && thread.clock.time_of(write.agent) >= write.time) {
    return true;
  }
  for (const auto& [atomic, agent] : thread.block->cluster.atomics) {
    const std::vector<Release>& releases = atomics_.at(atomic);
    const uint32_t known = thread.clock.time_of(agent);
    for (uint32_t i = 0; i < known; ++i) {
      if (releases[i].cluster == write.cluster &&
          time_in(releases[i].seen, write.agent) >= write.time) {
        return true;
      }
    }
  }
  return false;
}

void GlobalMemory::fence(Thread& thread) {
  for (const auto& [agent, additions] : thread.unfenced) {
    thread.block->cluster.memo.raise(thread.clock, agent, additions);
  }
  thread.unfenced.clear();
  Accumulator clock;
  clock.release(thread.clock);
  thread.fenced = clock.publish();
}

void GlobalMemory::add(Thread& thread, const uint32_t* atomic) {
  Cluster& cluster = thread.block->cluster;
  auto agent = cluster.atomics.find(atomic);
  if (agent == cluster.atomics.end()) {
    const uint32_t made = cluster.add_agent(AgentKind::kAtomic, thread.block, 0);
    agent = cluster.atomics.emplace(atomic, made).first;
  }
  std::vector<Release>& releases = atomics_[atomic];
  releases.push_back({cluster_of(thread), thread.fenced});
  thread.unfenced.emplace_back(agent->second, static_cast<uint32_t>(releases.size()));
}

void store_global_x4(float* to, float a, float b, float c, float d, Location where) {
  Call call(where, SiteKind::kOther, "store_global_x4");
  check_alignment(call, to, 16);
  const float values[4] = {a, b, c, d};
  std::memcpy(to, values, sizeof(values));
  call.machine.global.write(call.thread, call.site, to);
}

void load_global_x4(const float* from, float (&value)[4], Location where) {
  Call call(where, SiteKind::kOther, "load_global_x4");
  check_alignment(call, from, 16);
  const GlobalMemory& memory = call.machine.global;
  const uint16_t* site = memory.written_at(call.thread, from);
  if (site == nullptr) {
    call.fail(Violation::kUninitialised,
              fmt::format("nothing has been stored at {} in this launch", fmt::ptr(from)));
  }
  if (!memory.ordered(call.thread, from)) {
    call.fail(Violation::kRace,
              fmt::format("{} was stored at {}, and no fences and atomic order that before",
                          fmt::ptr(from), call.machine.sites.describe_place(*site)));
  }
  std::memcpy(value, from, sizeof(value));
}

void fence_gpu(Location where) {
  Call call(where, SiteKind::kFence, "fence_gpu");
  if (!call.dropped()) call.machine.global.fence(call.thread);
}

uint32_t atomic_add(uint32_t* to, uint32_t value, Location where) {
  Call call(where, SiteKind::kArrive, "atomic_add");
  check_alignment(call, to, 4);
  if (call.dropped()) return *to;
  call.machine.global.add(call.thread, to);
  const uint32_t before = *to;
  *to += value;
  return before;
}

void add_relaxed(uint32_t* to, uint32_t value, Location where) {
  Call call(where, SiteKind::kOther, "add_relaxed");
  check_alignment(call, to, 4);
  *to += value;
}

void store_relaxed(uint32_t* to, uint32_t value, Location where) {
  Call call(where, SiteKind::kOther, "store_relaxed");
  check_alignment(call, to, 4);
  *to = value;
}

uint32_t load_relaxed(const uint32_t* from, Location where) {
  Call call(where, SiteKind::kOther, "load_relaxed");
  check_alignment(call, from, 4);
  call.machine.yield(call.thread);
  return *from;
}

}  // namespace coda::sim
