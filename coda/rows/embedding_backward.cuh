// The kernels of embedding_backward. The rows are sorted by token, stably, and the sorted list is
// cut into pieces of 32: a warp adds up 256 columns of one. A token's rows that lie within a piece
// go to dE at once. Where they reach into other pieces, each piece leaves its share in the
// workspace, and a second kernel adds the shares up from the first to the last. So all warps have
// as much to do, also where all tokens are the same.
#pragma once
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {

inline constexpr int kPiece = 32;

// Shares of a piece: of the token that the piece before ends with, and of the one that goes on.
enum Share { kHead, kTail, kShares };

template <class Token>
struct Keys {
  const Token* tokens;
  uint32_t *keys, *rows;
  int64_t count, vocabulary;
  int32_t* error;
};

template <class Token>
__global__ void __launch_bounds__(kThreads) make_keys(const __grid_constant__ Keys<Token> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= p.count) return;
  const auto token = static_cast<int64_t>(p.tokens[i]);
  const bool known = token >= 0 && token < p.vocabulary;
  p.keys[i] = static_cast<uint32_t>(known ? token : p.vocabulary);
  p.rows[i] = static_cast<uint32_t>(i);
  if (!known && p.error != nullptr) *p.error = 1;
}

template <class T, class Out>
struct Scatter {
  Lines<const T> dx;
  Lines<Out> out;
  const uint32_t *keys, *rows;
  Lines<float> shares;  // [2·pieces, pitch]
  int64_t count, columns, vocabulary, slabs;
  bool accumulate;
};

template <class T, class Out>
CODA_DEVICE void finish_row(const Scatter<T, Out>& p, uint32_t token, int64_t column, int count,
                            const Pack<Out>& before, float (&sum)[kVector]) {
  if (p.accumulate) {
    float there[kVector];
    unpack8(before, there);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) sum[i] += there[i];
  }
  store8(p.out.line(token) + column, count, p.out.vectors, sum);
}

template <class T, class Out>
__global__ void __launch_bounds__(kThreads) scatter(const __grid_constant__ Scatter<T, Out> p) {
  constexpr int kBatch = 4;  // rows whose loads are in flight
  constexpr uint32_t kNone = 0xffffffffu;
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t piece = warp / p.slabs, begin = piece * kPiece;
  if (begin >= p.count) return;
  const int lane = static_cast<int>(ptx::lane());
  const int64_t column = warp % p.slabs * kWarpColumns + lane * kVector;
  const int count = count_from(column, p.columns);
  const int length = static_cast<int>(p.count - begin < kPiece ? p.count - begin : kPiece);

  const uint32_t key = lane < length ? p.keys[begin + lane] : kNone;
  const uint32_t row = lane < length ? p.rows[begin + lane] : 0;
  const uint32_t before = begin > 0 ? p.keys[begin - 1] : kNone;
  const uint32_t after = begin + kPiece < p.count ? p.keys[begin + kPiece] : kNone;

  const bool fast = p.dx.vectors && count == kVector;
  // Lane i: whether the i-th row is the last of its token in this piece.
  const uint32_t following = ptx::shuffle(key, (lane + 1) % kPiece);
  const bool last = lane + 1 >= length || following != key;

  float sum[kVector] = {};
  bool first = true;  // the run began where the piece does
  for (int base = 0; base < length; base += kBatch) {
    Pack<T> x[kBatch];
    Pack<Out> there[kBatch];
    const auto at = [&](int b) { return base + b < length ? base + b : length - 1; };
    const T* from[kBatch];
    CODA_UNROLL
    for (int b = 0; b < kBatch; ++b) from[b] = p.dx.line(ptx::shuffle(row, at(b))) + column;
    if (fast) {
      CODA_UNROLL
      for (int b = 0; b < kBatch; ++b) x[b] = load_pack(from[b]);
    } else {
      CODA_UNROLL
      for (int b = 0; b < kBatch; ++b) x[b] = load_elements(from[b], count);
    }
    CODA_UNROLL
    for (int b = 0; b < kBatch; ++b) {
      const uint32_t token = ptx::shuffle(key, at(b));
      const bool ends = ptx::shuffle(static_cast<int>(last), at(b)) != 0;
      there[b] = {};
      if (p.accumulate && ends && token != p.vocabulary) {
        there[b] = load8(p.out.line(token) + column, count, p.out.vectors);
      }
    }
    CODA_UNROLL
    for (int b = 0; b < kBatch; ++b) {
      const int i = base + b;
      const uint32_t token = ptx::shuffle(key, at(b));
      const bool ends = ptx::shuffle(static_cast<int>(last), at(b)) != 0;
      if (i >= length) continue;
      float v[kVector];
      unpack8(x[b], v);
      CODA_UNROLL
      for (int j = 0; j < kVector; ++j) sum[j] += v[j];
      if (!ends) continue;
      const bool from_before = first && token == before;
      const bool goes_on = i + 1 == length && token == after;
      if (token != p.vocabulary) {
        if (from_before || goes_on) {
          const int64_t share = piece * kShares + (from_before ? kHead : kTail);
          store8(p.shares.line(share) + column, count > 0 ? kVector : 0, true, sum);
        } else {
          finish_row(p, token, column, count, there[b], sum);
        }
      }
      CODA_UNROLL
      for (int j = 0; j < kVector; ++j) sum[j] = 0;
      first = false;
    }
  }
}

// The token that a piece ends with, where its rows begin in this piece and end in a later one.
template <class T, class Out>
__global__ void __launch_bounds__(kThreads) combine(const __grid_constant__ Scatter<T, Out> p) {
  ptx::dependency_wait();
  ptx::dependents_launch();
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int64_t piece = warp / p.slabs, begin = piece * kPiece, end = begin + kPiece;
  if (end >= p.count) return;
  const uint32_t key = p.keys[end - 1];
  if (key == p.vocabulary || p.keys[end] != key) return;
  if (p.keys[begin] == key && begin > 0 && p.keys[begin - 1] == key) return;
  int64_t low = end, high = p.count;  // the first place behind them
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (p.keys[middle] == key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const int64_t last = (low - 1) / kPiece;
  const int64_t column = warp % p.slabs * kWarpColumns + ptx::lane() * kVector;
  const int count = count_from(column, p.columns);
  if (count == 0) return;
  // Shares have whole vectors; what stands behind the last column is not stored.
  float sum[kVector];
  unpack8(load_pack(p.shares.line(piece * kShares + kTail) + column), sum);
#pragma unroll 8
  for (int64_t other = piece + 1; other <= last; ++other) {
    float share[kVector];
    unpack8(load_pack(p.shares.line(other * kShares + kHead) + column), share);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) sum[i] += share[i];
  }
  Pack<Out> there{};
  if (p.accumulate) there = load8(p.out.line(key) + column, count, p.out.vectors);
  finish_row(p, key, column, count, there, sum);
}

}  // namespace coda::row
