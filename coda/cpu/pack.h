// Packing for the instruction set this file is compiled for. Rows beyond the last and elements
// beyond the depth become zero.
#pragma once
#include <cstring>

#include "coda/cpu/kernels.h"
#include "coda/cpu/simd.h"
#include "coda/cpu/touch.h"
#include "coda/cpu/transpose.h"

namespace coda::cpu {

// T: the tensor's elements; kPairs: a unit is a pair of bf16; kWidth: rows of a panel.
template <Isa kIsa, class T, bool kPairs, int kWidth>
struct Packer {
  static constexpr int kLanes = simd::kLanes;
  static constexpr int kUnit = kPairs ? 2 : 1;
  static_assert(kWidth % kLanes == 0 || kLanes == 2 * kWidth,
                "a vector fills part of a panel or exactly two");
  using Bits = simd::hn::Vec<simd::BitsTag>;

  static void pack(const PackJob& job, uint32_t* panels) {
    const int64_t units = (job.depth + kUnit - 1) / kUnit;
    for (int64_t row = 0; row < job.rows; row += kLanes) {
      uint32_t* to = panels + row / kWidth * kWidth * units + row % kWidth;
      if (job.source.major == Major::kRow) {
        Put put_down{to, units};
        transpose_lines(job, row, units, put_down);
        continue;
      }
      if constexpr (kPairs) {
        if (row % (2 * kLanes) == 0 && contiguous(job, row, 2 * kLanes)) {
          pack_pairs_across(job, row, units, to);
          row += kLanes;
          continue;
        }
      }
      pack_across(job, row, units, to);
    }
    if (const int64_t done = (job.rows + kLanes - 1) / kLanes * kLanes;
        done % kWidth != 0 && kWidth > kLanes) {
      for (int64_t row = done; row % kWidth != 0; row += kLanes) {
        uint32_t* to = panels + row / kWidth * kWidth * units + row % kWidth;
        for (int64_t u = 0; u < units; ++u)
          simd::hn::StoreU(simd::hn::Zero(simd::BitsTag()), simd::BitsTag(), to + u * kWidth);
      }
    }
  }

  // Row-major: lines of the contraction are contiguous; kLanes × kLanes units are transposed in
  // registers. Lane i of v[j] in taker.take(u, v) is unit u + j of row `row` + i; of the last units
  // there may be fewer.
  template <class Taker>
  static HWY_INLINE void transpose_lines(const PackJob& job, int64_t row, int64_t units,
                                         Taker& taker) {
    const T* line[kLanes];
    static constexpr T kZeros[kLanes * kUnit] = {};
    const T* base = static_cast<const T*>(job.source.data);
    for (int i = 0; i < kLanes; ++i) {
      line[i] = row + i < job.rows
                    ? base + job.source_row(job.row + row + i) * job.source.ld + job.k
                    : nullptr;
    }
    // The rows after these are on their way meanwhile, one line after the other: memory gives one
    // stream faster than kLanes at a time.
    const bool more = job.half == 0 && row + 2 * kLanes <= job.rows;
    const T* next = base + (job.row + row + kLanes) * job.source.ld + job.k;
    for (int i = 0; i < kLanes && more; ++i) touch(next + i * job.source.ld);
    int64_t ahead = 0;  // elements of the line `next`
    for (int64_t u = 0; u < units; u += kLanes) {
      const int64_t left = job.depth - u * kUnit;
      for (int i = 0; i < kLanes && more; ++i) {
        __builtin_prefetch(next + ahead, 0, 2);
        ahead += kLanes * kUnit;
        if (ahead >= job.depth) {
          ahead = 0;
          next += job.source.ld;
        }
      }
      Bits v[kLanes];
      if (left >= kLanes * kUnit) {
        CODA_UNROLL
        for (int i = 0; i < kLanes; ++i)
          v[i] = read(line[i] != nullptr ? line[i] + u * kUnit : kZeros);
      } else {
        for (int i = 0; i < kLanes; ++i) {
          T buffer[kLanes * kUnit] = {};
          if (line[i] != nullptr)
            std::memcpy(buffer, line[i] + u * kUnit, sizeof(T) * static_cast<size_t>(left));
          v[i] = read(buffer);
        }
      }
      simd::transpose(v);
      if (units - u >= kLanes) {
        taker.take(u, v);
      } else {
        taker.take_first(units - u, u, v);
      }
    }
  }

 private:
  // One unit of kLanes consecutive rows.
  static HWY_INLINE void put(Bits v, uint32_t* to, int64_t units) {
    if constexpr (kWidth % kLanes == 0) {
      simd::hn::StoreU(v, simd::BitsTag(), to);
    } else {  // the upper half belongs to the next panel
      const simd::hn::Half<simd::BitsTag> half;
      simd::hn::StoreU(simd::hn::LowerHalf(half, v), half, to);
      simd::hn::StoreU(simd::hn::UpperHalf(half, v), half, to + kWidth * units);
    }
  }

  // kLanes units that stand one after the other in memory.
  static HWY_INLINE Bits read(const T* p) {
    if constexpr (kPairs || std::is_same_v<T, float>) {
      return simd::hn::LoadU(simd::BitsTag(), reinterpret_cast<const uint32_t*>(p));
    } else {
      return simd::hn::BitCast(simd::BitsTag(), simd::load(p));
    }
  }

  struct Put {
    uint32_t* to;
    int64_t units;

    HWY_INLINE void take(int64_t u, const Bits (&v)[kLanes]) {
      CODA_UNROLL
      for (int i = 0; i < kLanes; ++i) put(v[i], to + (u + i) * kWidth, units);
    }
    HWY_INLINE void take_first(int64_t count, int64_t u, const Bits (&v)[kLanes]) {
      for (int64_t i = 0; i < count; ++i) put(v[i], to + (u + i) * kWidth, units);
    }
  };

  // The rows from `row` on are there, and neighbours in the tensor.
  static bool contiguous(const PackJob& job, int64_t row, int64_t count) {
    return row + count <= job.rows &&
           job.source_row(job.row + row + count - 1) == job.source_row(job.row + row) + count - 1;
  }

  // Column-major pairs: whole cache lines, 2·kLanes rows of two lines at a time.
  static HWY_INLINE void pack_pairs_across(const PackJob& job, int64_t row, int64_t units,
                                           uint32_t* to) {
    static_assert(kWidth % (2 * kLanes) == 0 || kWidth <= kLanes);
    static constexpr T kZeros[2 * kLanes] = {};
    const int64_t ld = job.source.ld, last = job.depth - 1;
    const T* line =
        static_cast<const T*>(job.source.data) + job.k * ld + job.source_row(job.row + row);
    uint32_t* const next = to + (kWidth > kLanes ? kLanes : kLanes * units);
    for (int64_t u = 0; u < units; ++u, line += 2 * ld) {
      const T* const second = 2 * u < last ? line + ld : kZeros;
      put(pair_up(line, second), to + u * kWidth, units);
      put(pair_up(line + kLanes, second + kLanes), next + u * kWidth, units);
    }
  }

  // Column-major: rows are contiguous; each unit is copied, pairs are interleaved from two lines.
  static HWY_INLINE void pack_across(const PackJob& job, int64_t row, int64_t units, uint32_t* to) {
    const T* base = static_cast<const T*>(job.source.data);
    const int64_t first = job.source_row(job.row + row);
    const bool whole = contiguous(job, row, kLanes);
    for (int64_t u = 0; u < units; ++u) {
      T element[kUnit][kLanes];
      const T* lines[kUnit];
      for (int e = 0; e < kUnit; ++e) {
        const int64_t k = u * kUnit + e;
        const T* line = base + (job.k + k) * job.source.ld;
        if (whole && k < job.depth) {
          lines[e] = line + first;
          continue;
        }
        lines[e] = element[e];
        for (int i = 0; i < kLanes; ++i) {
          element[e][i] =
              row + i < job.rows && k < job.depth ? line[job.source_row(job.row + row + i)] : T{};
        }
      }
      if constexpr (kPairs) {
        put(pair_up(lines[0], lines[1]), to + u * kWidth, units);
      } else {
        put(read(lines[0]), to + u * kWidth, units);
      }
    }
  }

  static HWY_INLINE Bits pair_up(const T* first, const T* second) {
    const auto widen = [](const T* p) {
      return simd::hn::PromoteTo(
          simd::BitsTag(),
          simd::hn::LoadU(simd::HalfBitsTag(), reinterpret_cast<const uint16_t*>(p)));
    };
    return simd::hn::Or(widen(first), simd::hn::ShiftLeft<16>(widen(second)));
  }
};

}  // namespace coda::cpu
