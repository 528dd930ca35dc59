// Runs a small kernel that breaks a rule, with several seeds and every policy.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>

#include "coda/sim/hardware.h"
#include "coda/sim/launch.h"

namespace coda::sim_test {

namespace hw = coda::sim;

struct Shape {
  int blocks = 1, cluster_size = 1, threads = 32;
  size_t shared_bytes = 16384;
};

// `kernel()` in every thread.
template <class Kernel>
sim::Report run(const Shape& shape, const Kernel& kernel, const sim::LaunchOptions& options = {}) {
  return sim::launch(
      shape.blocks, shape.cluster_size, shape.threads, shape.shared_bytes,
      [](const Kernel& body) { body(); }, kernel, options);
}

inline std::vector<sim::LaunchOptions> every_way(uint64_t seeds = 6) {
  std::vector<sim::LaunchOptions> options = {{.policy = sim::Policy::kEager},
                                             {.policy = sim::Policy::kLazy}};
  for (uint64_t seed = 1; seed <= seeds; ++seed) options.push_back({.seed = seed});
  return options;
}

inline std::string describe(const sim::LaunchOptions& options) {
  return "policy " + std::to_string(int(options.policy)) + " seed " + std::to_string(options.seed);
}

// Fails every time, with one of these violations; the last failure is returned.
template <class Kernel>
sim::Failure expect_failure(std::initializer_list<sim::Violation> violations, const Shape& shape,
                            const Kernel& kernel) {
  std::optional<sim::Failure> last;
  for (const sim::LaunchOptions& options : every_way()) {
    SCOPED_TRACE(describe(options));
    try {
      run(shape, kernel, options);
      ADD_FAILURE() << "not found";
    } catch (const sim::Failure& failure) {
      bool expected = false;
      for (sim::Violation violation : violations) expected |= violation == failure.violation;
      EXPECT_TRUE(expected) << failure.what();
      last = failure;
    }
  }
  if (!last) last.emplace(sim::Violation::kTrap, "", 0, sim::Actor{}, "never failed");
  return *last;
}

template <class Kernel>
void expect_success(const Shape& shape, const Kernel& kernel) {
  for (const sim::LaunchOptions& options : every_way()) {
    SCOPED_TRACE(describe(options));
    EXPECT_NO_THROW(run(shape, kernel, options));
  }
}

inline void expect_text(const sim::Failure& failure, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(std::string(failure.what()).find(part), std::string::npos)
        << "'" << part << "' is not in: " << failure.what();
  }
}

}  // namespace coda::sim_test
