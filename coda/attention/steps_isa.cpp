// Compiled once per instruction set.
#include <cstring>

#include "coda/attention/steps.h"
#include "coda/cpu/simd.h"

namespace coda::attention {
namespace {

namespace simd = cpu::simd;
namespace hn = simd::hn;
using simd::FloatVector;
constexpr int64_t kLanes = simd::kLanes;

HWY_INLINE FloatVector zero() { return hn::Zero(simd::FloatTag()); }
HWY_INLINE FloatVector set(float value) { return hn::Set(simd::FloatTag(), value); }

// e^x for x from -∞ to about 88 (below 2^-125: zero; beyond 88: e^88), NaN for NaN; half the
// instructions of simd::exp, which takes everything. x = n·ln 2 + r, e^r = 1 + r + r²·P(r) by least
// squares reweighted towards the largest error, 2^-27; n is added to the exponent.
HWY_INLINE FloatVector exponential(FloatVector x) {
  const simd::FloatTag d;
  const simd::BitsTag bits;
  const auto least = hn::Set(d, -86.6f);
  const FloatVector shift = set(0x1.8p23f);  // rounds to an integer, in the lowest bits
  const FloatVector clamped = hn::Max(least, hn::Min(set(88.0f), x));
  const FloatVector shifted = hn::MulAdd(clamped, set(1.442695041f), shift);
  const FloatVector n = hn::Sub(shifted, shift);
  FloatVector r = hn::NegMulAdd(n, set(0x1.62e4p-1f), clamped);  // n times it is exact
  r = hn::NegMulAdd(n, set(0x1.7f7d1cp-20f), r);
  FloatVector y = set(1.381446724e-03f);
  y = hn::MulAdd(y, r, set(8.368780836e-03f));
  y = hn::MulAdd(y, r, set(4.166839272e-02f));
  y = hn::MulAdd(y, r, set(1.666651964e-01f));
  y = hn::MulAdd(y, r, set(4.999999404e-01f));
  y = hn::Add(hn::MulAdd(hn::Mul(r, r), y, r), set(1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, shifted));
  y = hn::BitCast(d, hn::Add(hn::BitCast(bits, y), exponent));
  y = hn::IfThenZeroElse(hn::Lt(x, least), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
HWY_INLINE float exponential_of(float x) { return hn::GetLane(exponential(set(x))); }

// Fewer than a vector's elements; the others read as zero.
template <class T>
HWY_INLINE FloatVector load_first(const T* from, int64_t count) {
  T buffer[kLanes] = {};
  std::memcpy(buffer, from, sizeof(T) * static_cast<size_t>(count));
  return simd::load(buffer);
}
template <class T>
HWY_INLINE void store_first(FloatVector v, T* to, int64_t count) {
  T buffer[kLanes];
  simd::store(v, buffer);
  std::memcpy(to, buffer, sizeof(T) * static_cast<size_t>(count));
}

HWY_INLINE float max_of(const float* s, int64_t count, float scale, float at_least) {
  const FloatVector factor = set(scale);
  FloatVector most = set(at_least), other = most;
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    most = hn::Max(most, hn::Mul(simd::load(s + i), factor));
    other = hn::Max(other, hn::Mul(simd::load(s + i + kLanes), factor));
  }
  for (; i + kLanes <= count; i += kLanes) {
    most = hn::Max(most, hn::Mul(simd::load(s + i), factor));
  }
  if (i < count) {
    const auto valid = hn::FirstN(simd::FloatTag(), static_cast<size_t>(count - i));
    other = hn::Max(other, hn::IfThenElse(valid, hn::Mul(simd::load(s + i), factor), other));
  }
  return hn::GetLane(hn::MaxOfLanes(simd::FloatTag(), hn::Max(most, other)));
}

// The product with the scale is rounded before the maximum is taken off, as it is in backward():
// there exp(s - lse) of a lone large score is exactly 1.
template <class Block>
HWY_INLINE float exponentials(const float* s, int64_t count, int64_t width, float scale, float max,
                              Block* to) {
  const FloatVector factor = set(scale), shift = set(max);
  FloatVector sum = zero();
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const FloatVector p = exponential(hn::Sub(hn::Mul(simd::load(s + i), factor), shift));
    sum = hn::Add(sum, p);
    simd::store(p, to + i);
  }
  for (; i < width; i += kLanes) {
    const auto valid = hn::FirstN(simd::FloatTag(), static_cast<size_t>(count > i ? count - i : 0));
    const FloatVector p =
        hn::IfThenElseZero(valid, exponential(hn::Sub(hn::Mul(simd::load(s + i), factor), shift)));
    sum = hn::Add(sum, p);
    simd::store(p, to + i);
  }
  return hn::GetLane(hn::SumOfLanes(simd::FloatTag(), sum));
}

template <class Block>
void softmax(const SoftmaxRows& job) {
  for (int64_t row = 0; row < job.rows; ++row) {
    const float* const s = job.scores + row * job.scores_ld;
    const int64_t sees = job.first_valid + row, count = sees < job.keys ? sees : job.keys;
    const float before = job.max[row], max = max_of(s, count, job.scale, before);
    const float sum =
        exponentials(s, count, job.keys, job.scale, max,
                     static_cast<Block*>(job.probabilities) + row * job.probabilities_ld);
    job.max[row] = max;
    if (job.y == nullptr) {
      job.sum[row] = sum;
      continue;
    }
    const float rescale = exponential_of(before - max);
    job.sum[row] = job.sum[row] * rescale + sum;
    if (rescale == 1) continue;
    float* const y = job.y + row * job.y_columns;
    for (int64_t i = 0; i < job.y_columns; i += kLanes) {
      simd::store(hn::Mul(simd::load(y + i), set(rescale)), y + i);
    }
  }
}

// Zero where queries from i on do not see the key of a row.
HWY_INLINE FloatVector hide(const GradientRows& job, int64_t row, int64_t i, FloatVector v) {
  const int64_t hidden = job.first_valid + row - i;
  if (hidden <= 0) return v;
  return hn::IfThenZeroElse(hn::FirstN(simd::FloatTag(), static_cast<size_t>(hidden)), v);
}

HWY_INLINE FloatVector probability(const GradientRows& job, int64_t row, int64_t i) {
  const FloatVector s = hn::Mul(simd::load(job.scores + row * job.scores_ld + i), set(job.scale));
  return hide(job, row, i, exponential(hn::Sub(s, simd::load(job.lse + i))));
}

template <class Block>
void gradient(const GradientRows& job) {
  for (int64_t row = 0; row < job.rows; ++row) {
    Block* const p_out = static_cast<Block*>(job.p) + row * job.blocks_ld;
    Block* const ds_out = static_cast<Block*>(job.ds) + row * job.blocks_ld;
    for (int64_t i = job.begin; i < job.end; i += kLanes) {
      const FloatVector p = probability(job, row, i);
      const FloatVector dp = simd::load(job.dp + row * job.scores_ld + i);
      const FloatVector ds = hn::Mul(p, hn::Sub(dp, simd::load(job.delta + i)));
      simd::store(p, p_out + i);
      simd::store(hide(job, row, i, ds), ds_out + i);
    }
  }
}

void weigh(const GradientRows& job, float* weights, float* products) {
  for (int64_t i = job.begin; i < job.end; i += kLanes) {
    FloatVector weight = simd::load(weights + i), product = simd::load(products + i);
    for (int64_t row = 0; row < job.rows; ++row) {
      const FloatVector p = probability(job, row, i);
      const FloatVector dp = simd::load(job.dp + row * job.scores_ld + i);
      weight = hn::Add(weight, p);
      product = hn::Add(product, hide(job, row, i, hn::Mul(p, dp)));
    }
    simd::store(weight, weights + i);
    simd::store(product, products + i);
  }
}

// out(row, i) = value(row, sums(row, i))
template <class T, class Value>
HWY_INLINE void store_values(const float* sums, int64_t sums_ld, const TensorView& out,
                             Value&& value) {
  for (int64_t row = 0; row < out.rows; ++row) {
    T* const to = static_cast<T*>(const_cast<void*>(out.data)) + row * out.ld;
    const float* const from = sums + row * sums_ld;
    int64_t i = 0;
    for (; i + kLanes <= out.columns; i += kLanes) {
      simd::store(value(row, simd::load(from + i)), to + i);
    }
    if (const int64_t left = out.columns - i; left > 0) {
      store_first(value(row, load_first(from + i, left)), to + i, left);
    }
  }
}

template <class T>
void store_product(const float* sums, int64_t sums_ld, float factor, const TensorView& out) {
  store_values<T>(sums, sums_ld, out,
                  [&](int64_t, FloatVector v) { return hn::Mul(v, set(factor)); });
}

template <class T>
void store_quotient(const float* sums, int64_t sums_ld, const float* divisors,
                    const TensorView& out) {
  store_values<T>(sums, sums_ld, out,
                  [&](int64_t row, FloatVector v) { return hn::Div(v, set(divisors[row])); });
}

template <class T, class Block>
void copy(const TensorView& from, void* to) {
  for (int64_t row = 0; row < from.rows; ++row) {
    const T* const line = static_cast<const T*>(from.data) + row * from.ld;
    Block* const out = static_cast<Block*>(to) + row * from.columns;
    int64_t i = 0;
    for (; i + kLanes <= from.columns; i += kLanes) simd::store(simd::load(line + i), out + i);
    if (i < from.columns) {
      store_first(load_first(line + i, from.columns - i), out + i, from.columns - i);
    }
  }
}

template <class Block>
void panel_dots(const uint32_t* a, const uint32_t* b, int64_t units, int64_t columns, float* sums) {
  const simd::FloatTag d;
  const simd::BitsTag bits;
  for (int64_t column = 0; column < columns; column += kLanes) {
    FloatVector sum = zero();
    for (int64_t unit = 0; unit < units; ++unit) {
      const auto x = hn::LoadU(bits, a + unit * columns + column);
      const auto y = hn::LoadU(bits, b + unit * columns + column);
      if constexpr (std::is_same_v<Block, bf16>) {  // the later of the pair comes first
        const auto upper = hn::Set(bits, 0xffff0000u);
        sum = hn::MulAdd(hn::BitCast(d, hn::And(x, upper)), hn::BitCast(d, hn::And(y, upper)), sum);
        sum = hn::MulAdd(hn::BitCast(d, hn::ShiftLeft<16>(x)), hn::BitCast(d, hn::ShiftLeft<16>(y)),
                         sum);
      } else {
        sum = hn::MulAdd(hn::BitCast(d, x), hn::BitCast(d, y), sum);
      }
    }
    simd::store(sum, sums + column);
  }
}

template <class T, class Block>
constexpr Steps make() {
  return {&softmax<Block>, &gradient<Block>,  &weigh, &store_product<T>, &store_quotient<T>,
          &copy<T, Block>, &panel_dots<Block>};
}

}  // namespace

template <>
const Steps& steps_of<cpu::kThisIsa>(DType tensors, DType blocks) {
  static constexpr Steps kFp32 = make<float, float>(), kWidened = make<bf16, float>(),
                         kBf16 = make<bf16, bf16>();
  return tensors == DType::kFp32 ? kFp32 : blocks == DType::kFp32 ? kWidened : kBf16;
}

}  // namespace coda::attention
