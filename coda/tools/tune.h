// `coda tune`: which of a program's kernels was fastest in a benchmark, as entries of a cache.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "coda/plan/tuning.h"
#include "coda/tools/bench.h"

namespace coda::tools {

// Of one operation, variant, layout, set of ports and shape.
struct TunedChoice {
  BenchResult measured;  // of the predicted configuration, in one of the regimes
  std::string config;    // the fastest
  double speedup = 1;    // over the predicted one, geometric mean over the regimes
  std::string key;       // what launches find it by
};

// Results of a GPU benchmark: every kernel, in every regime; those with slices are passed over. A
// kernel is fastest by the geometric mean of its times over the regimes; the predicted one is kept
// unless another is faster by more than the scatter of medians.
std::vector<TunedChoice> tuned_choices(std::span<const BenchResult> results,
                                       const plan::Device& device);

plan::TuningCache tuning_of(std::span<const TunedChoice> choices);

std::string tune_table(std::span<const TunedChoice> choices);

}  // namespace coda::tools
