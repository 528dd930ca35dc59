// Runs the threads of the resident clusters and completes asynchronous operations, one at a time,
// in an order drawn from the seed.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "coda/sim/global_memory.h"
#include "coda/sim/machine.h"
#include "coda/sim/report.h"

namespace coda::sim {

// Something the hardware does on its own: part of a copy, the next multiplication.
class Operation {
 public:
  virtual ~Operation() = default;
  // False: there is more to do, at a later moment.
  virtual bool run(Machine& machine) = 0;
};

struct Random {
  uint64_t state;
  uint64_t next();
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }
  bool one_in(uint32_t n) { return n != 0 && below(n) == 0; }
};

struct Machine {
  Machine(std::vector<Grid> grids, const LaunchOptions& options);

  void run();

  // Of the running thread.
  void suspend(Thread& thread, Waiting waiting);
  void yield(Thread& thread);
  void maybe_yield(Thread& thread);

  void wake(Thread& thread);
  void wake(Waiters& waiters);
  void post(std::unique_ptr<Operation> operation);
  void exit_thread(Thread& thread);

  [[noreturn]] void fail(Violation violation, const Thread& thread, uint16_t site,
                         const std::string& what) const;
  [[noreturn]] void fail_at_end(const Actor& actor, uint16_t site, const std::string& what) const;

  LaunchOptions options;
  Random random;
  SiteTable sites;
  Report report;
  std::vector<Grid> grids;
  GlobalMemory global;
  uint64_t progress = 0;  // instructions and operations, to tell polling from a deadlock
  Waiters polling;

 private:
  void admit();
  bool may_start(const Grid& grid) const;
  void run_thread();
  void run_operation();
  bool pick_operation();
  bool wake_polling();
  void retire(Cluster& cluster);
  void exit_warp(const Warp& warp) const;
  void exit_block(Block& block);
  [[noreturn]] void report_deadlock() const;

  std::vector<std::unique_ptr<Cluster>> resident_;
  uint32_t resident_blocks_ = 0;
  std::deque<Thread*> runnable_;
  std::vector<std::unique_ptr<Operation>> pending_;
  std::exception_ptr failure_;
  uint64_t polled_at_ = 0;
  // How this seed schedules.
  uint32_t candidates_ = 1;     // the one of highest priority among so many runs
  uint32_t yield_one_in_ = 0;   // at instructions that synchronise, copy or multiply
  uint32_t operation_of_ = 16;  // in 64 choices, an operation is chosen so often
  uint32_t start_one_in_ = 1;   // chances, a cluster starts while others run; 0: never
};

// The thread that runs; the simulated instructions are called from nowhere else.
Thread& self();

// One simulated instruction of the running thread.
struct Call {
  Call(const Location& where, SiteKind kind, const char* instruction);

  bool dropped() const { return mutated(MutationKind::kDrop); }
  bool mutated(MutationKind kind) const {
    return machine.sites.mutated(site, kind, thread.block->cluster.grid.index);
  }
  [[noreturn]] void fail(Violation violation, const std::string& what) const {
    machine.fail(violation, thread, site, what);
  }
  // An instruction that may keep the lane for long; those that cannot are taken as predicated where
  // some lanes execute them alone.
  void part_lane() const {
    thread.waits = thread.waits * 0x9e3779b97f4a7c15u + site + 1;
    thread.last_wait = site;
  }
  void wait(Reason reason, uint32_t object, uint32_t value) {
    machine.suspend(thread, {reason, site, object, value});
  }

  Thread& thread;
  Machine& machine;
  uint16_t site;
};

}  // namespace coda::sim
