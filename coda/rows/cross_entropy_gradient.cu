#include "coda/ptx/number.cuh"
#include "coda/rows/cross_entropy_gradient.h"
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {
namespace {

using Arguments = CrossEntropyGradientArguments<bf16>;

// A block has a multiprocessor for itself, so that L1 holds most of its row between the passes.
constexpr int kLineThreads = 1024;
constexpr int64_t kStep = kLineThreads * kVector;

// Over the block, always in the same order. Every thread gets it.
template <class Reduction>
CODA_DEVICE float block_reduce(float value, float (&shared)[32]) {
  static_assert(kLineThreads == 32 * 32);
  const auto over_warp = [&] {
    CODA_UNROLL
    for (uint32_t mask = 16; mask > 0; mask /= 2) {
      value = Reduction::combine(value, ptx::shuffle_xor(value, mask));
    }
  };
  over_warp();
  __syncthreads();  // what was reduced before has been read
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % 32];
  over_warp();
  return value;
}

// f(z, first): eight logits at a time and where they stand, at the row's end one at a time.
// A thread has kAhead loads on their way. kBackward: the last ones first.
template <int kAhead, bool kBackward, class F>
CODA_DEVICE void for_each_logit(const bf16* line, int64_t columns, F&& f) {
  const int64_t whole = columns / kVector * kVector, steps = (whole + kStep - 1) / kStep;
  for (int64_t step = 0; step < steps; step += kAhead) {
    int64_t first[kAhead];
    Pack<bf16> packs[kAhead];
    CODA_UNROLL
    for (int n = 0; n < kAhead; ++n) {
      const int64_t at = kBackward ? steps - 1 - step - n : step + n;
      first[n] = at * kStep + threadIdx.x * kVector;
      if (at < 0) first[n] = whole;
      if (first[n] < whole) packs[n] = load_pack(line + first[n]);
    }
    CODA_UNROLL
    for (int n = 0; n < kAhead; ++n) {
      if (first[n] >= whole) continue;
      float z[kVector];
      unpack8(packs[n], z);
      f(z, first[n]);
    }
  }
  if (const int64_t last = whole + threadIdx.x; last < columns) {
    const float z[1] = {to_float(line[last])};
    f(z, last);
  }
}

CODA_DEVICE void store_logits(bf16* to, const float (&v)[kVector]) {
  *reinterpret_cast<uint4*>(to) = {ptx::pack<bf16>(v[0], v[1]), ptx::pack<bf16>(v[2], v[3]),
                                   ptx::pack<bf16>(v[4], v[5]), ptx::pack<bf16>(v[6], v[7])};
}
CODA_DEVICE void store_logits(bf16* to, const float (&v)[1]) { *to = from_float<bf16>(v[0]); }

CODA_DEVICE void store_zeros(bf16* line, int64_t columns) {
  const int64_t whole = columns / kVector * kVector;
  for (int64_t first = int64_t{threadIdx.x} * kVector; first < whole; first += kStep) {
    *reinterpret_cast<uint4*>(line + first) = {};
  }
  if (whole + threadIdx.x < columns) line[whole + threadIdx.x] = from_float<bf16>(0);
}

CODA_DEVICE float exp_approximate(float x) { return ptx::exp2_approximate(x * 1.44269504f); }

// Softmax's denominator is summed again, of the logits as they were stored: with the one that the
// forward pass had, a probability near 1 would be off by as much as its logit was rounded.
struct Softmax {
  float top = -stdlib::numeric_limits<float>::max();
  float sum = 0;  // of exp(x - top)
};

template <bool kCapped>
constexpr int kLoadsAhead = kCapped ? 2 : 4;  // as many as there are registers for

template <bool kCapped>
CODA_DEVICE Softmax softmax_of_row(const bf16* line, int64_t columns, float cap, float over_cap,
                                   float (&shared)[32]) {
  Softmax own;
  const auto add = [&]<int kCount>(const float(&z)[kCount], int64_t) {
    float x[kCount], top = own.top;
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) {
      x[i] = kCapped ? cap * tanhf(z[i] * over_cap) : z[i];
      top = Max::combine(top, x[i]);
    }
    own.sum *= exp_approximate(own.top - top);
    own.top = top;
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) own.sum += exp_approximate(x[i] - top);
  };
  for_each_logit<kLoadsAhead<kCapped>, false>(line, columns, add);
  const float top = block_reduce<Max>(own.top, shared);
  own.sum *= exp_approximate(own.top - top);
  return {top, block_reduce<Sum>(own.sum, shared)};
}

// One block per row: two passes over it, the second from its end, which is in L1 still.
template <bool kCapped>
__global__ void __launch_bounds__(kLineThreads)
    gradient_of_rows(const __grid_constant__ Arguments a) {
  __shared__ float shared[32];
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t m = blockIdx.x, columns = a.logits.columns;
  const bf16* const line = a.logits.data + m * a.logits.ld;
  bf16* const out = a.out.data + m * a.out.ld;
  const int64_t label = a.target[m];
  if (label == a.ignore_index) {
    store_zeros(out, columns);
    if (a.dots != nullptr && threadIdx.x == 0) a.dots[m] = 0;
    return;
  }
  float r = 1;
  if (a.rstd.given) {
    const auto& squares = a.rstd.view[0];
    float sum = 0;
    for (int64_t part = threadIdx.x; part < squares.rows; part += kLineThreads) {
      sum += squares.data[part * squares.ld + m];
    }
    r = a.rstd.finish.finish(block_reduce<Sum>(sum, shared));
  }
  const float cap = a.soft_cap, over_cap = kCapped ? 1 / cap : 0;
  const Softmax softmax = softmax_of_row<kCapped>(line, columns, cap, over_cap, shared);
  const float factor = (a.dloss != nullptr ? a.dloss[m] : 1.0f) * *a.scale;
  const float plus = (1 + 2 * a.z_loss * a.lse[m]) / softmax.sum;
  const float elsewhere = a.smoothing / static_cast<float>(columns), on_target = 1 - a.smoothing;
  float dot = 0;
  const auto derive = [&]<int kCount>(const float(&z)[kCount], int64_t first) {
    const int64_t target = label - first;
    float dz[kCount];
    CODA_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const float t = kCapped ? tanhf(z[i] * over_cap) : 0;
      const float x = kCapped ? cap * t : z[i];
      const float p = exp_approximate(x - softmax.top) * plus;
      dz[i] = (p - elsewhere - (i == target ? on_target : 0)) * factor;
      if constexpr (kCapped) dz[i] *= 1 - t * t;
      dot += z[i] * dz[i];
      dz[i] *= r;
    }
    store_logits(out + first, dz);
  };
  for_each_logit<kLoadsAhead<kCapped>, true>(line, columns, derive);
  if (a.dots == nullptr) return;
  dot = block_reduce<Sum>(dot, shared);
  if (threadIdx.x == 0) a.dots[m] = dot;
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void cross_entropy_gradient(const row::CrossEntropyGradientArguments<bf16>& a,
                            cudaStream_t stream) {
  const unsigned blocks = row::blocks_for("linear_cross_entropy_backward", a.logits.rows);
  row::launch(a.soft_cap > 0 ? row::gradient_of_rows<true> : row::gradient_of_rows<false>,
              {blocks, stream, row::kLineThreads}, a);
}

}  // namespace coda::cuda
