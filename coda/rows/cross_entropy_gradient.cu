#include "coda/ptx/number.cuh"
#include "coda/rows/cross_entropy_gradient.h"
#include "coda/rows/launch.cuh"

namespace coda::row {
namespace {

using Arguments = CrossEntropyGradientArguments<bf16>;

constexpr int kLineThreads = 512, kLineWarps = kLineThreads / 32;
constexpr int kVector = 8;  // elements of 16 bytes

// Over the block, always in the same order. Every thread gets it.
template <class Reduction>
CODA_DEVICE float block_reduce(float value, float (&shared)[kLineWarps]) {
  CODA_UNROLL
  for (uint32_t mask = 16; mask > 0; mask /= 2) {
    value = Reduction::combine(value, ptx::shuffle_xor(value, mask));
  }
  __syncthreads();  // what was reduced before has been read
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  CODA_UNROLL
  for (int i = 1; i < kLineWarps; ++i) value = Reduction::combine(value, shared[i]);
  return value;
}

// f(z, first): eight logits at a time, those beyond the last as zeros, and where they stand.
template <class F>
CODA_DEVICE void for_each_vector(const bf16* line, int64_t columns, F&& f) {
  for (int64_t first = int64_t{threadIdx.x} * kVector; first < columns;
       first += kLineThreads * kVector) {
    float z[kVector];
    if (first + kVector <= columns) {
      const uint4 words = *reinterpret_cast<const uint4*>(line + first);
      ptx::unpack<bf16>(words.x, z[0], z[1]);
      ptx::unpack<bf16>(words.y, z[2], z[3]);
      ptx::unpack<bf16>(words.z, z[4], z[5]);
      ptx::unpack<bf16>(words.w, z[6], z[7]);
    } else {
      CODA_UNROLL
      for (int i = 0; i < kVector; ++i) z[i] = first + i < columns ? to_float(line[first + i]) : 0;
    }
    f(z, first);
  }
}

CODA_DEVICE void store_vector(bf16* line, int64_t first, int64_t columns,
                              const float (&v)[kVector]) {
  if (first + kVector <= columns) {
    *reinterpret_cast<uint4*>(line + first) = {
        ptx::pack<bf16>(v[0], v[1]), ptx::pack<bf16>(v[2], v[3]), ptx::pack<bf16>(v[4], v[5]),
        ptx::pack<bf16>(v[6], v[7])};
  } else {
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) {
      if (first + i < columns) line[first + i] = from_float<bf16>(v[i]);
    }
  }
}

CODA_DEVICE float exp_approximate(float x) { return ptx::exp2_approximate(x * 1.44269504f); }

// One block per row: two passes over it, of which the second reads what the first left in the
// caches.
template <bool kCapped>
__global__ void __launch_bounds__(kLineThreads)
    gradient_of_rows(const __grid_constant__ Arguments a) {
  __shared__ float shared[kLineWarps];
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t m = blockIdx.x, columns = a.logits.columns;
  const bf16* const line = a.logits.data + m * a.logits.ld;
  bf16* const out = a.out.data + m * a.out.ld;
  const int64_t label = a.target[m];
  if (label == a.ignore_index) {
    constexpr float kZeros[kVector] = {};
    for (int64_t first = int64_t{threadIdx.x} * kVector; first < columns;
         first += kLineThreads * kVector) {
      store_vector(out, first, columns, kZeros);
    }
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
  const float lse = a.lse[m], cap = a.soft_cap, over_cap = kCapped ? 1 / cap : 0;
  constexpr float kLow = -stdlib::numeric_limits<float>::max();
  float own_top = kLow, sum = 0;
  for_each_vector(line, columns, [&](const float(&z)[kVector], int64_t first) {
    float x[kVector], more = own_top;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) {
      x[i] = first + i >= columns ? kLow : kCapped ? cap * tanhf(z[i] * over_cap) : z[i];
      more = Max::combine(more, x[i]);
    }
    sum *= exp_approximate(own_top - more);
    own_top = more;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) sum += exp_approximate(x[i] - own_top);
  });
  const float top = block_reduce<Max>(own_top, shared);
  sum = block_reduce<Sum>(sum * exp_approximate(own_top - top), shared);
  const float plus = (1 + 2 * a.z_loss * lse) / sum;
  const float factor = (a.dloss != nullptr ? a.dloss[m] : 1.0f) * *a.scale;
  const float elsewhere = a.smoothing / static_cast<float>(columns);
  float dot = 0;
  for_each_vector(line, columns, [&](const float(&z)[kVector], int64_t first) {
    float dz[kVector];
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) {
      const float t = kCapped ? tanhf(z[i] * over_cap) : 0;
      const float on_target = first + i == label ? 1 - a.smoothing : 0;
      const float p = exp_approximate((kCapped ? cap * t : z[i]) - top) * plus;
      dz[i] = (p - elsewhere - on_target) * (kCapped ? (1 - t * t) * factor : factor);
      if (first + i < columns) dot += z[i] * dz[i];
      dz[i] *= r;
    }
    store_vector(out, first, columns, dz);
  });
  if (a.dots == nullptr) return;
  dot = block_reduce<Sum>(dot, shared);
  if (threadIdx.x == 0) a.dots[m] = dot;
}

void check_lines(const char* name, const Matrix<const bf16>& view) {
  if (reinterpret_cast<uintptr_t>(view.data) % 16 == 0 && (view.rows <= 1 || view.ld % 8 == 0)) {
    return;
  }
  fail_argument("linear_cross_entropy_backward", name,
                "lines that begin at multiples of 16 bytes on the GPU", "others");
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void cross_entropy_gradient(const row::CrossEntropyGradientArguments<bf16>& a,
                            cudaStream_t stream) {
  row::check_lines("logits", a.logits);
  row::check_lines("dz", a.out);
  const unsigned blocks = row::blocks_for("linear_cross_entropy_backward", a.logits.rows);
  row::launch(a.soft_cap > 0 ? row::gradient_of_rows<true> : row::gradient_of_rows<false>,
              {blocks, stream, row::kLineThreads}, a);
}

}  // namespace coda::cuda
