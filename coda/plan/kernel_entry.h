// A compiled kernel of a program, whatever its type, and how it is chosen and launched. Host only.
#pragma once
#include <span>
#include <string>

#include "coda/plan/grid.h"
#include "coda/program/problem.h"

namespace coda::plan {

// What a launch is asked to do: the problem has been validated.
struct LaunchRequest {
  const void* program = nullptr;
  const Problem* problem = nullptr;
  const OperandView *a = nullptr, *b = nullptr;
  // Of the contraction, which the kernel then has to be compiled for; sums of slices meet in the
  // workspace (slices.h).
  Slicing slicing;
  void* workspace = nullptr;
};

// What a cluster's tile takes of the workspace.
struct SliceSpace {
  int floats = 0;    // for each slice
  int counters = 0;  // once

  constexpr bool empty() const { return floats == 0; }
};
// K: KernelTraits.
template <class K>
constexpr SliceSpace slice_space_of() {
  if (!K::kSplits) return {};
  return {K::kPartsPerTile * K::kPartFloats, K::kPartsPerTile};
}

struct KernelEntry {
  DType operand = DType::kBf16;
  kernel::TileConfig config;
  kernel::OperandMajor a = kernel::OperandMajor::kContraction;
  kernel::OperandMajor b = kernel::OperandMajor::kContraction;
  uint32_t given = 0;   // optional ports that it has, by place
  uint32_t either = 0;  // optional ports that it takes given or not
  int accumulators = 1;
  bool halves = false, groups = false;  // B in halves of heads; sums over heads
  int shared_bytes = 0;
  bool any_columns = false;  // else only outputs whose lines are multiples of 16 bytes
  SliceSpace slice_space;    // nothing: the contraction cannot be cut into slices
  // target: a cuda::Target or a sim::Target, as the executor has it.
  void (*launch)(const LaunchRequest& request, const void* target) = nullptr;
};

// Whether tiles of the kernel hold heads of two such halves: sub-tiles parts of one half and, where
// sums over heads are taken, tiles whole heads.
inline bool takes_half(const KernelEntry& kernel, int64_t half) {
  const int64_t columns = kernel.config.columns / kernel.accumulators;
  return kernel.halves && half > 0 && half % kernel.config.sub_columns == 0 &&
         (!kernel.groups || columns % half == 0);
}

// K: KernelTraits.
template <class K>
KernelEntry make_entry(void (*launch)(const LaunchRequest& request, const void* target)) {
  return {dtype_of<typename K::Element>,
          K::kTile,
          K::kA,
          K::kB,
          K::kGiven,
          K::kEither,
          K::kAccumulators,
          K::kHalves,
          groups_of<typename K::Program>(),
          K::kSharedBytes,
          K::kAnyColumns,
          slice_space_of<K>(),
          launch};
}

}  // namespace coda::plan
