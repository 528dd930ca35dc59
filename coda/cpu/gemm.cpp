// The GEMM loop: output tiles over threads; per tile, panels of both operands block by block along
// the contraction, multiplied into a tile of fp32 accumulators, then the program's epilogue on it.
// Few rows of A are multiplied by B where it stands: packing it would take longer.
// A value's additions are ordered by the contraction blocks alone, so tile shape and thread count
// do not change it.
#include <omp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "coda/core/error.h"
#include "coda/cpu/kernels.h"
#include "coda/cpu/left_rows.h"
#include "coda/cpu/run.h"
#include "coda/cpu/schedule.h"
#include "coda/cpu/threads.h"
#include "coda/cpu/workspace.h"

namespace coda::cpu {
namespace {

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

struct Job {
  const Problem& problem;
  const OperandView &a, &b;
  const ProgramRun& program;
  const Kernels& kernels;
  EpilogueFunction epilogue;
  bool few_rows = false;  // of A; B is multiplied where it stands
  Schedule schedule = {};
  int64_t packed_rows = 0, packed_columns = 0;  // of a tile, rounded up for packing
  int64_t ld = 0;                               // of an accumulator tile
  int64_t tile_floats = 0;                      // of all its accumulators
};

struct Workspace {
  uint32_t *a, *b;
  float *accumulator, *scratch;
};

// The workspaces of a parallel region's threads, made before it.
class Workspaces {
 public:
  Workspaces(const Job& job, int threads)
      : a_(round_up(kPackedRows * kBlockUnits, 16)),
        b_(round_up(job.b.accumulators * job.packed_columns * kBlockUnits, 16)),
        tile_(round_up(job.tile_floats, 16)) {
    const int64_t scratch = job.program.scratch_per_row * job.schedule.tile_rows +
                            job.program.scratch_per_column * job.ld;
    memory_ = team_workspace(threads, static_cast<size_t>(a_ + b_ + tile_ + scratch) * 4);
  }

  Workspace mine() const {
    auto* const a = static_cast<uint32_t*>(memory_.of(omp_get_thread_num()));
    auto* const tile = reinterpret_cast<float*>(a + a_ + b_);
    return {a, a + a_, tile, tile + tile_};
  }

 private:
  int64_t a_, b_, tile_;  // words
  TeamWorkspace memory_{};
};

// A tile as a program sees it.
TileRun tile_run(const Job& job, const Workspace& work, const Tile& tile,
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
  bool first;  // of what is contracted here
};

PackJob left_rows(const Job& job, const Tile& tile, const Block& block) {
  const int segment = job.a.cut == Cut::kRows ? tile.row_segment : block.part;
  return {job.a.part[0][segment], tile.row, tile.rows, block.k, block.depth, 0, 0};
}

PackJob right_rows(const Job& job, const Tile& tile, const Block& block, int accumulator) {
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

void multiply_few(const Job& job, const Workspace& work, const Tile& tile, const Block& block,
                  bool finish, float* out) {
  job.kernels.pack_a(left_rows(job, tile, block), work.a);
  for (int i = 0; i < job.b.accumulators; ++i) {
    job.kernels.multiply_few(right_rows(job, tile, block, i), work.a, tile.rows,
                             out + i * job.packed_rows * job.ld, job.ld, !block.first);
  }
  if (finish) job.epilogue(job.program.program, tile_run(job, work, tile, out));
}

void multiply_block(const Job& job, const Workspace& work, const Tile& tile, const Block& block,
                    bool finish, float* out) {
  const Kernels& kernels = job.kernels;
  const int64_t units = (block.depth + kernels.unit - 1) / kernels.unit;
  LeftRows left(kernels, left_rows(job, tile, block), work.a);
  for (int i = 0; i < job.b.accumulators; ++i) {
    kernels.pack_b(right_rows(job, tile, block, i), work.b + i * job.packed_columns * kBlockUnits);
  }
  // The epilogue follows panel by panel, while accumulators are in a near cache; what it will read
  // and write is on its way meanwhile.
  TileRun run = tile_run(job, work, tile, out);
  const int64_t steps = (tile.columns + kernels.columns - 1) / kernels.columns;
  for (int64_t row = 0; row < tile.rows; row += kernels.rows) {
    run.begin = row;
    run.end = std::min(row + kernels.rows, tile.rows);
    left.prepare(row);
    for (int i = 0; i < job.b.accumulators; ++i) {
      const uint32_t* b = work.b + i * job.packed_columns * kBlockUnits;
      float* c = out + i * job.packed_rows * job.ld + row * job.ld;
      for (int64_t column = 0; column < tile.columns; column += kernels.columns) {
        if (finish && i == 0)
          job.program.prefetch(job.program.program, run, column, kernels.columns);
        if (i == 0) left.fetch(row + kernels.rows, column / kernels.columns, steps);
        left.multiply(row, units, b + column * units, c + column, job.ld, !block.first);
      }
    }
    if (finish) job.epilogue(job.program.program, run);
  }
}

// The contraction blocks [first, last) into the accumulators at `out`, and the epilogue if asked.
void multiply_tile(const Job& job, const Workspace& work, const Tile& tile, int64_t first,
                   int64_t last, bool finish, float* out) {
  const int64_t deep = kBlockUnits * job.kernels.unit;
  int64_t index = 0;
  for (int part = 0; part < job.problem.contraction.count; ++part) {
    const int64_t size = job.problem.contraction.size(part);
    for (int64_t k = 0; k < size; k += deep, ++index) {
      if (index < first || index >= last) continue;
      const Block block{part, k, std::min(deep, size - k), index == first};
      const auto multiply = job.few_rows ? multiply_few : multiply_block;
      multiply(job, work, tile, block, finish && index == last - 1, out);
    }
  }
  if (first < last) return;
  std::fill_n(out, job.tile_floats, 0.0f);  // nothing to contract
  if (finish) job.epilogue(job.program.program, tile_run(job, work, tile, out));
}

void run_tiles(const Job& job, int threads) {
  const int64_t tiles = job.schedule.tile_count();
  const Workspaces workspaces(job, threads);
#pragma omp parallel num_threads(threads)
  {
    const Workspace work = workspaces.mine();
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < tiles; ++i) {
      multiply_tile(job, work, job.schedule.tile(i), 0, job.schedule.blocks, true,
                    work.accumulator);
    }
  }
}

// Few tiles and a long contraction: slices of it run side by side and are added in order.
void run_split(const Job& job, int threads) {
  const Schedule& schedule = job.schedule;
  const int64_t tiles = schedule.tile_count(), slices = schedule.slices;
  const std::unique_ptr<float[]> partial(
      new float[static_cast<size_t>(tiles * slices * job.tile_floats)]);
  const Workspaces workspaces(job, threads);
#pragma omp parallel num_threads(threads)
  {
    const Workspace work = workspaces.mine();
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < tiles * slices; ++i) {
      const int64_t slice = i % slices;
      multiply_tile(job, work, schedule.tile(i / slices), schedule.blocks * slice / slices,
                    schedule.blocks * (slice + 1) / slices, false,
                    partial.get() + i * job.tile_floats);
    }
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < tiles; ++i) {
      float* sum = partial.get() + i * slices * job.tile_floats;
      for (int64_t slice = 1; slice < slices; ++slice) {
        const float* more = sum + slice * job.tile_floats;
        for (int64_t j = 0; j < job.tile_floats; ++j) sum[j] += more[j];
      }
      const Tile tile = schedule.tile(i);
      job.epilogue(job.program.program, tile_run(job, work, tile, sum));
    }
  }
}

bool by_lines(const OperandView& operand) {
  for (int i = 0; i < operand.accumulators; ++i) {
    for (int s = 0; s < operand.segments; ++s)
      if (operand.part[i][s].major != Major::kRow) return false;
  }
  return true;
}

}  // namespace

const Kernels& kernels_for([[maybe_unused]] Isa isa, DType type) {
#if defined(CODA_HAS_AVX512BF16)
  if (isa == Isa::kAvx512 && type == DType::kBf16 && has_bf16_dot()) return bf16_dot_kernels();
#endif
#if CODA_CPU_ISAS > 2
  if (isa == Isa::kAvx512) return widening_kernels<Isa::kAvx512>(type);
#endif
#if CODA_CPU_ISAS > 1
  if (isa == Isa::kAvx2) return widening_kernels<Isa::kAvx2>(type);
#endif
  return widening_kernels<Isa::kPortable>(type);
}

Isa chosen_isa(const char* operation, const Options& options) {
  const Isa isa = options.isa ? *options.isa : default_isa();  // which CODA_ISA may spoil
  if (has_isa(isa)) return isa;
  fail_argument(operation, "isa", "an instruction set that is available here", isa_name(isa));
}

void execute(const Problem& problem, const OperandView& a, const OperandView& b,
             const ProgramRun& program, const Options& options) {
  const Isa isa = chosen_isa("cpu::run", options);
  const int threads = thread_count("cpu::run", options.threads);
  if (problem.M() == 0 || problem.N() == 0) return;
  const Kernels& kernels = kernels_for(isa, a.part[0][0].dtype);
  Job job{problem, a, b, program, kernels, program.epilogue[static_cast<int>(isa)]};
  job.few_rows = problem.M() <= kFewPanels * kernels.rows && by_lines(b);
  job.schedule = make_schedule(problem, b.accumulators, program.groups, kernels, threads);
  job.packed_rows = round_up(job.schedule.tile_rows, kernels.padding);
  job.packed_columns = round_up(job.schedule.tile_columns, kernels.padding);
  // An epilogue reads, and keeps running states of, whole sub-tiles of up to kMaxHeadDim / 2
  // columns.
  job.ld = round_up(job.packed_columns + kMaxHeadDim / 2, 16);
  job.tile_floats = b.accumulators * job.packed_rows * job.ld;
  if (job.schedule.slices > 1) {
    run_split(job, threads);
  } else {
    run_tiles(job, threads);
  }
}

}  // namespace coda::cpu
