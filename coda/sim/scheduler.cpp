#include "coda/sim/scheduler.h"

#include <fmt/format.h>

#include <algorithm>

namespace coda::sim {

namespace {

thread_local Thread* running = nullptr;

}  // namespace

uint64_t Random::next() {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Thread& self() {
  if (running == nullptr) throw Error("sim: a simulated instruction outside a launch");
  return *running;
}

Call::Call(const Location& where, SiteKind kind, const char* instruction)
    : thread(self()),
      machine(thread.block->cluster.machine),
      site(machine.sites.visit(where, kind, instruction)) {
  ++machine.progress;
  machine.maybe_yield(thread);
}

Machine::Machine(std::vector<Grid> launches, const LaunchOptions& launch_options)
    : options(launch_options),
      random{launch_options.seed},
      sites(launch_options.mutation),
      grids(std::move(launches)) {
  if (options.policy == Policy::kRandom) {
    constexpr uint32_t kCandidates[] = {1, 2, 4, 16}, kYield[] = {0, 64, 16, 4},
                       kOperations[] = {1, 4, 16, 32, 60}, kStart[] = {1, 256, 16384};
    candidates_ = kCandidates[random.below(4)];
    yield_one_in_ = kYield[random.below(4)];
    operation_of_ = kOperations[random.below(5)];
    start_one_in_ = kStart[random.below(3)];
  } else if (options.policy == Policy::kLazy) {
    start_one_in_ = 0;
  }
}

void Machine::suspend(Thread& thread, Waiting waiting) {
  thread.waiting = waiting;
  thread.fiber->suspend();
  thread.waiting = {};
}

void Machine::yield(Thread& thread) {
  wake(thread);
  suspend(thread, {});
}

void Machine::maybe_yield(Thread& thread) {
  if (random.one_in(yield_one_in_)) yield(thread);
}

void Machine::wake(Thread& thread) {
  if (thread.runnable) return;
  thread.runnable = true;
  runnable_.push_back(&thread);
}

void Machine::wake(Waiters& waiters) {
  for (Thread* thread : waiters) wake(*thread);
  waiters.clear();
}

void Machine::post(std::unique_ptr<Operation> operation) {
  if (options.policy == Policy::kEager) {
    ++report.operations;
    while (!operation->run(*this)) {
    }
  } else {
    pending_.push_back(std::move(operation));
  }
}

bool Machine::may_start(const Grid& grid) const {
  if (grid.started == grid.blocks) return false;
  if (grid.index == 0) return true;
  const Grid& before = grids[grid.index - 1];
  if (before.complete()) return true;
  return grid.programmatic && before.triggered == before.blocks;
}

// Clusters start in order, where there is room, when this seed gets around to it.
void Machine::admit() {
  for (Grid& grid : grids) {
    while (may_start(grid)) {
      const uint32_t wanted = resident_blocks_ + grid.cluster_size;
      if (resident_blocks_ != 0 && wanted > static_cast<uint32_t>(options.multiprocessors)) return;
      if (!runnable_.empty() && !random.one_in(start_one_in_)) return;
      auto cluster = std::make_unique<Cluster>(*this, grid, grid.started);
      grid.started += grid.cluster_size;
      resident_blocks_ = wanted;
      for (auto& block : cluster->blocks) {
        for (Warp& warp : block->warps) warp.priority = random.next();
        for (auto& thread : block->threads) {
          Thread* one = thread.get();
          one->fiber = std::make_unique<Fiber>(options.stack_bytes, [this, one, &grid] {
            try {
              grid.kernel();
              exit_thread(*one);
            } catch (const std::exception&) {
              if (!failure_) failure_ = std::current_exception();
            }
          });
          wake(*one);
        }
      }
      resident_.push_back(std::move(cluster));
    }
  }
}

bool Machine::pick_operation() {
  if (pending_.empty()) return false;
  if (runnable_.empty()) return true;
  return options.policy == Policy::kRandom && random.below(64) < operation_of_;
}

void Machine::run_operation() {
  const uint32_t at = random.below(static_cast<uint32_t>(pending_.size()));
  std::swap(pending_[at], pending_.back());
  std::unique_ptr<Operation> operation = std::move(pending_.back());
  pending_.pop_back();
  ++report.operations;
  ++progress;
  if (!operation->run(*this)) pending_.push_back(std::move(operation));
}

void Machine::run_thread() {
  if (options.policy == Policy::kRandom) {
    const auto count = static_cast<uint32_t>(runnable_.size());
    uint32_t best = random.below(count);
    for (uint32_t i = 1; i < candidates_; ++i) {
      const uint32_t other = random.below(count);
      if (runnable_[other]->warp->priority > runnable_[best]->warp->priority) best = other;
    }
    std::swap(runnable_[best], runnable_.front());
    if (random.one_in(512)) runnable_.front()->warp->priority = random.next();
  }
  Thread* thread = runnable_.front();
  runnable_.pop_front();
  thread->runnable = false;
  ++report.switches;
  running = thread;
  const bool returned = thread->fiber->resume();
  running = nullptr;
  if (failure_) std::rethrow_exception(failure_);
  if (returned && thread->block->cluster.live == 0) retire(thread->block->cluster);
}

bool Machine::wake_polling() {
  if (polling.empty() || polled_at_ == progress) return false;
  polled_at_ = progress;
  wake(polling);
  return true;
}

void Machine::retire(Cluster& cluster) {
  cluster.grid.finished += cluster.grid.cluster_size;
  resident_blocks_ -= cluster.grid.cluster_size;
  std::erase_if(resident_, [&](const auto& other) { return other.get() == &cluster; });
}

void Machine::run() {
  for (;;) {
    for (Grid& grid : grids) {
      if (grid.complete()) wake(grid.dependents);
    }
    admit();
    if (report.switches > options.max_switches) {
      throw Failure(Violation::kEndless, "", 0, {},
                    fmt::format("no end after {} switches", options.max_switches));
    }
    if (pick_operation()) {
      run_operation();
    } else if (!runnable_.empty()) {
      run_thread();
    } else if (resident_.empty()) {
      break;
    } else if (!wake_polling()) {
      report_deadlock();
    }
  }
  report.sites = sites.visits();
}

void Machine::fail(Violation violation, const Thread& thread, uint16_t site,
                   const std::string& what) const {
  const Location place = sites.place(site);
  throw Failure(violation, place.file_name(), place.line(), thread.actor(),
                fmt::format("{}: {}", sites.instruction(site), what));
}

}  // namespace coda::sim
