// The simulated machine: threads, warps, warpgroups, blocks and clusters as they stand while they
// run, and what a thread can wait for.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "coda/sim/clock.h"
#include "coda/sim/failure.h"
#include "coda/sim/fiber.h"
#include "coda/sim/shared_memory.h"

namespace coda::sim {

struct Block;
struct Cluster;
struct Grid;
struct Machine;
struct Thread;
struct Warp;

enum class Reason : uint8_t {
  kNothing,
  kWarp,
  kMbarrier,
  kNamedBarrier,
  kClusterBarrier,
  kMultiply,
  kBulkRead,
  kBulkWrite,
  kRegisters,
  kDependency,
};

// Why a thread does not run.
struct Waiting {
  Reason reason = Reason::kNothing;
  uint16_t site = 0;
  uint32_t object = 0, value = 0;  // barrier address and parity, barrier number, groups, registers

  bool operator<(const Waiting& other) const {
    return std::tie(reason, site, object, value) <
           std::tie(other.reason, other.site, other.object, other.value);
  }
};

using Waiters = std::vector<Thread*>;

struct Mbarrier {
  uint32_t address = 0, count = 0, pending = 0;
  int64_t bytes = 0;       // expected and not yet arrived; below 0 when they come early
  uint32_t completed = 0;  // phases
  uint32_t agent = 0;      // its time: completed phases
  uint32_t loads_end = 0;  // the phase that loads have completed in so far
  uint32_t initialiser = 0, initialised_at = 0;
  uint16_t last_site = 0;  // of an arrival
  Accumulator clock;
  Snapshot released;  // by the arrivals of the phases completed
  Waiters waiters;
  Waiters late;  // woken, not yet run
};

struct NamedBarrier {
  uint32_t threads = 0, arrived = 0, round = 0;
  uint64_t warps = 0;  // of the block, that have arrived in this round
  uint16_t last_site = 0;
  Accumulator clock;
  Snapshot released;
  Waiters waiters;
};

// Bulk groups of one thread: its stores through the copy engine.
struct BulkGroups {
  struct Group {
    Thread* owner;  // null once it has left the kernel
    int reading = 0, writing = 0;
  };
  std::vector<std::shared_ptr<Group>> committed;
  std::shared_ptr<Group> open;
  uint32_t agent = 0;  // its time: groups whose reads are over; 0: no store yet
  uint32_t read = 0;   // groups waited for
  uint16_t last_site = 0;
};

struct Thread {
  Block* block = nullptr;
  Warp* warp = nullptr;
  uint32_t index = 0, lane = 0;
  std::unique_ptr<Fiber> fiber;
  Waiting waiting;
  bool runnable = false, exited = false;
  Mbarrier* woken_by = nullptr;
  ThreadClock clock;
  std::vector<uint32_t> proxy_fences, init_fences;      // own times
  Snapshot fenced;                                      // what its last fence_gpu releases
  std::vector<std::pair<uint32_t, uint32_t>> unfenced;  // atomics read since: agent, time
  BulkGroups bulk;
  void* argument = nullptr;  // of the instruction its warp executes together
  // Its waits since the warp was last together: lanes with different ones have parted.
  uint64_t waits = 0;
  uint16_t last_wait = 0;  // their last site

  Actor actor() const;
};

// A multiplication of 64 rows in flight, and the accumulator registers it owns.
struct Product;
struct Tile;

struct Warpgroup {
  Warpgroup();
  ~Warpgroup();
  Block* block = nullptr;
  uint32_t agent = 0;                             // its time: multiplications done
  std::deque<std::unique_ptr<Product>> products;  // issued by some warp, not done
  uint32_t done = 0;
  bool queued = false;  // in the scheduler
  std::vector<std::unique_ptr<Tile>> tiles;
  Waiters waiters;
};

// Which warps have issued the next multiplication, one bit each.
uint32_t next_product_warps(const Warpgroup& group);

struct Warp {
  Block* block = nullptr;
  Warpgroup* group = nullptr;
  uint32_t index = 0;
  std::array<Thread*, 32> lanes{};
  uint32_t live = 0;
  uint64_t priority = 0;
  // The instruction its lanes are gathering at.
  uint32_t arrived = 0;
  uint32_t round = 0;
  const char* instruction = nullptr;
  uint16_t site = 0;
  // wgmma
  uint16_t wgmma_site = 0;
  uint32_t issued = 0;
  std::vector<uint32_t> committed;  // multiplications issued before each commit
  uint32_t waited = 0;              // multiplications known to be over
  bool register_fence = false;
  uint32_t registers = 0;
  bool cluster_arrived = false;
  uint32_t cluster_round = 0;
  uint16_t cluster_site = 0;
};

struct Block {
  Block(Cluster& cluster, uint32_t rank, uint32_t index, uint32_t threads, uint32_t shared_bytes);

  Cluster& cluster;
  uint32_t rank, index;
  SharedMemory memory;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Warp> warps;
  std::vector<std::unique_ptr<Warpgroup>> groups;
  std::map<uint32_t, Mbarrier> mbarriers;
  std::array<NamedBarrier, 16> named;
  uint32_t live;
  int64_t free_registers = 0;
  Waiters register_waiters;
  bool triggered = false;  // dependents_launch
  int in_flight = 0;       // operations that read or write its memory
  struct Touch {
    uint32_t time;
    uint16_t site;
  };
  std::map<uint32_t, Touch> touched;  // by threads of other blocks: their last
  Accumulator exits;
};

enum class AgentKind : uint8_t { kThread, kMbarrier, kBulk, kMultiply, kAtomic };
struct Agent {
  AgentKind kind;
  Block* block;
  uint32_t index;  // thread, barrier address, thread, warpgroup, none
};

struct Cluster {
  Cluster(Machine& machine, Grid& grid, uint32_t first_block);

  Machine& machine;
  Grid& grid;
  std::vector<Agent> agents;  // the threads first, block by block
  std::vector<std::unique_ptr<Block>> blocks;
  ClockMemo memo;
  uint32_t live = 0, arrived = 0, barrier_round = 0;
  Accumulator barrier_clock;
  Snapshot barrier_released;
  Waiters barrier_waiters;
  std::map<const uint32_t*, uint32_t> atomics;  // in global memory -> agent

  uint32_t add_agent(AgentKind kind, Block* block, uint32_t index);
  Thread& thread_of(uint32_t agent);
};

// One launch of a stream.
struct Grid {
  int index = 0;
  uint32_t blocks = 0, cluster_size = 1, threads = 0, shared_bytes = 0, registers = 0;
  bool programmatic = false;
  std::function<void()> kernel;
  uint32_t started = 0, finished = 0, triggered = 0;  // blocks
  int in_flight = 0;                                  // copies
  Waiters dependents;

  bool complete() const { return finished == blocks && in_flight == 0; }
};

}  // namespace coda::sim
