// The GPU as a backend of `coda check`.
#pragma once
#include "coda/tools/check_backend.h"

namespace coda::tools {

// Repetitions: the chosen kernel; on two streams from two threads; captured into a graph; then
// every kernel that fits, three launches in a row where outputs are no inputs. All of that for
// several numbers of slices, or the one asked for. Throws coda::Error where there is no GPU that
// coda's kernels run on.
CheckBackend cuda_backend(const std::optional<int>& slices);

}  // namespace coda::tools
