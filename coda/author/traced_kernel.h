// A kernel of a program whose type only its text has: the source for NVRTC, and where the parts of
// its argument lie, kernel::Arguments of that type. The source asserts both. Host only.
#pragma once
#include <vector>

#include "coda/author/compile.h"
#include "coda/author/host_epilogue.h"
#include "coda/author/tile_facts.h"
#include "coda/plan/kernel_entry.h"
#include "coda/plan/map_request.h"

namespace coda::author {

// Tensor maps of A, of B for two accumulators and of every port, each for kMaxSegments segments;
// then the program, the grid and the workspace.
struct ArgumentLayout {
  static constexpr size_t kMapBytes = 128, kAlignment = 64;
  static constexpr size_t kOperands = 3, kOperandMaps = kOperands * kMaxSegments;

  explicit ArgumentLayout(const ProgramView& view);

  size_t program = 0, grid = 0, bytes = 0;
};

struct PlacedMap {
  size_t place;  // among the maps of the layout
  plan::MapRequest request;
};
// The tensor maps of a launch on the tile of that place among kTileConfigs.
std::vector<PlacedMap> traced_maps(const ProgramView& view, const plan::LaunchRequest& request,
                                   int tile);

KernelSource traced_kernel(const ProgramText& text, const ProgramView& view, DType operand,
                           const TileFacts& facts);

}  // namespace coda::author
