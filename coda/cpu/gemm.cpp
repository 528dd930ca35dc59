// The GEMM loop: output tiles over threads; per tile, panels of both operands block by block along
// the contraction, multiplied into a tile of fp32 accumulators, then the program's epilogue on it.
// A value's additions are ordered by the contraction blocks alone, so tile shape and thread count
// do not change it.
#include <algorithm>
#include <memory>

#include "coda/core/error.h"
#include "coda/cpu/job.h"
#include "coda/cpu/threads.h"

namespace coda::cpu {
namespace {

void multiply_few(const Job& job, const Workspace& work, const Tile& tile, const Block& block,
                  bool finish, float* out) {
  job.kernels.pack_a(rows_of_a(job, tile, block), work.left);
  for (int i = 0; i < job.b.accumulators; ++i) {
    job.kernels.multiply_few(rows_of_b(job, tile, block, i), work.left, tile.rows,
                             out + i * job.packed_rows * job.ld, job.ld, !block.first);
  }
  if (finish) job.epilogue(job.program.program, tile_run(job, work, tile, out));
}

void multiply_block(const Job& job, const Workspace& work, const Tile& tile, const Block& block,
                    bool finish, float* out) {
  const Kernels& kernels = job.kernels;
  const int64_t units = (block.depth + kernels.unit - 1) / kernels.unit;
  LeftRows left(kernels, rows_of_a(job, tile, block), work.left);
  for (int i = 0; i < job.b.accumulators; ++i) {
    kernels.pack_b(rows_of_b(job, tile, block, i),
                   work.right + i * job.packed_columns * kBlockUnits);
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
      const uint32_t* b = work.right + i * job.packed_columns * kBlockUnits;
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

// B where it stands, by panels of A; the sums are of columns by rows until the last block.
void multiply_turned(const Job& job, const Workspace& work, const Tile& tile, const Block& block,
                     bool finish, float* out) {
  const Kernels& kernels = job.kernels;
  const int64_t units = (block.depth + kernels.unit - 1) / kernels.unit, ld = job.packed_rows;
  kernels.pack_b(rows_of_a(job, tile, block), work.right);
  const int64_t steps = (tile.rows + kernels.columns - 1) / kernels.columns;
  for (int i = 0; i < job.b.accumulators; ++i) {
    LeftRows left(kernels, rows_of_b(job, tile, block, i), work.left);
    float* const sums = work.turned + i * job.packed_columns * ld;
    for (int64_t column = 0; column < tile.columns; column += kernels.rows) {
      left.prepare(column);
      for (int64_t row = 0; row < tile.rows; row += kernels.columns) {
        left.fetch(column + kernels.rows, row / kernels.columns, steps);
        left.multiply(column, units, work.right + row * units, sums + column * ld + row, ld,
                      !block.first);
      }
    }
  }
  if (!block.last) return;
  TileRun run = tile_run(job, work, tile, out);
  for (int64_t row = 0; row < tile.rows; row += kernels.columns) {
    run.begin = row;
    run.end = std::min(row + kernels.columns, tile.rows);
    for (int64_t column = 0; finish && column < tile.columns; column += kernels.columns)
      job.program.prefetch(job.program.program, run, column, kernels.columns);
    for (int i = 0; i < job.b.accumulators; ++i) {
      kernels.transpose_sums(work.turned + i * job.packed_columns * ld + row, ld, tile.columns,
                             out + (i * job.packed_rows + row) * job.ld, job.ld);
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
      const Block block{part, k, std::min(deep, size - k), index == first, index == last - 1};
      const auto multiply = job.way == Way::kFewRows ? multiply_few
                            : job.way == Way::kPackA ? multiply_turned
                                                     : multiply_block;
      multiply(job, work, tile, block, finish && block.last, out);
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
  job.way = way_of(problem, b, kernels);
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
