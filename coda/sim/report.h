// How a launch is simulated, and what it did.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "coda/sim/site.h"

namespace coda::sim {

enum class Policy {
  kRandom,  // threads and asynchronous operations in an order drawn from the seed
  kEager,   // asynchronous operations complete as they are issued
  kLazy,    // they complete when nothing else can run
};

struct LaunchOptions {
  uint64_t seed = 1;
  Policy policy = Policy::kRandom;
  int multiprocessors = 4;  // blocks resident at once; at least one cluster is
  std::optional<Mutation> mutation;
  int registers_per_thread = 0;  // 0: what __launch_bounds__(threads, 1) leaves a thread
  size_t stack_bytes = size_t{256} << 10;
  uint64_t max_switches = uint64_t{1} << 30;
};

struct Report {
  uint64_t loads = 0, bytes_loaded = 0;   // boxes by TMA; a multicast counts per block
  uint64_t stores = 0, bytes_stored = 0;  // likewise, what was in bounds
  uint64_t multiplies = 0;                // wgmma instructions of a warpgroup
  uint64_t switches = 0, operations = 0;  // of fibers, of asynchronous work
  std::vector<SiteVisits> sites;          // reached
};

}  // namespace coda::sim
