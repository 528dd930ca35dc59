// Eight neighbouring elements as floats: one or two accesses of 16 bytes, or one element at a time
// where a tensor's lines do not begin at multiples of 16 bytes, and at a line's end.
#pragma once
#include "coda/ptx/number.cuh"
#include "coda/ptx/thread.cuh"
#include "coda/rows/tensor_check.h"

namespace coda::row {

inline constexpr int kVector = 8;            // elements of a lane
inline constexpr int kWarpColumns = 32 * 8;  // of a warp

// Lines of a matrix in global memory.
template <class T>
struct Lines {
  T* data = nullptr;
  int64_t ld = 0;
  bool vectors = false;  // every line begins at a multiple of 16 bytes

  CODA_DEVICE T* line(int64_t i) const { return data + i * ld; }
};

template <class T>
Lines<T> lines_of(const TensorView& view) {
  const bool base = reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
  const bool pitch = view.rows <= 1 || view.ld * static_cast<int64_t>(sizeof(T)) % 16 == 0;
  return {data_of<T>(view), view.ld, base && pitch};
}
template <class T>
Lines<T> lines_of(const std::optional<TensorView>& view) {  // data is null where it is missing
  return view ? lines_of<T>(*view) : Lines<T>{};
}

// v = the first `count` of eight elements, then zeros.
template <class T>
CODA_DEVICE void load8(const T* from, int count, bool vectors, float (&v)[kVector]) {
  if (vectors && count >= kVector) {
    const auto* words = reinterpret_cast<const uint4*>(from);
    const uint4 w = words[0];
    if constexpr (sizeof(T) == 4) {
      const uint4 u = words[1];
      v[0] = __uint_as_float(w.x), v[1] = __uint_as_float(w.y);
      v[2] = __uint_as_float(w.z), v[3] = __uint_as_float(w.w);
      v[4] = __uint_as_float(u.x), v[5] = __uint_as_float(u.y);
      v[6] = __uint_as_float(u.z), v[7] = __uint_as_float(u.w);
    } else {
      ptx::unpack<T>(w.x, v[0], v[1]);
      ptx::unpack<T>(w.y, v[2], v[3]);
      ptx::unpack<T>(w.z, v[4], v[5]);
      ptx::unpack<T>(w.w, v[6], v[7]);
    }
    return;
  }
  CODA_UNROLL
  for (int i = 0; i < kVector; ++i) v[i] = i < count ? to_float(from[i]) : 0.0f;
}

template <class T>
CODA_DEVICE void store8(T* to, int count, bool vectors, const float (&v)[kVector]) {
  if (vectors && count >= kVector) {
    auto* words = reinterpret_cast<uint4*>(to);
    if constexpr (sizeof(T) == 4) {
      words[0] = {__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
                  __float_as_uint(v[3])};
      words[1] = {__float_as_uint(v[4]), __float_as_uint(v[5]), __float_as_uint(v[6]),
                  __float_as_uint(v[7])};
    } else {
      words[0] = {ptx::pack<T>(v[0], v[1]), ptx::pack<T>(v[2], v[3]), ptx::pack<T>(v[4], v[5]),
                  ptx::pack<T>(v[6], v[7])};
    }
    return;
  }
  CODA_UNROLL
  for (int i = 0; i < kVector; ++i) {
    if (i < count) to[i] = from_float<T>(v[i]);
  }
}

// min(extent - column, 8), also far beyond int.
CODA_DEVICE int count_from(int64_t column, int64_t extent) {
  const int64_t left = extent - column;
  return left >= kVector ? kVector : left > 0 ? static_cast<int>(left) : 0;
}

// The sum over 2^k neighbouring lanes, the same in all of them.
template <int kLanes>
CODA_DEVICE float sum_lanes(float v) {
  CODA_UNROLL
  for (int mask = 1; mask < kLanes; mask *= 2) v += ptx::shuffle_xor(v, mask);
  return v;
}

}  // namespace coda::row
