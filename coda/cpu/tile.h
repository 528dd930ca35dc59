// The tile a program sees on the CPU: one row by kWidth columns of a finished accumulator tile,
// vectors along the columns. Lanes beyond the last column hold anything: stores cut them off,
// reductions replace them by the identity.
#pragma once
#include <cstring>

#include "coda/cpu/epilogue.h"
#include "coda/cpu/simd.h"
#include "coda/cpu/state.h"

namespace coda::cpu {

template <class Program, Isa kIsa, int kWidth>
class RowTile {
 public:
  using Layout = RowLayout<kIsa, kWidth>;
  template <class Element, Space kSpace>
  using Values = Fragment<Layout, Element, kSpace>;

  RowTile(const Program& program, const TileRun& run, int64_t row, int64_t column, int count)
      : program_(program), run_(run), row_(row), column_(column), count_(count) {}

  CODA_HD auto accumulator(AccumulatorIndex<Program> i = 0) const {
    Values<float, Space::kElement> result;
    const float* from = run_.accumulator[i.value] + row_ * run_.accumulator_ld + column_;
    CODA_UNROLL
    for (int v = 0; v < Layout::kVectors; ++v) result.lane[v] = simd::load(from + v * simd::kLanes);
    return result;
  }

  CODA_HD auto row() const {
    return Values<int32_t, Space::kRow>::constant(static_cast<int32_t>(run_.row + row_));
  }
  CODA_HD auto column() const {
    Values<int32_t, Space::kColumn> result;
    CODA_UNROLL
    for (int v = 0; v < Layout::kVectors; ++v) {
      result.lane[v] = simd::hn::Iota(
          simd::IntTag(), static_cast<int32_t>(run_.column + column_ + v * simd::kLanes));
    }
    return result;
  }
  CODA_HD int segment() const {
    return run_.row_segment + run_.column_segment;
  }  // an operand is cut along one of them at most

  template <Port P>
  CODA_HD auto choice(const P& port) const {
    return port.chosen();
  }
  template <Port P>
  CODA_HD auto load(const P& port) const {
    static_assert(check_load<P, false>());
    return load_given(port);
  }
  template <Port P>
  CODA_HD auto load(const P& port, float otherwise) const {
    static_assert(check_load<P, true>());
    using Result = decltype(load_given(port));
    if (port.given) return load_given(port);
    if constexpr (P::kPaired) {
      using Half = decltype(Result::first);
      return Result{Half::constant(otherwise), Half::constant(otherwise)};
    } else {
      return Result::constant(static_cast<typename Result::Element>(otherwise));
    }
  }

  template <Port P, Value V>
  CODA_HD void store(const P& port, const V& value) const {
    static_assert(check_store<P, 1>());
    if constexpr (P::kOptional) {
      if (!port.given) return;
    }
    using T = typename P::Element;
    const auto& view = port.view[port_segment<P>()];
    T* to = view.data + port_row<P>() * view.ld + port_column<P>();
    if (count_ == kWidth) {
      write(value, to);
    } else {
      T buffer[kWidth];
      write(value, buffer);
      std::memcpy(to, buffer, sizeof(T) * static_cast<size_t>(count_));
    }
  }
  template <Port P, Value First, Value Second>
  CODA_HD void store(const P& port, const First& first, const Second& second) const {
    static_assert(check_store<P, 2>());
    if constexpr (P::kOptional) {
      if (!port.given) return;
    }
    using T = typename P::Element;
    const auto& view = port.view[port_segment<P>()];
    T* line = view.data + port_row<P>() * view.ld;
    T buffer[2][kWidth];
    write(first, buffer[0]);
    write(second, buffer[1]);
    for_each_run<P>([&](int64_t at, int from, int length, int64_t half) {
      std::memcpy(line + at, buffer[0] + from, sizeof(T) * static_cast<size_t>(length));
      std::memcpy(line + at + half, buffer[1] + from, sizeof(T) * static_cast<size_t>(length));
    });
  }

  // Combines over the columns (RowReduce) or the rows (ColumnReduce) of a partial's 64.
  template <Port P, Value... V>
  CODA_HD void reduce(const P& port, const V&... value) const {
    static_assert(check_reduce<P>());
    if constexpr (P::kOptional) {
      if (!port.given) return;
    }
    using Reduction = typename P::Reduction;
    using States = VectorStates<Reduction, Layout, kIsa>;
    States states = States::lift(as_elements(value)...);
    // Of groups narrower than a sub-tile, the lanes beyond are running states of the next group.
    if constexpr (P::kKind == PortKind::kRowReduce || groups_of<Program>())
      states.keep_first(count_);
    if constexpr (P::kKind == PortKind::kRowReduce) {
      const int64_t column = run_.column + column_;
      auto& out =
          port.view[0]
              .data[(partials_before(run_.problem->columns, run_.column_segment, P::kWidth) +
                     column / P::kWidth) *
                        port.view[0].ld +
                    global_row()];
      const auto state = states.fold();
      out = column % P::kWidth == 0 ? state : Reduction::combine(out, state);
    } else {
      float* running = scratch_of(port) + column_;
      const int64_t stride = run_.accumulator_ld;
      if (row_ % P::kWidth != 0) states = States::combine(States::load(running, stride), states);
      states.store(running, stride);
    }
  }

  // The sum over the columns of one head; with it a program is handed whole heads.
  template <AnyFragment V>
  CODA_HD auto group_sum(const V& value) const {
    static_assert(
        groups_of<Program>(),
        "coda: a program that calls group_sum says so: static constexpr bool groups = true;");
    auto states = VectorStates<Sum, Layout, kIsa>::lift(as_elements(value));
    states.keep_first(count_);
    return Values<float, Space::kRow>::constant(states.fold());
  }

  // Scratch of a port within the tile's: those of PerRowFrom come first, [rows] each, then those of
  // ColumnReduce, [members][columns].
  template <class P>
  CODA_HD float* scratch_of(const P& wanted) const {
    float* result = run_.scratch;
    bool found = false;
    for_each_port(program_, [&](const auto& port, auto) {
      using PortType = stdlib::remove_cvref_t<decltype(port)>;
      found = found || static_cast<const void*>(&port) == static_cast<const void*>(&wanted);
      if (!found) {
        result += detail::scratch_per_row<PortType>() * run_.rows +
                  detail::scratch_per_column<PortType>() * run_.accumulator_ld;
      }
    });
    return result;
  }

  CODA_HD int64_t global_row() const {
    return run_.problem->rows.begin[run_.row_segment] + run_.row + row_;
  }
  CODA_HD int64_t global_column() const {
    return run_.problem->columns.begin[run_.column_segment] + run_.column + column_;
  }

  static CODA_HD int64_t partials_before(const Segments& segments, int segment, int width) {
    int64_t count = 0;
    for (int s = 0; s < segment; ++s) count += (segments.size(s) + width - 1) / width;
    return count;
  }

 private:
  // A port in several segments is addressed within the current one, a port in one piece as a whole.
  template <class P>
  CODA_HD int port_segment() const {
    return P::kSegments > 1 ? segment() : 0;
  }
  template <class P>
  CODA_HD int64_t port_row() const {
    return P::kSegments > 1 ? run_.row + row_ : global_row();
  }
  template <class P>
  CODA_HD int64_t port_column() const {
    return P::kSegments > 1 ? run_.column + column_ : global_column();
  }

  template <class P>
  CODA_HD auto load_given(const P& port) const {
    if constexpr (P::kKind == PortKind::kScalar) {
      return number<Space::kScalar>(port.get());
    } else if constexpr (P::kKind == PortKind::kPerRowFrom) {
      return Values<float, Space::kRow>::constant(scratch_of(port)[row_]);
    } else if constexpr (P::kKind == PortKind::kPerRow) {
      return number<Space::kRow>(port.view[port_segment<P>()].data[port_row<P>()]);
    } else {
      constexpr Space kSpace = P::kKind == PortKind::kPerColumn ? Space::kColumn : Space::kElement;
      const auto& view = port.view[port_segment<P>()];
      const auto* line =
          view.data + (P::kKind == PortKind::kPerElement ? port_row<P>() * view.ld : 0);
      if constexpr (P::kPaired) {
        typename P::Element buffer[2][kWidth] = {};
        for_each_run<P>([&](int64_t at, int from, int length, int64_t half) {
          std::memcpy(buffer[0] + from, line + at,
                      sizeof(buffer[0][0]) * static_cast<size_t>(length));
          std::memcpy(buffer[1] + from, line + at + half,
                      sizeof(buffer[0][0]) * static_cast<size_t>(length));
        });
        return Pair<Values<float, kSpace>>{read<kSpace>(buffer[0]), read<kSpace>(buffer[1])};
      } else {
        const auto* from = line + port_column<P>();
        if (count_ == kWidth) return read<kSpace>(from);
        typename P::Element buffer[kWidth] = {};
        std::memcpy(buffer, from, sizeof(buffer[0]) * static_cast<size_t>(count_));
        return read<kSpace>(buffer);
      }
    }
  }

  template <Space kSpace, class T>
  static CODA_HD auto number(T value) {
    if constexpr (IntegerElement<T>) {  // 64-bit indices saturate: none of them is a valid one then
      constexpr int64_t kLow = stdlib::numeric_limits<int32_t>::min(),
                        kHigh = stdlib::numeric_limits<int32_t>::max();
      const int64_t wide = value;
      return Values<int32_t, kSpace>::constant(static_cast<int32_t>(wide < kLow    ? kLow
                                                                    : wide > kHigh ? kHigh
                                                                                   : wide));
    } else {
      return Values<float, kSpace>::constant(to_float(value));
    }
  }

  template <Space kSpace, class T>
  static CODA_HD auto read(const T* from) {
    Values<float, kSpace> result;
    CODA_UNROLL
    for (int v = 0; v < Layout::kVectors; ++v) result.lane[v] = simd::load(from + v * simd::kLanes);
    return result;
  }

  template <class V>
  static CODA_HD auto as_elements(const V& value) {
    if constexpr (AnyFragment<V>) {
      Values<typename V::Element, Space::kElement> result;
      CODA_UNROLL
      for (int v = 0; v < Layout::kVectors; ++v)
        result.lane[v] = value.template at<Space::kElement>(v);
      return result;
    } else {
      return Values<float, Space::kElement>::constant(static_cast<float>(value));
    }
  }

  template <class V, class T>
  static CODA_HD void write(const V& value, T* to) {
    const auto elements = as_elements(value);
    static_assert(stdlib::is_same_v<typename decltype(elements)::Element, float>,
                  "coda: floats are stored: to_float(x) makes them of integers, select(mask, 1.0f, "
                  "0.0f) of masks");
    CODA_UNROLL
    for (int v = 0; v < Layout::kVectors; ++v) simd::store(elements.lane[v], to + v * simd::kLanes);
  }

  // The columns of a paired port that this tile's columns stand for, as runs within one head:
  // f(first, offset in the tile, length, half).
  template <class P, class F>
  CODA_HD void for_each_run(F&& f) const {
    const int64_t half = run_.problem->head_dim / 2;
    for (int from = 0; from < count_;) {
      const int64_t column = port_column<P>() + from;
      const int64_t left = half - column % half;
      const int length = static_cast<int>(left < count_ - from ? left : count_ - from);
      f(column / half * 2 * half + column % half, from, length, half);
      from += length;
    }
  }

  const Program& program_;
  const TileRun& run_;
  int64_t row_, column_;
  int count_;
};

}  // namespace coda::cpu
