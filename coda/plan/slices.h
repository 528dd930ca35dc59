// Whether a contraction is cut into slices, how many, and the workspace in which their sums meet:
// partials, then counters, which are zero before a launch. For problems with few tiles and a long
// contraction. Pure functions; host only.
#pragma once
#include "coda/plan/choose.h"
#include "coda/plan/grid.h"

namespace coda::plan {

inline constexpr int kMaxSlices = 16;
inline constexpr int kMinSliceBlocks = 8;  // of kernel::kBlockDepth, in every slice
inline constexpr int64_t kWorkspaceAlignment = 256;

struct WorkspaceLayout {
  int64_t partial_bytes = 0, counter_bytes = 0;

  int64_t bytes() const { return partial_bytes + counter_bytes; }
  kernel::Workspace at(void* memory) const;
};
// tiles: of clusters. Nothing for one slice.
WorkspaceLayout workspace_layout(const SliceSpace& space, uint32_t tiles, int slices);
// Bytes for a problem.
int64_t workspace_bytes(const KernelEntry& kernel, const Problem& problem, int slices);

// In clocks of a multiprocessor, as predict_clocks().
double predict_sliced_clocks(const KernelEntry& kernel, const ProgramView& program,
                             const Problem& problem, const Device& device, int slices);

// How many slices are worth it for this kernel: 1 to kMaxSlices.
int choose_slices(const KernelEntry& kernel, const ProgramView& program, const Problem& problem,
                  const Device& device);

struct SlicedChoice {
  const KernelEntry* kernel = nullptr;
  int slices = 1;
};
// Where there is a workspace: the kernel and the slices that are predicted to be fastest.
SlicedChoice choose_sliced(std::span<const KernelEntry> kernels, const ProgramView& program,
                           const LaunchRequest& request, const Device& device);

// Throws coda::Error that names what is wrong with the workspace for this launch.
void validate_workspace(const std::string& program, const void* workspace, int64_t bytes,
                        int64_t needed);

}  // namespace coda::plan
