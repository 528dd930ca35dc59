#include "coda/rows/finish_columns.h"
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {
namespace {

template <class T>
struct Finish {
  Lines<const float> partials;
  T* out;
  int64_t parts, columns;
  bool accumulate;
};

// A block adds up 4·kLanes columns. Its threads share the parts: slice s of kThreads / kLanes takes
// the s-th run of them, and the slices are then added from the first to the last.
template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads) finish(const __grid_constant__ Finish<T> p) {
  constexpr int kSlices = kThreads / kLanes, kColumns = 4 * kLanes;
  __shared__ float sums[kSlices][kColumns];
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int lane = threadIdx.x % kLanes, slice = threadIdx.x / kLanes;
  const int64_t column = int64_t{blockIdx.x} * kColumns + 4 * lane;
  const int count = count_from(column, p.columns);
  const int64_t run = (p.parts + kSlices - 1) / kSlices;
  const int64_t begin = slice * run, end = begin + run < p.parts ? begin + run : p.parts;
  float sum[4] = {};
  if (p.partials.vectors && count >= 4) {
#pragma unroll 8
    for (int64_t part = begin; part < end; ++part) {
      const auto v = *reinterpret_cast<const float4*>(p.partials.line(part) + column);
      sum[0] += v.x, sum[1] += v.y, sum[2] += v.z, sum[3] += v.w;
    }
  } else {
    for (int64_t part = begin; part < end; ++part) {
      const float* const from = p.partials.line(part) + column;
      CODA_UNROLL
      for (int i = 0; i < 4; ++i) sum[i] += i < count ? from[i] : 0.0f;
    }
  }
  CODA_UNROLL
  for (int i = 0; i < 4; ++i) sums[slice][4 * lane + i] = sum[i];
  __syncthreads();
  const int64_t mine = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  if (threadIdx.x >= kColumns || mine >= p.columns) return;
  float total = 0;
#pragma unroll 8
  for (int s = 0; s < kSlices; ++s) total += sums[s][threadIdx.x];
  if (p.accumulate) total += to_float(p.out[mine]);
  p.out[mine] = from_float<T>(total);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void finish_columns(const row::FinishColumnsArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  const TensorView &partials = arguments.partials, &out = arguments.out;
  if (out.empty()) return;
  with_element(out.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, fp16>) {
      const Finish<T> p{lines_of<const float>(partials), data_of<T>(out), partials.rows,
                        partials.columns, arguments.accumulate};
      // Few columns: fewer to a block, so that more blocks share the work.
      constexpr int64_t kManyColumns = 4096;
      const auto blocks = [&](int64_t columns) {
        return blocks_for(program.name, (p.columns + columns - 1) / columns);
      };
      if (p.columns >= kManyColumns) {
        launch(finish<T, 8>, {blocks(32), stream}, p);
      } else {
        launch(finish<T, 2>, {blocks(8), stream}, p);
      }
    }
  });
}

}  // namespace coda::cuda
