// A block takes 64 rows of 256 columns, each warp eight of the rows.
#include "coda/rows/block_columns.cuh"
#include "coda/rows/layer_norm_sums.h"
#include "coda/rows/norm_rows.cuh"

namespace coda::row {
namespace {

template <class T>
struct Sums {
  Lines<const T> dz, z, bias;  // bias, dbias: null data where they are missing
  Lines<const float> shift, offset;
  Lines<float> dbias;
  float *dots, *shifts;
  int64_t dots_ld, shifts_ld, rows, columns, slabs;
};

template <class T>
__global__ void __launch_bounds__(kThreads) sums(const __grid_constant__ Sums<T> p) {
  __shared__ alignas(16) BlockColumns columns;
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t tile = blockIdx.x / p.slabs, slab = blockIdx.x % p.slabs;
  const int lane = static_cast<int>(ptx::lane());
  const int64_t row0 = tile * kPartialWidth + threadIdx.x / 32 * kBlockRows;
  const int64_t column = slab * kWarpColumns + lane * kVector;
  const int count = count_from(column, p.columns);
  float shift[kVector], added[kVector], bias[kVector] = {}, dbias[kVector] = {};
  unpack8(load8(p.shift.data + column, count, p.shift.vectors), shift);
  unpack8(load8(p.offset.data + column, count, p.offset.vectors), added);
  if (p.bias.data != nullptr) {
    unpack8(load8(p.bias.data + column, count, p.bias.vectors), bias);
  }
  CODA_UNROLL
  for (int i = 0; i < kVector; ++i) added[i] += bias[i];
  Pack<T> dz_packs[kBlockRows], z_packs[kBlockRows];
  CODA_UNROLL
  for (int r = 0; r < kBlockRows; ++r) {
    const int there = row0 + r < p.rows ? count : 0;
    dz_packs[r] = load8(p.dz.line(row0 + r) + column, there, p.dz.vectors);
    z_packs[r] = load8(p.z.line(row0 + r) + column, there, p.z.vectors);
  }
  float dots = 0, shifts = 0;  // of eight lanes, which cover 64 columns, the r-th has row r's
  CODA_UNROLL
  for (int r = 0; r < kBlockRows; ++r) {
    float dz[kVector], z[kVector], dot = 0, moved = 0;
    unpack8(dz_packs[r], dz);
    unpack8(z_packs[r], z);
    const bool there = row0 + r < p.rows;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) {
      // Beyond the end dz is 0, which times an infinite offset would be NaN.
      if (!there || i >= count) continue;
      dot += dz[i] * (z[i] - added[i]);
      moved += dz[i] * shift[i];
      dbias[i] += dz[i];
    }
    dot = sum_lanes<8>(dot);
    moved = sum_lanes<8>(moved);
    if (lane % kBlockRows == r) dots = dot, shifts = moved;
  }
  const int64_t part = column / kPartialWidth, row = row0 + lane % kBlockRows;
  if (part * kPartialWidth < p.columns && row < p.rows) {
    p.dots[part * p.dots_ld + row] = dots;
    p.shifts[part * p.shifts_ld + row] = shifts;
  }
  if (p.dbias.data != nullptr) columns.write(p.dbias, tile, slab, p.columns, dbias);
}
static_assert(kBlockRows == 8, "a row for each of eight lanes");

template <class T>
void launch_sums(const LayerNormSumsArguments& a, const ProgramView& program, cudaStream_t stream) {
  const Sums<T> p{lines_of<const T>(a.dz),
                  lines_of<const T>(a.z),
                  lines_of<const T>(a.bias),
                  lines_of<const float>(a.shift),
                  lines_of<const float>(a.offset),
                  lines_of<float>(a.dbias),
                  data_of<float>(a.dots),
                  data_of<float>(a.shifts),
                  a.dots.ld,
                  a.shifts.ld,
                  a.z.rows,
                  a.z.columns,
                  slabs_of(a.z.columns)};
  launch(sums<T>, {blocks_for(program.name, parts_of(p.rows) * p.slabs), stream}, p);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void layer_norm_sums(const row::LayerNormSumsArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  if (arguments.z.empty()) return;
  if (arguments.z.dtype == DType::kBf16) {
    launch_sums<bf16>(arguments, program, stream);
  } else {
    launch_sums<float>(arguments, program, stream);
  }
}

}  // namespace coda::cuda
