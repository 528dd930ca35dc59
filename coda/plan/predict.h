// How long a kernel will take, from counts alone: what the choice among a program's kernels goes
// by. A pure function; host only.
#pragma once
#include "coda/plan/kernel_entry.h"

namespace coda::plan {

struct Device {
  int multiprocessors = 132;
  std::string name;  // what tuned choices are found by
};

// In clocks of a multiprocessor. Only the order among kernels of one problem is meant.
double predict_clocks(const KernelEntry& kernel, const ProgramView& program, const Problem& problem,
                      const Device& device);

// What the operands hold. Random numbers draw so much power that an H200 lowers its clock (to about
// 1.5 GHz at 700 W); zeros leave it at 1.98 GHz. A training step lies between.
enum class Regime { kRandom, kZeros };

// Of a launch among others, in seconds, fitted to an H200; tests/tools/explain_test.cpp says how
// far from measured times.
double predict_seconds(const KernelEntry& kernel, const ProgramView& program,
                       const Problem& problem, const Device& device, Regime regime);

inline constexpr double kMemoryBytesPerSecond = 4.0e12;  // that kernels reach

}  // namespace coda::plan
