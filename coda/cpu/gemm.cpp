// The GEMM loop: output tiles over threads; per tile, panels of both operands block by block along
// the contraction, multiplied into a tile of fp32 accumulators, then the program's epilogue on it.
// A value's additions are ordered by the contraction blocks alone, so tile shape and thread count
// do not change it.
#include <algorithm>
#include <memory>
#include <vector>

#include "coda/core/error.h"
#include "coda/cpu/kernels.h"
#include "coda/cpu/run.h"
#include "coda/cpu/schedule.h"
#include "coda/cpu/threads.h"
#include "coda/cpu/touch.h"
#include "coda/cpu/workspace.h"

namespace coda::cpu {
namespace {

constexpr int64_t kPackedRows = 64;  // of A at a time: whole panels and vectors of every kernel

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

struct Job {
  const Problem& problem;
  const OperandView &a, &b;
  const ProgramRun& program;
  const Kernels& kernels;
  EpilogueFunction epilogue;
  Schedule schedule;
  int64_t packed_rows, packed_columns;  // of a tile, rounded up for packing
  int64_t ld;                           // of an accumulator tile
  int64_t tile_floats;                  // of all its accumulators
};

struct Workspace {
  uint32_t *a, *b;
  float *accumulator, *scratch;
};

Workspace make_workspace(const Job& job) {
  const int64_t depth = kBlockUnits;
  const int64_t sizes[] = {round_up(kPackedRows * depth, 16),
                           round_up(job.b.accumulators * job.packed_columns * depth, 16),
                           round_up(job.tile_floats, 16),
                           job.program.scratch_per_row * job.schedule.tile_rows +
                               job.program.scratch_per_column * job.ld};
  auto* memory = static_cast<uint32_t*>(
      thread_workspace(static_cast<size_t>(sizes[0] + sizes[1] + sizes[2] + sizes[3]) * 4));
  return {memory, memory + sizes[0], reinterpret_cast<float*>(memory + sizes[0] + sizes[1]),
          reinterpret_cast<float*>(memory + sizes[0] + sizes[1] + sizes[2])};
}

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

// Rows of A for one block of the contraction. Those that are contiguous along it are read where
// they stand; what is left over of a panel, and every other layout, is packed, few rows at a time:
// beside the panels of B they stay in the second-level cache.
class LeftRows {
 public:
  LeftRows(const Job& job, const Workspace& work, const PackJob& source)
      : kernels_(job.kernels), source_(source), packed_(work.a) {
    const TensorView& tensor = source.source;
    if (kernels_.multiply_lines != nullptr && tensor.major == Major::kRow &&
        source.depth % kernels_.unit == 0) {
      in_place_ = source.rows / kernels_.rows * kernels_.rows;
      pitch_ = tensor.ld * tensor.element_bytes;
      first_ = static_cast<const char*>(tensor.data) + source.row * pitch_ +
               source.k * tensor.element_bytes;
    }
  }

  // Before a panel's multiplications; rows ascend.
  void prepare(int64_t row) {
    if (row < in_place_ || row < packed_end_) return;
    packed_begin_ = row;
    packed_end_ = std::min(row + kPackedRows, source_.rows);
    PackJob some = source_;
    some.row += row;
    some.rows = packed_end_ - row;
    kernels_.pack_a(some, packed_);
  }

  // Ahead of a panel that is read where it stands: share `part` of `parts` of its lines to the
  // second-level cache, so that its multiplications do not wait for memory.
  void fetch(int64_t row, int64_t part, int64_t parts) const {
    if (row >= in_place_) return;
    constexpr int64_t kLine = 64;
    const int64_t lines = source_.depth * source_.source.element_bytes / kLine;
    for (int r = 0; r < kernels_.rows; ++r) {
      const char* line = first_ + (row + r) * pitch_;
      if (part == 0) touch(line);
      for (int64_t i = lines * part / parts; i < lines * (part + 1) / parts; ++i)
        __builtin_prefetch(line + i * kLine, 0, 2);
    }
  }

  void multiply(int64_t row, int64_t units, const uint32_t* b, float* c, int64_t ldc,
                bool accumulate) const {
    if (row < in_place_) {
      kernels_.multiply_lines(units, first_ + row * pitch_, pitch_, b, c, ldc, accumulate);
    } else {
      kernels_.multiply(units, packed_ + (row - packed_begin_) * units, 0, b, c, ldc, accumulate);
    }
  }

 private:
  const Kernels& kernels_;
  const PackJob source_;
  uint32_t* const packed_;
  int64_t packed_begin_ = 0, packed_end_ = 0;
  const char* first_ = nullptr;
  int64_t pitch_ = 0, in_place_ = 0;  // bytes from row to row; how many rows
};

struct Block {  // of the contraction, at most kBlockUnits units deep
  int part;     // segment of both operands
  int64_t k, depth;
  bool first;  // of what is contracted here
};

void multiply_block(const Job& job, const Workspace& work, const Tile& tile, const Block& block,
                    bool finish, float* out) {
  const Kernels& kernels = job.kernels;
  const int64_t units = (block.depth + kernels.unit - 1) / kernels.unit;
  const int a_segment = job.a.cut == Cut::kRows ? tile.row_segment : block.part;
  const int b_segment = job.b.cut == Cut::kRows ? tile.column_segment : block.part;
  LeftRows left(job, work,
                {job.a.part[0][a_segment], tile.row, tile.rows, block.k, block.depth, 0, 0});
  for (int i = 0; i < job.b.accumulators; ++i) {
    const int64_t half = job.b.head_dim / 2;
    kernels.pack_b(
        {job.b.part[i][b_segment], tile.column, tile.columns, block.k, block.depth, half, i * half},
        work.b + i * job.packed_columns * kBlockUnits);
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
      multiply_block(job, work, tile, {part, k, std::min(deep, size - k), index == first},
                     finish && index == last - 1, out);
    }
  }
  if (first < last) return;
  std::fill_n(out, job.tile_floats, 0.0f);  // nothing to contract
  if (finish) job.epilogue(job.program.program, tile_run(job, work, tile, out));
}

void run_tiles(const Job& job, int threads) {
  const int64_t tiles = job.schedule.tile_count();
#pragma omp parallel num_threads(threads)
  {
    const Workspace work = make_workspace(job);
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
#pragma omp parallel num_threads(threads)
  {
    const Workspace work = make_workspace(job);
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

void execute(const Problem& problem, const OperandView& a, const OperandView& b,
             const ProgramRun& program, const Options& options) {
  const Isa isa = options.isa.value_or(default_isa());
  if (!has_isa(isa)) {
    fail_argument("cpu::run", "isa", "an instruction set that is available here", isa_name(isa));
  }
  const int threads = thread_count("cpu::run", options.threads);
  if (problem.M() == 0 || problem.N() == 0) return;
  const Kernels& kernels = kernels_for(isa, a.part[0][0].dtype);
  Job job{problem, a, b, program, kernels, program.epilogue[static_cast<int>(isa)], {}, 0, 0, 0, 0};
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
