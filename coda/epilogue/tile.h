// The tile a program sees on the GPU: a warp's 16 rows by kChunk columns of its accumulators, with
// the epilogue's tensors in swizzled shared memory.
#pragma once
#include "coda/epilogue/column_state.h"
#include "coda/epilogue/row_state.h"
#include "coda/epilogue/staging.h"
#include "coda/epilogue/thread.h"
#include "coda/epilogue/warp_layout.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// K: KernelTraits. kRowBlock, kSub, kChunk: which part of the consumer's tile this is.
template <class K, int kBlock, int kSub, int kChunkIndex>
class Tile {
  using Program = typename K::Program;
  static constexpr int kWidth = K::kChunk;
  static constexpr int kInSub = kChunkIndex * kWidth;             // first column in the sub-tile
  static constexpr int kColumn = kSub * K::kSubColumns + kInSub;  // and in the tile

 public:
  using Layout = WarpLayout<kWidth>;
  template <class Element, Space kSpace>
  using Values = Fragment<Layout, Element, kSpace>;

  CODA_DEVICE Tile(const Program& program, const EpilogueThread& thread,
                   const float (&accumulators)[K::kRegisters], RowStates<Program>& rows,
                   uint32_t input, uint32_t output)
      : program_(program),
        thread_(thread),
        accumulators_(accumulators),
        rows_(rows),
        input_(input),
        output_(output) {}

  CODA_DEVICE auto accumulator(AccumulatorIndex<Program> i = 0) const {
    Values<float, Space::kElement> result;
    CODA_UNROLL
    for (int n = 0; n < kWidth / 2; ++n) {
      result.lane[n] = accumulators_[i.value * (K::kColumns / 2) + kColumn / 2 + n];
    }
    return result;
  }

  CODA_DEVICE auto row() const {
    const int first = thread_.row + kBlock * 64 + static_cast<int>(thread_.lane >> 2);
    return Values<int32_t, Space::kRow>{{first, first + 8}};
  }
  CODA_DEVICE auto column() const {
    Values<int32_t, Space::kColumn> result;
    CODA_UNROLL
    for (int n = 0; n < kWidth / 4; ++n) result.lane[n] = lane_column(n);
    return result;
  }
  CODA_DEVICE int segment() const { return thread_.segment; }

  template <InputPort P>
  CODA_DEVICE auto load(const P& port) const {
    static_assert(!P::kOptional,
                  "coda: load of an Optional port takes the value to use where the port is "
                  "missing: load(port, 0.0f)");
    return load_given(port);
  }
  template <InputPort P>
  CODA_DEVICE auto load(const P& port, float otherwise) const {
    static_assert(P::kOptional, "coda: only the load of an Optional port takes a second argument");
    using Result = decltype(load_given(port));
    if (is_given(port)) return load_given(port);
    return Result::constant(static_cast<typename Result::Element>(otherwise));
  }

  template <StorePort P, Value V>
  CODA_DEVICE void store(const P& port, const V& value) const {
    if (!is_given(port)) return;
    using T = typename P::Element;
    const uint32_t slab = output_ + slab_offset(port);
    const auto v = as_elements(value);
    if constexpr (sizeof(T) == 2) {
      CODA_UNROLL
      for (int i = 0; i < kWidth / 16; ++i) {
        uint32_t word[4];  // (j, h) of two groups of eight columns
        CODA_UNROLL
        for (int x = 0; x < 4; ++x) {
          word[x] = hw::template pack<T>(v.lane[8 * i + 2 * x], v.lane[8 * i + 2 * x + 1]);
        }
        hw::store_matrix_x4(matrix_address<T>(slab, i), word);
      }
    } else {
      CODA_UNROLL
      for (int n = 0; n < kWidth / 2; n += 2) {
        hw::store_shared_x2(pair_address(slab, n), float_bits(v.lane[n]),
                            float_bits(v.lane[n + 1]));
      }
    }
  }

  template <ReducePort P, Value... V>
  CODA_DEVICE void reduce(const P& port, const V&... value) const {
    if (!is_given(port)) return;
    if constexpr (P::kKind == PortKind::kRowReduce) {
      reduce_row(port, as_elements(value)...);
    } else {
      reduce_column(port, as_elements(value)...);
    }
  }

 private:
  // The port's place among the program's folds to a constant, and with it what follows from it.
  template <class P>
  CODA_DEVICE bool is_given(const P& port) const {
    return !P::kOptional || (K::kGiven >> port_index(program_, port) & 1) != 0;
  }
  // kTable: a member of Staging that holds one offset per port.
  template <auto kTable, class P>
  CODA_DEVICE uint32_t offset(const P& port) const {
    uint32_t result = 0;
    for_each_port(program_, [&](const auto& other, auto index) {
      constexpr int kOffset = (K::kStaging.*kTable)[decltype(index)::value];
      if (static_cast<const void*>(&other) == static_cast<const void*>(&port)) {
        result = static_cast<uint32_t>(kOffset);
      }
    });
    return result;
  }

  // The warp's 16 lines of a tile port within a set.
  template <class P>
  CODA_DEVICE uint32_t slab_offset(const P& port) const {
    return offset<&Staging<Program>::tile_offset>(port) +
           thread_.warp * (16 * K::kSubColumns * sizeof(typename P::Element));
  }

  CODA_DEVICE int lane_column(int n) const {
    return thread_.column + kColumn + n / 2 * 8 + 2 * static_cast<int>(thread_.lane & 3) + n % 2;
  }

  static CODA_DEVICE uint32_t float_bits(float x) { return stdlib::bit_cast<uint32_t>(x); }
  static CODA_DEVICE float bits_float(uint32_t x) { return stdlib::bit_cast<float>(x); }

  // Sixteen columns from 16i of the chunk, for load_matrix_x4 and store_matrix_x4.
  template <class T>
  CODA_DEVICE uint32_t matrix_address(uint32_t slab, int i) const {
    return (slab + matrix_offset<K::kSubColumns * 2>(thread_.lane)) ^
           static_cast<uint32_t>((kInSub / 16 + i) << 5);
  }
  // The two floats of lanes n and n + 1 (n even) in lines of 32 floats.
  CODA_DEVICE uint32_t pair_address(uint32_t slab, int n) const {
    static_assert(K::kSubColumns == 32 || kWidth > 0);
    const uint32_t line = (thread_.lane >> 2) + static_cast<uint32_t>(n / 2 % 2) * 8;
    const uint32_t column = static_cast<uint32_t>(kInSub + n / 4 * 8) + 2 * (thread_.lane & 3);
    return slab + line * 128 + ((column / 4 ^ swizzle<128>(line)) << 4) + column % 4 * 4;
  }

  template <class P>
  CODA_DEVICE auto load_given(const P& port) const {
    using T = typename P::Element;
    if constexpr (P::kKind == PortKind::kScalar) {
      if constexpr (IntegerElement<T>) {
        return Values<int32_t, Space::kScalar>::constant(saturate(port.get()));
      } else {
        return Values<float, Space::kScalar>::constant(to_float(port.get()));
      }
    } else if constexpr (P::kKind == PortKind::kPerElement) {
      return load_tile(port);
    } else if constexpr (P::kKind == PortKind::kPerColumn) {
      const uint32_t from = thread_.vectors + offset<&Staging<Program>::vector_offset>(port) +
                            (kColumn + 2 * (thread_.lane & 3)) * 4;
      Values<float, Space::kColumn> result;
      CODA_UNROLL
      for (int n = 0; n < kWidth / 4; n += 2) {
        uint32_t a, b;
        hw::load_shared_x2(from + static_cast<uint32_t>(n) * 16, a, b);
        result.lane[n] = bits_float(a);
        result.lane[n + 1] = bits_float(b);
      }
      return result;
    } else {
      const uint32_t from = thread_.vectors + offset<&Staging<Program>::vector_offset>(port) +
                            (kBlock * 64 + thread_.warp * 16 + (thread_.lane >> 2)) * 4;
      const uint32_t a = hw::load_shared(from), b = hw::load_shared(from + 32);
      if constexpr (IntegerElement<T>) {
        return Values<int32_t, Space::kRow>{{static_cast<int32_t>(a), static_cast<int32_t>(b)}};
      } else {
        return Values<float, Space::kRow>{{bits_float(a), bits_float(b)}};
      }
    }
  }

  template <class P>
  CODA_DEVICE auto load_tile(const P& port) const {
    using T = typename P::Element;
    const uint32_t slab = input_ + slab_offset(port);
    Values<float, Space::kElement> result;
    if constexpr (sizeof(T) == 2) {
      CODA_UNROLL
      for (int i = 0; i < kWidth / 16; ++i) {
        uint32_t word[4];
        hw::load_matrix_x4(matrix_address<T>(slab, i), word);
        CODA_UNROLL
        for (int x = 0; x < 4; ++x) {
          hw::template unpack<T>(word[x], result.lane[8 * i + 2 * x],
                                 result.lane[8 * i + 2 * x + 1]);
        }
      }
    } else {
      CODA_UNROLL
      for (int n = 0; n < kWidth / 2; n += 2) {
        uint32_t a, b;
        hw::load_shared_x2(pair_address(slab, n), a, b);
        result.lane[n] = bits_float(a);
        result.lane[n + 1] = bits_float(b);
      }
    }
    return result;
  }

  template <class T>
  static CODA_DEVICE int32_t saturate(T value) {
    constexpr int64_t kLow = stdlib::numeric_limits<int32_t>::min();
    constexpr int64_t kHigh = stdlib::numeric_limits<int32_t>::max();
    const int64_t wide = value;
    return static_cast<int32_t>(wide < kLow ? kLow : wide > kHigh ? kHigh : wide);
  }

  template <class V>
  static CODA_DEVICE auto as_elements(const V& value) {
    if constexpr (AnyFragment<V>) {
      Values<typename V::Element, Space::kElement> result;
      CODA_UNROLL
      for (int n = 0; n < kWidth / 2; ++n) result.lane[n] = value.template at<Space::kElement>(n);
      return result;
    } else {
      return Values<float, Space::kElement>::constant(static_cast<float>(value));
    }
  }

  // Into the running states of this thread's two rows; columns beyond the last do not count.
  template <class P, class... V>
  CODA_DEVICE void reduce_row(const P& port, const V&... value) const {
    using Reduction = typename P::Reduction;
    const bool whole = thread_.column + kColumn + kWidth <= thread_.columns_end;
    for_each_port(program_, [&](const auto& other, auto index) {
      using Other = stdlib::remove_cvref_t<decltype(other)>;
      if constexpr (stdlib::is_same_v<Other, P>) {
        if (static_cast<const void*>(&other) != static_cast<const void*>(&port)) return;
        auto& state = row_state<decltype(index)::value, P>(rows_);
        CODA_UNROLL
        for (int h = 0; h < 2; ++h) {
          state[h] = combine_row<Reduction, Layout>(
              state[h], h, whole, thread_.columns_end, [&](int n) { return lane_column(n); },
              value...);
        }
      }
    });
  }

  template <class P, class... V>
  CODA_DEVICE void reduce_column(const P& port, const V&... value) const {
    using Reduction = typename P::Reduction;
    using State = typename P::State;
    constexpr int kOwn = kWidth / 4;
    const int first = thread_.row + kBlock * 64 + static_cast<int>(thread_.lane >> 2);
    State state[kOwn];
    CODA_UNROLL
    for (int n = 0; n < kOwn; ++n) {
      const int i = n / 2 * 4 + n % 2;
      const State identity = Reduction::template identity<float>();
      const State top = first < thread_.rows_end ? Reduction::lift(value.lane[i]...) : identity;
      const State bottom =
          first + 8 < thread_.rows_end ? Reduction::lift(value.lane[i + 2]...) : identity;
      state[n] = Reduction::combine(top, bottom);
    }
    fold_columns<Reduction, kColumn>(state, thread_.lane,
                                     thread_.columns + thread_.warp * K::kStaging.column_bytes +
                                         offset<&Staging<Program>::column_offset>(port));
  }

  const Program& program_;
  const EpilogueThread& thread_;
  const float (&accumulators_)[K::kRegisters];
  RowStates<Program>& rows_;
  uint32_t input_, output_;
};

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
