// Eight neighbouring elements as floats: one or two accesses of 16 bytes, or one element at a time
// where a tensor's lines do not begin at multiples of 16 bytes, and at a line's end.
#pragma once
#include "coda/ptx/global.cuh"
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

// Eight elements as they stand in memory. Loads first, unpacks later: so many are then in flight.
template <class T>
struct Pack {
  uint4 words[sizeof(T) / 2];
};

// 16-byte aligned.
template <class T>
CODA_DEVICE Pack<T> load_pack(const T* from) {
  Pack<T> pack;
  CODA_UNROLL
  for (int i = 0; i < static_cast<int>(sizeof(T) / 2); ++i) {
    pack.words[i] = reinterpret_cast<const uint4*>(from)[i];
  }
  return pack;
}

CODA_DEVICE uint32_t bits_of(float value) { return __float_as_uint(value); }
CODA_DEVICE uint32_t bits_of(bf16 value) { return value.bits; }
CODA_DEVICE uint32_t bits_of(fp16 value) { return value.bits; }

// One element at a time: the first `count`, then zeros.
template <class T>
CODA_DEVICE Pack<T> load_elements(const T* from, int count) {
  uint32_t bits[kVector];
  CODA_UNROLL
  for (int i = 0; i < kVector; ++i) bits[i] = i < count ? bits_of(from[i]) : 0;
  Pack<T> pack;
  if constexpr (sizeof(T) == 4) {
    pack.words[0] = {bits[0], bits[1], bits[2], bits[3]};
    pack.words[1] = {bits[4], bits[5], bits[6], bits[7]};
  } else {
    pack.words[0] = {bits[0] | bits[1] << 16, bits[2] | bits[3] << 16, bits[4] | bits[5] << 16,
                     bits[6] | bits[7] << 16};
  }
  return pack;
}

template <class T>
CODA_DEVICE Pack<T> load8(const T* from, int count, bool vectors) {
  return vectors && count >= kVector ? load_pack(from) : load_elements(from, count);
}

template <class T>
CODA_DEVICE void unpack8(const Pack<T>& pack, float (&v)[kVector]) {
  const uint4 w = pack.words[0];
  if constexpr (sizeof(T) == 4) {
    const uint4 u = pack.words[1];
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
}

template <class T>
CODA_DEVICE void store8(T* to, int count, bool vectors, const float (&v)[kVector]) {
  if (vectors && count >= kVector) {
    // An assignment of a struct may be taken apart, into four stores.
    auto* words = reinterpret_cast<float*>(to);
    if constexpr (sizeof(T) == 4) {
      ptx::store_global_x4(words, v[0], v[1], v[2], v[3]);
      ptx::store_global_x4(words + 4, v[4], v[5], v[6], v[7]);
    } else {
      const auto word = [&](int i) { return __uint_as_float(ptx::pack<T>(v[i], v[i + 1])); };
      ptx::store_global_x4(words, word(0), word(2), word(4), word(6));
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
