#include "coda/rows/launch.cuh"
#include "coda/rows/scale_gradient.h"
#include "coda/rows/vector.cuh"

namespace coda::row {
namespace {

constexpr int kRows = 4;  // of a warp: so many loads in flight, of one or two words

template <class From, class To>
struct Scale {
  Lines<const From> gradient;
  const float* factor;
  Lines<To> out;
  int64_t rows, columns;
  int64_t slabs;  // of 256 columns: a warp's
};

template <class From, class To>
__global__ void __launch_bounds__(kThreads) scale(const __grid_constant__ Scale<From, To> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t row0 = warp / p.slabs * kRows;
  const int64_t column = warp % p.slabs * kWarpColumns + ptx::lane() * kVector;
  const int count = count_from(column, p.columns);
  if (row0 >= p.rows || count == 0) return;
  const int rows = static_cast<int>(p.rows - row0 < kRows ? p.rows - row0 : kRows);
  const float factor = *p.factor;

  Pack<From> packs[kRows];
  const From* const from = p.gradient.line(row0) + column;
  CODA_UNROLL
  for (int r = 0; r < kRows; ++r) {
    packs[r] = load8(from + (r < rows ? r : 0) * p.gradient.ld, count, p.gradient.vectors);
  }
  CODA_UNROLL
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) continue;
    float v[kVector];
    unpack8(packs[r], v);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) v[i] *= factor;
    store8(p.out.line(row0 + r) + column, count, p.out.vectors, v);
  }
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void scale_gradient(const row::ScaleGradientArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  const auto& [gradient, factor, out] = arguments;
  if (gradient.empty()) return;
  with_types_of(arguments, [&]<class From, class To>() {
    Scale<From, To> p;
    p.gradient = lines_of<const From>(gradient);
    p.factor = data_of<const float>(factor);
    p.out = lines_of<To>(out);
    p.rows = gradient.rows;
    p.columns = gradient.columns;
    p.slabs = (p.columns + kWarpColumns - 1) / kWarpColumns;
    const int64_t warps = (p.rows + kRows - 1) / kRows * p.slabs;
    launch(scale<From, To>, {blocks_for(program.name, (warps + kWarps - 1) / kWarps), stream}, p);
  });
}

}  // namespace coda::cuda
