// The tile a program sees on the GPU: a warp's 16 rows by kChunk columns of its accumulators, with
// the epilogue's tensors in swizzled shared memory.
#pragma once
#include "coda/epilogue/column_state.h"
#include "coda/epilogue/group_sum.h"
#include "coda/epilogue/port_offset.h"
#include "coda/epilogue/row_state.h"
#include "coda/epilogue/slab.h"
#include "coda/epilogue/staging.h"
#include "coda/epilogue/table.h"
#include "coda/epilogue/warp_layout.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// K: KernelTraits. kBlock, kSub, kChunkIndex: which part of the consumer's tile this is. kCollects:
// the program runs for its sums over heads only.
template <class K, int kBlock, int kSub, int kChunkIndex, bool kCollects = false>
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
                   GroupSums& groups, uint32_t input, uint32_t output)
      : program_(program),
        thread_(thread),
        accumulators_(accumulators),
        rows_(rows),
        groups_(groups),
        input_(input),
        output_(output),
        matrix_line_(pinned(thread.matrix_line)) {}

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
  CODA_DEVICE int head_dim() const { return 2 * thread_.half; }
  // Folds to a constant but for ports that a kernel takes given or not.
  template <Port P>
  CODA_DEVICE bool given(const P& port) const {
    if constexpr (!P::kOptional) return true;
    const int index = port_index(program_, port);
    return (K::kEither >> index & 1) != 0 ? port.given : (K::kGiven >> index & 1) != 0;
  }

  // Kernels are compiled for the usual choice, for all others, or for either.
  template <InputPort P>
  CODA_DEVICE auto choice(const P& port) const {
    constexpr uint32_t kAsked = K::kGiven | K::kEither;
    return (kAsked >> port_index(program_, port) & 1) != 0 ? port.chosen() : P::kUsual;
  }
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
    if (given(port)) return load_given(port);
    if constexpr (P::kPaired) {
      using Half = decltype(Result::first);
      return Result{Half::constant(otherwise), Half::constant(otherwise)};
    } else {
      return Result::constant(static_cast<typename Result::Element>(otherwise));
    }
  }

  // Rows of both tables, from global memory.
  template <TablePort P, AnyFragment Rows>
  CODA_DEVICE auto lookup(const P& port, const Rows& rows) const {
    static_assert(check_lookup<P, Rows>());
    const int column = thread_.place_in_half(kColumn);
    Values<float, Space::kElement> table[2];
    CODA_UNROLL
    for (int t = 0; t < 2; ++t) {
      read_table(port.view[t], rows.lane, column, thread_.lane, table[t].lane);
    }
    return Pair<Values<float, Space::kElement>>{table[0], table[1]};
  }

  // The sum over the columns of one head, which the driver has collected before: no argument of
  // one may depend on another.
  template <AnyFragment V>
  CODA_DEVICE auto group_sum(const V& value) {
    static_assert(K::kGroups, "coda: a program that calls group_sum says so");
    float(&sum)[2] = groups_.sum[next_group_++];
    if constexpr (kCollects) {
      const auto v = as_elements(value);
      CODA_UNROLL
      for (int n = 0; n < kWidth / 2; ++n) sum[n / 2 % 2] += v.lane[n];
    }
    return Values<float, Space::kRow>{{sum[0], sum[1]}};
  }

  template <StorePort P, Value V>
  CODA_DEVICE void store(const P& port, const V& value) {
    static_assert(check_store<P, 1>());
    if (kCollects || !given(port)) return;
    wait_for_buffers();
    slab(port, output_, 0).store(as_elements(value).lane);
  }
  template <StorePort P, Value First, Value Second>
  CODA_DEVICE void store(const P& port, const First& first, const Second& second) {
    static_assert(check_store<P, 2>());
    if (kCollects || !given(port)) return;
    wait_for_buffers();
    slab(port, output_, 0).store(as_elements(first).lane);
    slab(port, output_, 1).store(as_elements(second).lane);
  }

  template <ReducePort P, Value... V>
  CODA_DEVICE void reduce(const P& port, const V&... value) const {
    if (kCollects || !given(port)) return;
    if constexpr (P::kKind == PortKind::kRowReduce) {
      reduce_row(port, as_elements(value)...);
    } else {
      reduce_column(port, as_elements(value)...);
    }
  }

 private:
  // Addresses that follow from it are worked out chunk by chunk: there are not enough registers to
  // keep them all.
  static CODA_DEVICE uint32_t pinned(uint32_t value) {
    hw::pin(value);
    return value;
  }

  template <auto kTable, class P>
  CODA_DEVICE uint32_t offset(const P& port) const {
    return port_offset<K, kTable>(program_, port);
  }

  // The warp's 16 lines of a tile port within a set of buffers; of a paired one those of half h.
  template <class P>
  CODA_DEVICE auto slab(const P& port, uint32_t set, uint32_t h) const {
    using T = typename P::Element;
    constexpr uint32_t kBuffer = kRowBlock * K::kSubColumns * sizeof(T);
    return Slab<T, K::kSubColumns, kInSub, kWidth>{
        set + offset<&Staging<Program>::tile_offset>(port) + h * kBuffer, thread_.warp,
        thread_.lane, matrix_line_};
  }

  // Where outputs have buffers of their own, those of this sub-tile are free once the stores of
  // kOutputSets sub-tiles ago, or all of the tile before, have been read. Only lane 0 has any. What
  // the program does before its first store is time for that.
  CODA_DEVICE void wait_for_buffers() {
    constexpr int kNumber = kBlock * K::kSubsAcross + kSub;
    constexpr bool kReused = kNumber == 0 || kNumber >= K::kOutputSets;
    if constexpr (!K::kInPlace && kChunkIndex == 0 && kReused) {
      if (has_buffers_) return;
      has_buffers_ = true;
      hw::template bulk_wait_read<kNumber == 0 ? 0 : K::kOutputSets - 1>();
      hw::warp_sync();
    }
  }

  CODA_DEVICE int lane_column(int n) const {
    return group_column(n) + 2 * static_cast<int>(thread_.lane & 3) + n % 2;
  }
  // The first of the eight columns which that is one of.
  CODA_DEVICE int group_column(int n) const { return thread_.column + kColumn + n / 2 * 8; }
  // Where the end is a multiple of eight columns, all lanes say the same.
  CODA_DEVICE bool counts(int n) const {
    return (K::kWholeEights ? group_column(n) : lane_column(n)) < thread_.columns_end;
  }

  static CODA_DEVICE float bits_float(uint32_t x) { return stdlib::bit_cast<float>(x); }

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
      static_assert(!P::kPaired, "coda: paired ports over elements are outputs only on the GPU");
      Values<float, Space::kElement> result;
      slab(port, input_, 0).load(result.lane);
      return result;
    } else if constexpr (P::kKind == PortKind::kPerColumn || P::kKind == PortKind::kPerHead) {
      const uint32_t from = thread_.vectors + offset<&Staging<Program>::vector_offset>(port);
      if constexpr (P::kPaired) {
        return Pair<Values<float, Space::kColumn>>{load_columns(from),
                                                   load_columns(from + K::kColumns * 4)};
      } else {
        return load_columns(from);
      }
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

  CODA_DEVICE auto load_columns(uint32_t vector) const {
    const uint32_t from = vector + (kColumn + 2 * (thread_.lane & 3)) * 4;
    Values<float, Space::kColumn> result;
    CODA_UNROLL
    for (int n = 0; n < kWidth / 4; n += 2) {
      uint32_t a, b;
      hw::load_shared_x2(from + static_cast<uint32_t>(n) * 16, a, b);
      result.lane[n] = bits_float(a);
      result.lane[n + 1] = bits_float(b);
    }
    return result;
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
          state[h] = combine_row<Reduction, Layout, K::kWholeEights>(
              state[h], h, whole, [&](int n) { return counts(n); }, value...);
        }
      }
    });
  }

  template <class P, class... V>
  CODA_DEVICE void reduce_column(const P& port, const V&... value) const {
    using Reduction = typename P::Reduction;
    using State = typename P::State;
    State state[kWidth / 4];
    const int first = thread_.row + kBlock * 64 + static_cast<int>(thread_.lane >> 2);
    lift_columns<Reduction>(state, thread_.rows_end - first, value...);
    fold_columns<Reduction, kColumn>(state, thread_.lane,
                                     thread_.columns + thread_.warp * K::kStaging.column_bytes +
                                         offset<&Staging<Program>::column_offset>(port));
  }

  const Program& program_;
  const EpilogueThread& thread_;
  const float (&accumulators_)[K::kRegisters];
  RowStates<Program>& rows_;
  GroupSums& groups_;
  uint32_t input_, output_, matrix_line_;
  int next_group_ = 0;
  bool has_buffers_ = false;
};

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
