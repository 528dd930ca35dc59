// `coda check --backend sim`: the GPU's kernels in the simulator.
#pragma once
#include "coda/catalogue/simulated.h"
#include "coda/tools/check_backend.h"

namespace coda::tools {

struct SimCheck {
  int seeds = 5;                      // schedules of every case
  std::optional<size_t> kernel = {};  // only this one of a variant's manifest
  std::optional<int> slices = {};     // of the contraction; none: it is whole, and in slices
  // Who knows a variant's kernels; nullptr for a variant that has none.
  std::function<const catalogue::SimulatedProgram*(const catalogue::Variant& variant)> find =
      &catalogue::find_simulated;
};

// The schedules of a case take the kernels that fit it in turn. Every other time A is the result of
// a launch just before, which the kernel's launch overlaps with.
CheckBackend sim_backend(const SimCheck& check);

}  // namespace coda::tools
