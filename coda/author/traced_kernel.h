// A kernel of a program whose type only its text has: the source for NVRTC, and where the parts of
// its argument lie, kernel::Arguments of that type. The source asserts both. Host only.
#pragma once
#include "coda/author/compile.h"
#include "coda/author/host_epilogue.h"
#include "coda/author/tile_facts.h"

namespace coda::author {

// Tensor maps of A, of B for two accumulators and of every port, each for kMaxSegments segments;
// then the program, the grid and the workspace.
struct ArgumentLayout {
  static constexpr size_t kMapBytes = 128, kAlignment = 64;
  static constexpr size_t kOperandMaps = 3 * kMaxSegments;

  explicit ArgumentLayout(const ProgramView& view);

  size_t program = 0, grid = 0, bytes = 0;
};

KernelSource traced_kernel(const ProgramText& text, const ProgramView& view, DType operand,
                           const TileFacts& facts);

}  // namespace coda::author
