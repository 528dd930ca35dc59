// A block takes 64 rows, those of a column partial, each warp eight of them: first what is the same
// for a row, in two passes over it, then dx and the column sums, slab by slab.
#include "coda/rows/block_columns.cuh"
#include "coda/rows/layer_norm_backward.h"

namespace coda::row {
namespace {

constexpr int kAtOnce = 4;  // rows whose loads are in flight

template <class T, class Stream>
struct Backward {
  Lines<const T> dy, gamma;
  Lines<const Stream> x, dx_in;  // dx_in, dcolumns: null data where they are missing
  Lines<Stream> dx;
  Lines<float> dgamma, dbeta, dcolumns;
  int64_t rows, columns;
  float epsilon;
};

// Of a warp's rows, in lane r those of the r-th: μ, r, Σg/h and Σ(g·x̂)/h.
struct RowFactors {
  float mean, rstd, m1, m2;
};

// Eight elements of `kAtOnce` rows; zeros beyond the end.
template <class T>
struct Rows {
  Pack<T> packs[kAtOnce];

  CODA_DEVICE Rows(const Lines<const T>& lines, int64_t row, int64_t rows, int64_t column,
                   int count) {
    CODA_UNROLL
    for (int r = 0; r < kAtOnce; ++r) {
      const int there = row + r < rows ? count : 0;
      packs[r] = load8(lines.line(row + r) + column, there, lines.vectors);
    }
  }
};

template <class T, class Stream>
CODA_DEVICE void find_factors(const Backward<T, Stream>& p, int64_t row, int first,
                              RowFactors& factors) {
  const int lane = static_cast<int>(ptx::lane());
  const auto width = static_cast<float>(p.columns);
  float mean[kAtOnce] = {}, squares[kAtOnce] = {}, sum[kAtOnce] = {}, along[kAtOnce] = {};
  for (int64_t column = lane * kVector; column - lane * kVector < p.columns;
       column += kWarpColumns) {
    const Rows<Stream> x_rows(p.x, row, p.rows, column, count_from(column, p.columns));
    CODA_UNROLL
    for (int r = 0; r < kAtOnce; ++r) {
      float x[kVector];
      unpack8(x_rows.packs[r], x);
      CODA_UNROLL
      for (int i = 0; i < kVector; ++i) mean[r] += x[i];
    }
  }
  CODA_UNROLL
  for (int r = 0; r < kAtOnce; ++r) mean[r] = sum_lanes<32>(mean[r]) / width;
  for (int64_t column = lane * kVector; column - lane * kVector < p.columns;
       column += kWarpColumns) {
    const int count = count_from(column, p.columns);
    const Rows<Stream> x_rows(p.x, row, p.rows, column, count);
    const Rows<T> dy_rows(p.dy, row, p.rows, column, count);
    float gamma[kVector];
    unpack8(load8(p.gamma.data + column, count, p.gamma.vectors), gamma);
    CODA_UNROLL
    for (int r = 0; r < kAtOnce; ++r) {
      float x[kVector], dy[kVector];
      unpack8(x_rows.packs[r], x);
      unpack8(dy_rows.packs[r], dy);
      CODA_UNROLL
      for (int i = 0; i < kVector; ++i) {
        if (i >= count) continue;
        const float away = x[i] - mean[r], g = __fmul_rn(dy[i], gamma[i]);
        squares[r] += away * away;
        sum[r] += g;
        along[r] += g * away;
      }
    }
  }
  CODA_UNROLL
  for (int r = 0; r < kAtOnce; ++r) {
    const float rstd = rsqrt(sum_lanes<32>(squares[r]) / width + p.epsilon);
    const float m1 = sum_lanes<32>(sum[r]) / width;
    const float m2 = sum_lanes<32>(along[r]) * rstd / width;
    if (lane == first + r) factors = {mean[r], rstd, m1, m2};
  }
}

template <class T, class Stream>
__global__ void __launch_bounds__(kThreads)
    backward(const __grid_constant__ Backward<T, Stream> p) {
  __shared__ alignas(16) BlockColumns columns;
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t tile = blockIdx.x, row0 = tile * kPartialWidth + threadIdx.x / 32 * kBlockRows;
  RowFactors factors{};
  CODA_NO_UNROLL
  for (int first = 0; first < kBlockRows; first += kAtOnce) {
    find_factors(p, row0 + first, first, factors);
  }
  for (int64_t slab = 0; slab * kWarpColumns < p.columns; ++slab) {
    const int64_t column = slab * kWarpColumns + ptx::lane() * kVector;
    const int count = count_from(column, p.columns);
    float gamma[kVector], dgamma[kVector] = {}, dbeta[kVector] = {}, dcolumns[kVector] = {};
    unpack8(load8(p.gamma.data + column, count, p.gamma.vectors), gamma);
    CODA_NO_UNROLL
    for (int first = 0; first < kBlockRows; first += kAtOnce) {
      const int64_t row = row0 + first;
      const Rows<Stream> x_rows(p.x, row, p.rows, column, count);
      const Rows<T> dy_rows(p.dy, row, p.rows, column, count);
      const Rows<Stream> in_rows(p.dx_in, row, p.dx_in.data != nullptr ? p.rows : 0, column, count);
      CODA_UNROLL
      for (int r = 0; r < kAtOnce; ++r) {
        const float mean = ptx::shuffle(factors.mean, first + r);
        const float rstd = ptx::shuffle(factors.rstd, first + r);
        const float m1 = ptx::shuffle(factors.m1, first + r);
        const float m2 = ptx::shuffle(factors.m2, first + r);
        if (row + r >= p.rows) continue;
        float x[kVector], dy[kVector], dx[kVector];
        unpack8(x_rows.packs[r], x);
        unpack8(dy_rows.packs[r], dy);
        unpack8(in_rows.packs[r], dx);
        CODA_UNROLL
        for (int i = 0; i < kVector; ++i) {
          const float unit = (x[i] - mean) * rstd, g = __fmul_rn(dy[i], gamma[i]);
          dgamma[i] += dy[i] * unit;
          dbeta[i] += dy[i];
          dx[i] += rstd * (g - m1 - unit * m2);
          dcolumns[i] += dx[i];
        }
        store8(p.dx.line(row + r) + column, count, p.dx.vectors, dx);
      }
    }
    columns.write(p.dgamma, tile, slab, p.columns, dgamma);
    columns.write(p.dbeta, tile, slab, p.columns, dbeta);
    if (p.dcolumns.data != nullptr) columns.write(p.dcolumns, tile, slab, p.columns, dcolumns);
  }
}

template <class T, class Stream>
void launch_backward(const LayerNormBackwardArguments& a, const ProgramView& program,
                     cudaStream_t stream) {
  const Backward<T, Stream> p{lines_of<const T>(a.dy),
                              lines_of<const T>(a.gamma),
                              lines_of<const Stream>(a.x),
                              lines_of<const Stream>(a.dx_in),
                              lines_of<Stream>(a.dx),
                              lines_of<float>(a.dgamma),
                              lines_of<float>(a.dbeta),
                              lines_of<float>(a.dcolumns),
                              a.x.rows,
                              a.x.columns,
                              static_cast<float>(a.epsilon)};
  launch(backward<T, Stream>, {blocks_for(program.name, parts_of(p.rows)), stream}, p);
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void layer_norm_backward(const row::LayerNormBackwardArguments& arguments, cudaStream_t stream) {
  using namespace row;
  const ProgramView program = validate(arguments);
  check_on_device(program);
  if (arguments.x.empty()) return;
  with_element(arguments.dy.dtype, [&]<class T>() {
    if (arguments.x.dtype == arguments.dy.dtype) {
      launch_backward<T, T>(arguments, program, stream);
    } else {
      launch_backward<T, float>(arguments, program, stream);
    }
  });
}

}  // namespace coda::cuda
