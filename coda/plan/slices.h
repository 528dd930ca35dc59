// Whether a contraction is cut into slices, how many, and the workspace in which their sums meet:
// partials, then counters, which are zero before a launch. For long contractions: of all tiles
// where they are few, else of those that would leave most of the GPU idle in the end. Pure
// functions; host only.
#pragma once
#include "coda/plan/choose.h"
#include "coda/plan/grid.h"

namespace coda::plan {

inline constexpr int kMaxSlices = 16;
inline constexpr int kMinSliceBlocks = 8;  // of kernel::kBlockDepth, in every slice

struct WorkspaceLayout {
  int64_t partial_bytes = 0, counter_bytes = 0;

  int64_t bytes() const { return partial_bytes + counter_bytes; }
  kernel::Workspace at(void* memory) const;
};
// Nothing for one slice.
WorkspaceLayout workspace_layout(const SliceSpace& space, const kernel::Grid& grid);
// Bytes for a problem.
int64_t workspace_bytes(const KernelEntry& kernel, const Problem& problem, const Slicing& slicing);

// In clocks of a multiprocessor, as predict_clocks().
double predict_sliced_clocks(const KernelEntry& kernel, const ProgramView& program,
                             const Problem& problem, const Device& device, const Slicing& slicing);

std::string sliced_name(const KernelEntry& kernel, int slices);  // "pp128x128_s6_c2x1_n32_k4"

// What a caller may ask for instead of what is predicted to be fastest.
struct SlicesRequest {
  const KernelEntry* kernel = nullptr;  // null: any that fits
  int slices = 0;                       // of all tiles; 0: of the last round, if it is worth it
};
struct SlicedChoice {
  const KernelEntry* kernel = nullptr;
  Slicing slicing;
};
// Where there is a workspace: the fastest kernel and number of slices by prediction, within what is
// asked for. Throws coda::Error where that cannot be.
SlicedChoice choose_sliced(const SlicesRequest& asked, std::span<const KernelEntry> kernels,
                           const ProgramView& program, const LaunchRequest& request,
                           const Device& device);

}  // namespace coda::plan
