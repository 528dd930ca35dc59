// What a launch hands to the kernel, by value.
#pragma once
#include "coda/epilogue/hardware.h"
#include "coda/kernel/grid.h"
#include "coda/kernel/traits.h"

namespace coda::kernel {
inline namespace CODA_TARGET {

template <class Program>
struct Arguments {
  hw::TensorMap a[kMaxSegments];     // by row segment, or by segment of the contraction
  hw::TensorMap b[2][kMaxSegments];  // [accumulator], likewise
  hw::TensorMap port[port_count<Program>][kMaxSegments];  // of tile ports, by segment
  Program program;
  Grid grid;
  Workspace workspace;  // where the contraction is cut into slices
  Pace pace;
};

}  // namespace CODA_TARGET
}  // namespace coda::kernel
