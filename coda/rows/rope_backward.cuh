// The kernel of rope_backward. A block takes 64 rows, those of a column partial, and eight heads of
// q, k and v, one for each warp. Cosines, sines and r of its rows are made once, in shared memory.
// In a warp, d/16 lanes (rounded up to a power of two) share a row of the head: eight elements of
// each half a lane.
#pragma once
#include "coda/program/angle.h"
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {

inline constexpr int kRows = kPartialWidth;

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

// Two halves of eight elements of one head, of dy and of y.
template <class T>
struct HeadPacks {
  Pack<T> d0, d1, y0, y1;
};

// Lanes and rows that there are not read others', whose values are not used.
template <class T>
CODA_DEVICE HeadPacks<T> load_head(const RopeBackward<T>& p, const Segment<T>& s, int64_t m,
                                   int64_t column) {
  const int half = p.head_dim / 2;
  const int64_t row = m < p.rows ? m : p.rows - 1;
  const T *const dy = s.dy.line(row) + column, *const y = s.y.line(row) + column;
  if (s.dy.vectors && s.y.vectors) {
    return {load_pack(dy), load_pack(dy + half), load_pack(y), load_pack(y + half)};
  }
  return {load_elements(dy, kVector), load_elements(dy + half, kVector), load_elements(y, kVector),
          load_elements(y + half, kVector)};
}

// kOptions: biases, head norms and their gradients may be there.
template <class T, bool kOptions>
CODA_DEVICE void run_head(const RopeBackward<T>& p, const Segment<T>& s, int64_t head, bool rotated,
                          int64_t tile, float* sums, const float* cosines, const float* sines,
                          const float* rstd) {
  const int lane = static_cast<int>(ptx::lane()), half = p.head_dim / 2;
  const int sub = lane % p.lanes, group = lane / p.lanes, groups = 32 / p.lanes;
  const bool active = sub < p.head_dim / (2 * kVector);
  const int place = active ? sub * kVector : 0;  // in a half
  const int64_t row0 = tile * kRows;
  const int64_t column = head * p.head_dim + place;
  float db0[kVector] = {}, db1[kVector] = {}, dn0[kVector] = {}, dn1[kVector] = {};
  // The next rows are under way while these are worked on.
  HeadPacks<T> next = load_head(p, s, row0 + group, column);
  for (int base = 0; base < kRows; base += groups) {
    const HeadPacks<T> packs = next;
    const int row = base + group;
    const int64_t m = row0 + row;
    if (base + groups < kRows) next = load_head(p, s, m + groups, column);
    const bool there = active && m < p.rows;
    float d0[kVector], d1[kVector], y0[kVector], y1[kVector];
    unpack8(packs.d0, d0);
    unpack8(packs.d1, d1);
    unpack8(packs.y0, y0);
    unpack8(packs.y1, y1);
    if (!there) {
      CODA_UNROLL
      for (int i = 0; i < kVector; ++i) d0[i] = d1[i] = y0[i] = y1[i] = 0;
    }
    float share = 0;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) share += y0[i] * d0[i] + y1[i] * d1[i];
    if (rotated) rotate_back(cosines + row * half + place, sines + row * half + place, d0, d1);
    if constexpr (kOptions) {
      if (s.norm.data != nullptr) {
        float squares = 0, along = 0, g0[kVector], g1[kVector];
        unpack8(load8(s.norm.data + place, kVector, s.norm.vectors), g0);
        unpack8(load8(s.norm.data + half + place, kVector, s.norm.vectors), g1);
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
        if (there) {
          CODA_UNROLL
          for (int i = 0; i < kVector; ++i) {
            dn0[i] += d0[i] * y0[i] * r;
            dn1[i] += d1[i] * y1[i] * r;
            d0[i] = r * g0[i] * d0[i] - y0[i] * back;
            d1[i] = r * g1[i] * d1[i] - y1[i] * back;
          }
        }
      }
      if (s.bias.data != nullptr && there) {
        float b0[kVector], b1[kVector];
        unpack8(load8(s.bias.data + column, kVector, s.bias.vectors), b0);
        unpack8(load8(s.bias.data + column + half, kVector, s.bias.vectors), b1);
        CODA_UNROLL
        for (int i = 0; i < kVector; ++i) share -= b0[i] * d0[i] + b1[i] * d1[i];
      }
      if (there) {
        CODA_UNROLL
        for (int i = 0; i < kVector; ++i) db0[i] += d0[i], db1[i] += d1[i];
      }
    }
    share = sum_row(share, p.lanes);
    if (sub == 0 && m < p.rows) sums[m] = share;
    if (!there) continue;
    const float r = rstd[row];
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) d0[i] *= r, d1[i] *= r;
    T* const dz = s.dz.line(m) + column;
    store8(dz, kVector, s.dz.vectors, d0);
    store8(dz + half, kVector, s.dz.vectors, d1);
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

}  // namespace coda::row
