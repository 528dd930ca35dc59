#include "coda/rows/fold_norm_weight.h"
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {
namespace {

constexpr int kRows = 8;  // of a warp: so many loads in flight

template <class T>
struct Fold {
  Lines<const T> weight, gamma;
  Lines<T> out;
  int64_t rows, columns;
  int64_t slabs;  // of 256 columns: a warp's
};

template <class T>
__global__ void __launch_bounds__(kThreads) fold(const __grid_constant__ Fold<T> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t row0 = warp / p.slabs * kRows;
  const int64_t column = warp % p.slabs * kWarpColumns + ptx::lane() * kVector;
  const int count = count_from(column, p.columns);
  if (row0 >= p.rows || count == 0) return;
  const int rows = static_cast<int>(p.rows - row0 < kRows ? p.rows - row0 : kRows);

  Pack<T> w[kRows];
  const T* const from = p.weight.line(row0) + column;
  if (p.weight.vectors && count == kVector) {
    CODA_UNROLL
    for (int r = 0; r < kRows; ++r) w[r] = load_pack(from + (r < rows ? r : 0) * p.weight.ld);
  } else {
    CODA_UNROLL
    for (int r = 0; r < kRows; ++r) {
      w[r] = load_elements(from + (r < rows ? r : 0) * p.weight.ld, count);
    }
  }
  float gamma[kVector];
  unpack8(load8(p.gamma.data + column, count, p.gamma.vectors), gamma);
  CODA_UNROLL
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) continue;
    float v[kVector];
    unpack8(w[r], v);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) v[i] *= gamma[i];
    store8(p.out.line(row0 + r) + column, count, p.out.vectors, v);
  }
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void fold_norm_weight(const row::FoldNormWeightArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  const auto& [weight, gamma, out] = arguments;
  if (weight.empty()) return;
  with_element(weight.dtype, [&]<class T>() {
    Fold<T> p;
    p.weight = lines_of<const T>(weight);
    p.gamma = lines_of<const T>(gamma);
    p.out = lines_of<T>(out);
    p.rows = weight.rows;
    p.columns = weight.columns;
    p.slabs = (p.columns + kWarpColumns - 1) / kWarpColumns;
    const int64_t warps = (p.rows + kRows - 1) / kRows * p.slabs;
    launch(fold<T>, {blocks_for(program.name, (warps + kWarps - 1) / kWarps), stream}, p);
  });
}

}  // namespace coda::cuda
