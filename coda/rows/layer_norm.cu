// A warp takes a row, in three passes; the first one brings it to the cache.
#include "coda/rows/layer_norm.h"
#include "coda/rows/norm_rows.cuh"

namespace coda::row {
namespace {

template <class X, class T>
struct Normalise {
  Lines<const X> x;
  Lines<const T> gamma, beta;
  Lines<T> out;
  Moments::State<float>* moments;  // null where they are not wanted
  int64_t moments_ld, rows, columns;
  float epsilon;
};

// f(column of the lane, how many of its eight are there, x) for all slabs of a row.
template <class X, class F>
CODA_DEVICE void for_each_slab(const Lines<const X>& lines, int64_t row, int64_t columns, F&& f) {
  const X* const line = lines.line(row);
  for (int64_t base = 0; base < columns; base += kWarpColumns) {
    const int64_t column = base + ptx::lane() * kVector;
    const int count = count_from(column, columns);
    float x[kVector];
    unpack8(load8(line + column, count, lines.vectors), x);
    f(column, count, x);
  }
}

template <class X, class T>
__global__ void __launch_bounds__(kThreads) normalise(const __grid_constant__ Normalise<X, T> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (row >= p.rows) return;
  const auto width = static_cast<float>(p.columns);
  float sum = 0;
  for_each_slab(p.x, row, p.columns, [&](int64_t column, int count, const float(&x)[kVector]) {
    Moments::State<float> part{};
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) take(part, x[i]);
    sum += part.sum;
    if (p.moments == nullptr) return;
    part = sum_part(part);
    if (column % kPartialWidth == 0 && count > 0) {
      p.moments[column / kPartialWidth * p.moments_ld + row] = part;
    }
  });
  const float mean = sum_lanes<32>(sum) / width;
  float squares = 0;
  for_each_slab(p.x, row, p.columns, [&](int64_t, int count, const float(&x)[kVector]) {
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) squares += i < count ? (x[i] - mean) * (x[i] - mean) : 0.0f;
  });
  const float rstd = rsqrt(sum_lanes<32>(squares) / width + p.epsilon);
  for_each_slab(p.x, row, p.columns, [&](int64_t column, int count, const float(&x)[kVector]) {
    float gamma[kVector], beta[kVector], out[kVector];
    unpack8(load8(p.gamma.data + column, count, p.gamma.vectors), gamma);
    unpack8(load8(p.beta.data + column, count, p.beta.vectors), beta);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) out[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
    store8(p.out.line(row) + column, count, p.out.vectors, out);
  });
}

template <class X, class T>
void launch_normalise(const LayerNormArguments& a, const ProgramView& program,
                      cudaStream_t stream) {
  const Normalise<X, T> p{lines_of<const X>(a.x),
                          lines_of<const T>(a.gamma),
                          lines_of<const T>(a.beta),
                          lines_of<T>(a.out),
                          data_of<Moments::State<float>>(a.moments),
                          ld_of(a.moments),
                          a.x.rows,
                          a.x.columns,
                          static_cast<float>(a.epsilon)};
  launch(normalise<X, T>, {blocks_for(program.name, (p.rows + kWarps - 1) / kWarps), stream}, p);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void layer_norm(const row::LayerNormArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  if (arguments.x.empty()) return;
  with_element(arguments.x.dtype, [&]<class X>() {
    if (arguments.gamma.dtype != arguments.x.dtype) {
      launch_normalise<X, bf16>(arguments, program, stream);
    } else {
      launch_normalise<X, X>(arguments, program, stream);
    }
  });
}

}  // namespace coda::cuda
