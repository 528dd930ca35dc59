#include "coda/rows/cross_entropy_loss.h"
#include "coda/rows/cross_entropy_row.h"
#include "coda/rows/launch.cuh"

namespace coda::row {
namespace {

using Sums = CrossEntropySums;
using State = Sums::State<float>;

constexpr int kRows = 32, kShares = 16;  // of a block: rows, and warps that share their partials
constexpr int kAhead = 4;                // loads in flight

CODA_DEVICE State load_state(const State* from) {
  const float4 v = *reinterpret_cast<const float4*>(from);
  return {v.x, v.y, v.z, v.w};
}

__global__ void __launch_bounds__(kRows* kShares)
    loss_of_rows(const __grid_constant__ CrossEntropyLossArguments a) {
  __shared__ State shares[kShares][kRows];
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int lane = static_cast<int>(threadIdx.x) % kRows;
  const int share = static_cast<int>(threadIdx.x) / kRows;
  const int64_t m = int64_t{blockIdx.x} * kRows + lane;
  State state = Sums::identity<float>();
  if (m < a.sums.columns) {
    const State* from = a.sums.data + m;
    int64_t part = share;
    for (; part + (kAhead - 1) * kShares < a.sums.rows; part += kAhead * kShares) {
      State more[kAhead];
      CODA_UNROLL
      for (int i = 0; i < kAhead; ++i)
        more[i] = load_state(from + (part + i * kShares) * a.sums.ld);
      state = Sums::combine_all(state, more);
    }
    for (; part < a.sums.rows; part += kShares) {
      state = Sums::combine(state, load_state(from + part * a.sums.ld));
    }
  }
  shares[share][lane] = state;
  __syncthreads();
  if (share > 0 || m >= a.sums.columns) return;
  for (int i = 1; i < kShares; ++i) state = Sums::combine(state, shares[i][lane]);
  const int64_t label = a.target[m];
  const RowLoss result =
      row_loss(state, label, a.vocabulary, a.ignore_index, a.z_loss, a.smoothing);
  a.lse[m] = result.lse;
  a.loss[m] = result.loss;
  const bool bad = label != a.ignore_index && (label < 0 || label >= a.vocabulary);
  if (bad && a.error != nullptr) *a.error = 1;
}

constexpr int kTotalThreads = 1024;

__global__ void __launch_bounds__(kTotalThreads)
    total_of_rows(const __grid_constant__ CrossEntropyTotalArguments a) {
  __shared__ double sums[kTotalThreads];
  __shared__ int64_t counts[kTotalThreads];
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int thread = static_cast<int>(threadIdx.x);
  double sum = 0;
  int64_t count = 0;
  for (int64_t m = thread; m < a.rows; m += kTotalThreads) {
    count += a.target[m] != a.ignore_index ? 1 : 0;
    if (a.total != nullptr) sum += a.loss[m];
  }
  sums[thread] = sum;
  counts[thread] = count;
  for (int distance = kTotalThreads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (thread < distance) {
      sums[thread] += sums[thread + distance];
      counts[thread] += counts[thread + distance];
    }
  }
  if (thread > 0) return;
  const float factor = a.mean ? mean_factor(counts[0]) : 1.0f;
  if (a.total != nullptr) {
    *a.total = a.mean ? mean_loss(sums[0], counts[0]) : static_cast<float>(sums[0]);
  }
  if (a.scale != nullptr) *a.scale = (a.dloss != nullptr ? *a.dloss : 1.0f) * factor;
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void cross_entropy_loss(const row::CrossEntropyLossArguments& a, cudaStream_t stream) {
  if (reinterpret_cast<uintptr_t>(a.sums.data) % sizeof(row::State) != 0) {
    fail_argument("linear_cross_entropy", "sums", "data aligned to 16 bytes on the GPU", "other");
  }
  const int64_t blocks = (a.sums.columns + row::kRows - 1) / row::kRows;
  row::launch(row::loss_of_rows,
              {row::blocks_for("linear_cross_entropy", blocks), stream, row::kRows * row::kShares},
              a);
}

void cross_entropy_total(const row::CrossEntropyTotalArguments& a, cudaStream_t stream) {
  row::launch(row::total_of_rows, {1, stream, row::kTotalThreads}, a);
}

}  // namespace coda::cuda
