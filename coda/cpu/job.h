// A multiplication, and what its threads work with: memory of their own, tiles, and blocks of the
// contraction.
#pragma once
#include <omp.h>

#include <algorithm>

#include "coda/cpu/left_rows.h"
#include "coda/cpu/run.h"
#include "coda/cpu/schedule.h"
#include "coda/cpu/workspace.h"

namespace coda::cpu {

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

inline bool by_lines(const OperandView& operand) {
  for (int i = 0; i < operand.accumulators; ++i) {
    for (int s = 0; s < operand.segments; ++s)
      if (operand.part[i][s].major != Major::kRow) return false;
  }
  return true;
}

// Packing B takes longer than multiplying it by few rows of A. Those are multiplied by B where it
// stands (few_rows.h); with some more A is packed, and the operands change places.
enum class Way { kPackB, kPackA, kFewRows };

inline Way way_of(const Problem& problem, const OperandView& b, const Kernels& kernels) {
  if (problem.M() > kTurnedRows || !by_lines(b)) return Way::kPackB;
  if (problem.M() <= kFewHalves * kernels.rows / 2) return Way::kFewRows;
  return kernels.multiply_lines != nullptr ? Way::kPackA : Way::kPackB;
}

struct Job {
  const Problem& problem;
  const OperandView &a, &b;
  const ProgramRun& program;
  const Kernels& kernels;
  EpilogueFunction epilogue;
  Way way = Way::kPackB;
  Schedule schedule = {};
  int64_t packed_rows = 0, packed_columns = 0;  // of a tile, rounded up for packing
  int64_t ld = 0;                               // of an accumulator tile
  int64_t tile_floats = 0;                      // of all its accumulators
};

struct Workspace {
  uint32_t *left, *right;  // panels: of A and B, or of B and A where they change places
  float *accumulator, *turned, *scratch;
};

// The workspaces of a parallel region's threads, made before it.
class Workspaces {
 public:
  Workspaces(const Job& job, int threads)
      : left_(round_up(kPackedRows * kBlockUnits, 16)),
        right_(round_up(panels_of(job) * kBlockUnits, 16)),
        tile_(round_up(job.tile_floats, 16)),
        turned_(job.way == Way::kPackA
                    ? round_up(job.b.accumulators * job.packed_rows * job.packed_columns, 16)
                    : 0) {
    const int64_t scratch = job.program.scratch_per_row * job.schedule.tile_rows +
                            job.program.scratch_per_column * job.ld;
    memory_ = team_workspace(threads,
                             static_cast<size_t>(left_ + right_ + tile_ + turned_ + scratch) * 4);
  }

  Workspace mine() const {
    auto* const left = static_cast<uint32_t*>(memory_.of(omp_get_thread_num()));
    auto* const tile = reinterpret_cast<float*>(left + left_ + right_);
    return {left, left + left_, tile, tile + tile_, tile + tile_ + turned_};
  }

 private:
  static int64_t panels_of(const Job& job) {  // rows in them
    return job.way == Way::kPackA ? job.packed_rows : job.b.accumulators * job.packed_columns;
  }

  int64_t left_, right_, tile_, turned_;  // words
  TeamWorkspace memory_{};
};

// A tile as a program sees it.
inline TileRun tile_run(const Job& job, const Workspace& work, const Tile& tile,
                        const float* accumulator) {
  TileRun run;
  run.problem = &job.problem;
  run.accumulator[0] = accumulator;
  run.accumulator[1] = accumulator + job.packed_rows * job.ld;
  run.accumulator_ld = job.ld;
  run.row = tile.row;
  run.column = tile.column;
  run.rows = run.end = tile.rows;
  run.columns = tile.columns;
  run.row_segment = tile.row_segment;
  run.column_segment = tile.column_segment;
  run.scratch = work.scratch;
  return run;
}

struct Block {  // of the contraction
  int part;     // segment of both operands
  int64_t k, depth;
  bool first, last;  // of what is contracted here
};

inline PackJob rows_of_a(const Job& job, const Tile& tile, const Block& block) {
  const int segment = job.a.cut == Cut::kRows ? tile.row_segment : block.part;
  return {job.a.part[0][segment], tile.row, tile.rows, block.k, block.depth, 0, 0};
}

inline PackJob rows_of_b(const Job& job, const Tile& tile, const Block& block, int accumulator) {
  const int segment = job.b.cut == Cut::kRows ? tile.column_segment : block.part;
  const int64_t half = job.b.head_dim / 2;
  return {job.b.part[accumulator][segment],
          tile.column,
          tile.columns,
          block.k,
          block.depth,
          half,
          accumulator * half};
}

}  // namespace coda::cpu
