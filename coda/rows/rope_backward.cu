// A block takes 64 rows, those of a column partial, and eight heads of q, k and v, one for each
// warp. Cosines, sines and r of its rows are made once, in shared memory. In a warp, d/16 lanes
// (rounded up to a power of two) share a row of the head: eight elements of each half a lane.
#include <bit>
#include <string>

#include "coda/program/angle.h"
#include "coda/rows/launch.cuh"
#include "coda/rows/rope_backward.h"
#include "coda/rows/vector.cuh"

namespace coda::row {
namespace {

constexpr int kRows = kPartialWidth;
constexpr int kMostHeadDim = 256;

template <class T>
struct Segment {
  Lines<const T> dy, y;
  Lines<T> dz;
  Lines<const T> bias, norm;  // null data where they are missing
  Lines<float> dbias, dnorm;
  int64_t heads;
};

template <class T>
struct RopeBackward {
  Segment<T> segment[3];
  const void *positions, *cosines, *sines;  // tables: of T, or floats
  bool wide_positions, float_tables;        // int64; fp32
  const float* inv_freq;
  int64_t cosines_ld, sines_ld, table_rows;
  const float* rstd;
  int64_t rstd_ld, rstd_parts;
  float rstd_width, rstd_epsilon, scale, norm_epsilon;
  float* sums;
  int64_t sums_ld;
  int64_t rows, chunks;  // of eight heads
  int head_dim, lanes;   // of a row
};

// cosines and sines [64, d/2], r [64], room for its sums [4, 64]
inline size_t shared_bytes(int64_t head_dim) {
  return sizeof(float) * static_cast<size_t>(kRows * head_dim + 5 * kRows);
}

template <class T>
CODA_DEVICE float table_value(const void* table, bool floats, int64_t at) {
  return floats ? static_cast<const float*>(table)[at] : to_float(static_cast<const T*>(table)[at]);
}

template <class T>
CODA_DEVICE void fill_rotation(const RopeBackward<T>& p, int64_t row0, float* cosines,
                               float* sines) {
  const int half = p.head_dim / 2;
  for (int i = threadIdx.x; i < kRows * half; i += kThreads) {
    const int64_t m = row0 + i / half;
    const int j = i % half;
    float c = 0, s = 0;
    if (m < p.rows) {
      const int64_t position = p.wide_positions
                                   ? static_cast<const int64_t*>(p.positions)[m]
                                   : int64_t{static_cast<const int32_t*>(p.positions)[m]};
      if (p.inv_freq != nullptr) {
        const auto turned = rotation(static_cast<float>(position), p.inv_freq[j]);
        c = turned.cosine, s = turned.sine;
      } else if (position >= 0 && position < p.table_rows) {
        c = table_value<T>(p.cosines, p.float_tables, position * p.cosines_ld + j);
        s = table_value<T>(p.sines, p.float_tables, position * p.sines_ld + j);
      } else {
        c = s = __uint_as_float(0x7fc00000u);
      }
    }
    cosines[i] = c * p.scale;
    sines[i] = s * p.scale;
  }
}

// Four threads add up the partials of a row, a quarter each.
template <class T>
CODA_DEVICE void fill_rstd(const RopeBackward<T>& p, int64_t row0, float* rstd, float* room) {
  const int row = threadIdx.x % kRows, quarter = threadIdx.x / kRows;
  const int64_t run = (p.rstd_parts + 3) / 4;
  const int64_t end = (quarter + 1) * run < p.rstd_parts ? (quarter + 1) * run : p.rstd_parts;
  float sum = 0;
  if (row0 + row < p.rows) {
#pragma unroll 8
    for (int64_t part = quarter * run; part < end; ++part) {
      sum += p.rstd[part * p.rstd_ld + row0 + row];
    }
  }
  room[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x < kRows) {
    const float total =
        ((room[row] + room[kRows + row]) + room[2 * kRows + row]) + room[3 * kRows + row];
    rstd[row] = 1.0f / sqrtf(total / p.rstd_width + p.rstd_epsilon);
  }
}

// Over the lanes that share a row.
CODA_DEVICE float sum_row(float v, int lanes) {
  for (int mask = 1; mask < lanes; mask *= 2) v += ptx::shuffle_xor(v, mask);
  return v;
}

// Over the rows of a warp, whose lanes are `lanes` apart.
CODA_DEVICE void sum_rows(float (&v)[kVector], int lanes) {
  for (int mask = lanes; mask < 32; mask *= 2) {
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) v[i] += ptx::shuffle_xor(v[i], mask);
  }
}

CODA_DEVICE void load_shared(const float* from, float (&v)[kVector]) {
  const float4 a = reinterpret_cast<const float4*>(from)[0];
  const float4 b = reinterpret_cast<const float4*>(from)[1];
  v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
  v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}

// (c, s) of a head's halves: ×(cos, sin) turned back.
CODA_DEVICE void rotate_back(const float* cosines, const float* sines, float (&c)[kVector],
                             float (&s)[kVector]) {
  float cosine[kVector], sine[kVector];
  load_shared(cosines, cosine);
  load_shared(sines, sine);
  CODA_UNROLL
  for (int i = 0; i < kVector; ++i) {
    const float first = c[i];
    c[i] = first * cosine[i] + s[i] * sine[i];
    s[i] = s[i] * cosine[i] - first * sine[i];
  }
}

// kOptions: biases, head norms and their gradients may be there.
template <class T, bool kOptions>
CODA_DEVICE void run_head(const RopeBackward<T>& p, const Segment<T>& s, int64_t head, bool rotated,
                          int64_t tile, float* sums, const float* cosines, const float* sines,
                          const float* rstd) {
  const int lane = static_cast<int>(ptx::lane()), half = p.head_dim / 2;
  const int sub = lane % p.lanes, group = lane / p.lanes, groups = 32 / p.lanes;
  const bool active = sub < p.head_dim / (2 * kVector);
  const int64_t row0 = tile * kRows;
  const int64_t column = head * p.head_dim + sub * kVector;
  float db0[kVector] = {}, db1[kVector] = {}, dn0[kVector] = {}, dn1[kVector] = {};
  for (int base = 0; base < kRows; base += groups) {
    const int row = base + group;
    const int64_t m = row0 + row;
    const int count = active && m < p.rows ? kVector : 0;
    float d0[kVector], d1[kVector], y0[kVector], y1[kVector];
    const T *const dy = s.dy.line(m) + column, *const y = s.y.line(m) + column;
    load8(dy, count, s.dy.vectors, d0);
    load8(dy + half, count, s.dy.vectors, d1);
    load8(y, count, s.y.vectors, y0);
    load8(y + half, count, s.y.vectors, y1);
    float share = 0;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) share += y0[i] * d0[i] + y1[i] * d1[i];
    if (rotated && active) {
      rotate_back(cosines + row * half + sub * kVector, sines + row * half + sub * kVector, d0, d1);
    }
    if constexpr (kOptions) {
      if (s.norm.data != nullptr) {
        float squares = 0, along = 0, g0[kVector], g1[kVector];
        load8(s.norm.data + sub * kVector, count, s.norm.vectors, g0);
        load8(s.norm.data + half + sub * kVector, count, s.norm.vectors, g1);
        CODA_UNROLL
        for (int i = 0; i < kVector; ++i) {
          squares += y0[i] * y0[i] + y1[i] * y1[i];
          along += g0[i] * d0[i] * y0[i] + g1[i] * d1[i] * y1[i];
        }
        squares = sum_row(squares, p.lanes);
        along = sum_row(along, p.lanes);
        const auto width = static_cast<float>(p.head_dim);
        const float r = 1.0f / sqrtf(squares / width + p.norm_epsilon);
        const float back = r * r * r * along / width;
        share = sub == 0 ? p.norm_epsilon * r * r * r * along : 0.0f;
        if (count > 0) {
          CODA_UNROLL
          for (int i = 0; i < kVector; ++i) {
            dn0[i] += d0[i] * y0[i] * r;
            dn1[i] += d1[i] * y1[i] * r;
            d0[i] = r * g0[i] * d0[i] - y0[i] * back;
            d1[i] = r * g1[i] * d1[i] - y1[i] * back;
          }
        }
      }
      if (s.bias.data != nullptr) {
        float b0[kVector], b1[kVector];
        load8(s.bias.data + column, count, s.bias.vectors, b0);
        load8(s.bias.data + column + half, count, s.bias.vectors, b1);
        CODA_UNROLL
        for (int i = 0; i < kVector; ++i) share -= b0[i] * d0[i] + b1[i] * d1[i];
      }
      CODA_UNROLL
      for (int i = 0; i < kVector; ++i) db0[i] += d0[i], db1[i] += d1[i];
    }
    share = sum_row(share, p.lanes);
    if (sub == 0 && m < p.rows) sums[m] = share;
    const float r = rstd[row];
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) d0[i] *= r, d1[i] *= r;
    T* const dz = s.dz.line(m) + column;
    store8(dz, count, s.dz.vectors, d0);
    store8(dz + half, count, s.dz.vectors, d1);
  }
  if constexpr (kOptions) {
    const int count = active && group == 0 ? kVector : 0;
    const auto store = [&](const Lines<float>& to, float(&first)[kVector],
                           float(&second)[kVector]) {
      if (to.data == nullptr) return;
      sum_rows(first, p.lanes);
      sum_rows(second, p.lanes);
      store8(to.line(tile) + column, count, to.vectors, first);
      store8(to.line(tile) + column + half, count, to.vectors, second);
    };
    store(s.dbias, db0, db1);
    store(s.dnorm, dn0, dn1);
  }
}

template <class T, bool kOptions>
__global__ void __launch_bounds__(kThreads, 2)
    rope_backward_kernel(const __grid_constant__ RopeBackward<T> p) {
  extern __shared__ float4 shared_vectors[];
  float* const cosines = reinterpret_cast<float*>(shared_vectors);
  float* const sines = cosines + kRows * (p.head_dim / 2);
  float* const rstd = sines + kRows * (p.head_dim / 2);
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t tile = blockIdx.x / p.chunks, first = blockIdx.x % p.chunks * kWarps;
  const int64_t q = p.segment[0].heads, k = p.segment[1].heads;
  if (first < q + k) fill_rotation(p, tile * kRows, cosines, sines);
  fill_rstd(p, tile * kRows, rstd, rstd + kRows);
  __syncthreads();
  const int64_t head = first + threadIdx.x / 32;
  if (head >= q + 2 * k) return;
  const int segment = head < q ? 0 : head < q + k ? 1 : 2;
  run_head<T, kOptions>(p, p.segment[segment], head - (segment > 0 ? q : 0) - (segment > 1 ? k : 0),
                        segment < 2, tile, p.sums + head * p.sums_ld, cosines, sines, rstd);
}

template <class T>
Segment<T> segment_of(const RopeBackwardSegment& s, int64_t head_dim) {
  return {lines_of<const T>(s.dy),   lines_of<const T>(s.y),    lines_of<T>(s.dz),
          lines_of<const T>(s.bias), lines_of<const T>(s.norm), lines_of<float>(s.dbias),
          lines_of<float>(s.dnorm),  s.dy.columns / head_dim};
}

bool has_options(const RopeBackwardArguments& a) {
  for (const auto* s : {&a.q, &a.k, &a.v}) {
    if (s->bias || s->dbias || s->norm) return true;
  }
  return false;
}

}  // namespace
}  // namespace coda::row

namespace coda::cuda {

void rope_backward(const row::RopeBackwardArguments& a, CUstream_st* stream) {
  using namespace row;
  using T = bf16;
  const ProgramView program = validate(a);
  if (a.head_dim % 16 != 0 || a.head_dim > kMostHeadDim) {
    fail_argument(program.name, "head_dim",
                  "a multiple of 16 up to " + std::to_string(kMostHeadDim) + " on the GPU",
                  std::to_string(a.head_dim));
  }
  if (a.q.dy.dtype != dtype_of<T>) {
    fail_argument(program.name, "dq", "elements of type bf16 on the GPU", dtype_name(a.q.dy.dtype));
  }
  check_on_device(program);
  if (a.q.dy.rows == 0) return;
  RopeBackward<T> p;
  p.segment[0] = segment_of<T>(a.q, a.head_dim);
  p.segment[1] = segment_of<T>(a.k, a.head_dim);
  p.segment[2] = segment_of<T>(a.v, a.head_dim);
  p.positions = a.positions.data;
  p.wide_positions = a.positions.dtype == DType::kInt64;
  p.cosines = data_of<const void>(a.cosines);
  p.sines = data_of<const void>(a.sines);
  p.float_tables = a.cosines && a.cosines->dtype == DType::kFp32;
  p.inv_freq = data_of<const float>(a.inv_freq);
  p.cosines_ld = ld_of(a.cosines);
  p.sines_ld = ld_of(a.sines);
  p.table_rows = a.cosines ? a.cosines->rows : 0;
  p.rstd = data_of<const float>(a.rstd);
  p.rstd_ld = a.rstd.ld;
  p.rstd_parts = a.rstd.rows;
  p.rstd_width = static_cast<float>(a.rstd_width);
  p.rstd_epsilon = static_cast<float>(a.rstd_epsilon);
  p.scale = static_cast<float>(a.scale);
  p.norm_epsilon = static_cast<float>(a.norm_epsilon);
  p.sums = data_of<float>(a.sums);
  p.sums_ld = a.sums.ld;
  p.rows = a.q.dy.rows;
  p.chunks = (a.sums.rows + kWarps - 1) / kWarps;
  p.head_dim = static_cast<int>(a.head_dim);
  p.lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(a.head_dim / 16)));
  const auto kernel =
      has_options(a) ? rope_backward_kernel<T, true> : rope_backward_kernel<T, false>;
  const size_t shared = shared_bytes(a.head_dim);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared)),
        "cudaFuncSetAttribute");
  launch(kernel, {blocks_for(program, parts_of(p.rows) * p.chunks), stream, shared}, p);
}

}  // namespace coda::cuda
