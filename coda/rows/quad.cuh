// Four neighbouring elements of a lane: floats in one access of 16 bytes, so that those of a warp
// lie side by side, or one element at a time where lines do not begin at multiples of 16 bytes, and
// at a line's end.
#pragma once
#include "coda/ptx/global.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {

inline constexpr int kQuad = 4;
inline constexpr int kQuadColumns = 32 * kQuad;  // of a warp

// min(extent - column, 4), also far beyond int.
CODA_DEVICE int quad_count(int64_t column, int64_t extent) {
  const int64_t left = extent - column;
  return left >= kQuad ? kQuad : left > 0 ? static_cast<int>(left) : 0;
}

// 16-byte aligned.
CODA_DEVICE void load_quad(const float* from, float (&v)[kQuad]) {
  const float4 word = *reinterpret_cast<const float4*>(from);
  v[0] = word.x, v[1] = word.y, v[2] = word.z, v[3] = word.w;
}
// 8-byte aligned.
CODA_DEVICE void load_quad(const bf16* from, float (&v)[kQuad]) {
  const uint2 word = *reinterpret_cast<const uint2*>(from);
  ptx::unpack<bf16>(word.x, v[0], v[1]);
  ptx::unpack<bf16>(word.y, v[2], v[3]);
}
// One element at a time: the first `count`, then zeros.
template <class T>
CODA_DEVICE void load_part(const T* from, int count, float (&v)[kQuad]) {
  CODA_UNROLL
  for (int i = 0; i < kQuad; ++i) v[i] = i < count ? to_float(from[i]) : 0.0f;
}

// Aligned as the loads are. An assignment of a struct may be taken apart, into four stores.
CODA_DEVICE void store_quad(float* to, const float (&v)[kQuad]) {
  ptx::store_global_x4(to, v[0], v[1], v[2], v[3]);
}
CODA_DEVICE void store_quad(bf16* to, const float (&v)[kQuad]) {
  *reinterpret_cast<uint64_t*>(to) =
      ptx::pack<bf16>(v[0], v[1]) | uint64_t{ptx::pack<bf16>(v[2], v[3])} << 32;
}
template <class T>
CODA_DEVICE void store_part(T* to, int count, const float (&v)[kQuad]) {
  CODA_UNROLL
  for (int i = 0; i < kQuad; ++i) {
    if (i < count) to[i] = from_float<T>(v[i]);
  }
}

}  // namespace coda::row
