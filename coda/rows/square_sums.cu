#include "coda/rows/square_sums.h"
#include "coda/rows/wide_sum.cuh"

namespace coda::row {
namespace {

struct SquareSums {
  Lines<const float> x;
  float* sums;
  int64_t rows, columns;
};

// kShare warps have a row.
template <int kShare>
__global__ void __launch_bounds__(kThreads) sum_squares(const __grid_constant__ SquareSums p) {
  constexpr int kLanes = 32 * kShare;
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t row = int64_t{blockIdx.x} * (kThreads / kLanes) + threadIdx.x / kLanes;
  const int thread = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t columns = row < p.rows ? p.columns : 0;
  const double sum = sum_quads(p.x.line(row < p.rows ? row : 0), columns, thread, kLanes,
                               p.x.vectors, [](double v) { return v * v; });
  const double total = sum_warps<kShare>(sum);
  if (thread == 0 && row < p.rows) p.sums[row] = static_cast<float>(total);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void square_sums(const row::SquareSumsArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  const TensorView& x = arguments.x;
  if (x.rows == 0) return;
  const SquareSums p{lines_of<const float>(x), data_of<float>(arguments.sums), x.rows, x.columns};
  // Few long rows: a block has one, so that more of the GPU is busy.
  constexpr int64_t kManyRows = 4096, kLong = 1024;
  const auto blocks = [&](int64_t rows) {
    return blocks_for(program.name, (p.rows + rows - 1) / rows);
  };
  if (p.rows < kManyRows && p.columns >= kLong) {
    launch(sum_squares<kWarps>, {blocks(1), stream}, p);
  } else {
    launch(sum_squares<1>, {blocks(kWarps), stream}, p);
  }
}

}  // namespace coda::cuda
