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

}  // namespace coda::plan
