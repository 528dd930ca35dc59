// Launches of simulated kernels. All blocks of a launch run in the calling thread; several launches
// may run in several threads.
#pragma once
#include <functional>
#include <span>

#include "coda/sim/report.h"

namespace coda::sim {

struct Launch {
  int blocks = 1, cluster_size = 1, threads = 384;
  size_t shared_bytes = 0;
  std::function<void()> kernel;  // what each thread runs
  // Starts once every block of the launch before it has called dependents_launch or exited.
  bool programmatic = false;
};

// One after the other, as on a stream. A broken rule is thrown as sim::Failure.
Report run_stream(std::span<const Launch> launches, const LaunchOptions& options);

template <class Kernel, class Arguments>
Launch make_launch(int blocks, int cluster_size, int threads, size_t shared_bytes, Kernel kernel,
                   const Arguments& arguments, bool programmatic = false) {
  return {
      blocks,      cluster_size, threads, shared_bytes, [kernel, &arguments] { kernel(arguments); },
      programmatic};
}

// `kernel(arguments)` in every thread; the arguments outlive the launch.
template <class Kernel, class Arguments>
Report launch(int blocks, int cluster_size, int threads, size_t shared_bytes, Kernel&& kernel,
              const Arguments& arguments, const LaunchOptions& options) {
  const Launch one = {blocks, cluster_size, threads, shared_bytes, [&] { kernel(arguments); },
                      false};
  return run_stream(std::span(&one, 1), options);
}

}  // namespace coda::sim
