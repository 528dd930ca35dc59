// The tile a program sees on the CPU: one row by kWidth columns of a finished accumulator tile,
// vectors along the columns. Lanes beyond the last column hold anything: stores cut them off,
// reductions replace them by the identity.
#pragma once
#include <cstring>

#include "coda/cpu/epilogue.h"
#include "coda/cpu/head_runs.h"
#include "coda/cpu/row_layout.h"
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
    return read<Space::kElement>(run_.accumulator[i.value] + row_ * run_.accumulator_ld + column_);
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
  // An operand is cut along one of them at most.
  CODA_HD int segment() const { return run_.row_segment + run_.column_segment; }
  CODA_HD int head_dim() const { return static_cast<int>(run_.problem->head_dim); }

  CODA_HD bool given(const Port auto& port) const { return port.given; }
  CODA_HD auto choice(const Port auto& port) const { return port.chosen(); }

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

  // A row of both tables, for each row of the tile.
  template <Port P, AnyFragment Rows>
  CODA_HD auto lookup(const P& port, const Rows& rows) const {
    static_assert(check_lookup<P, Rows>());
    const int64_t row = simd::hn::GetLane(rows.lane[0]);
    using V = Values<float, Space::kElement>;
    if (row < 0 || row >= port.view[0].rows) {
      const V nan = V::constant(stdlib::numeric_limits<float>::quiet_NaN());
      return Pair<V>{nan, nan};
    }
    const auto table = [&](const auto& view) {
      return read_runs<P, Space::kElement>(
          [&](HeadColumn at) { return view.data + row * view.ld + at.column; });
    };
    return Pair<V>{table(port.view[0]), table(port.view[1])};
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
    const int64_t half = run_.problem->head_dim / 2;
    const HeadColumn begin = head_column(half, port_column<P>());
    if (count_ == kWidth && begin.column + kWidth <= half) {
      T* to = line + begin.among_heads(half);
      write(first, to);
      write(second, to + half);
    } else {
      T one[kWidth], other[kWidth];
      write(first, one);
      write(second, other);
      write_heads(line, half, begin, count_, one, other);
    }
  }

  // Combines over the columns (RowReduce) or the rows (ColumnReduce) of a partial's 64.
  template <Port P, Value... V>
  CODA_HD void reduce(const P& port, const V&... value) const {
    static_assert(check_reduce<P, sizeof...(V)>());
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

  // Scratch of a port within the tile's: [rows] of PerRowFrom, [members][columns] of ColumnReduce.
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
      constexpr Space kSpace = P::kKind == PortKind::kPerElement ? Space::kElement : Space::kColumn;
      constexpr bool kHead = P::kKind == PortKind::kPerHead;
      const auto& view = port.view[port_segment<P>()];
      const auto* line =
          view.data + (P::kKind == PortKind::kPerElement ? port_row<P>() * view.ld : 0);
      if constexpr (P::kPaired || kHead) {
        const int64_t half = run_.problem->head_dim / 2;
        const auto values = [&](int64_t further) {
          return read_runs<P, kSpace>([&](HeadColumn at) {
            return line + further + (kHead ? at.column : at.among_heads(half));
          });
        };
        if constexpr (P::kPaired) {
          return Pair<Values<float, kSpace>>{values(0), values(half)};
        } else {
          return values(0);
        }
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
    if constexpr (IntegerElement<T>) {
      return Values<int32_t, kSpace>::constant(saturate(value));
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
    constexpr int kLast = Layout::kVectors - 1;
    CODA_UNROLL
    for (int v = 0; v < kLast; v += 2)
      simd::store_both(elements.lane[v], elements.lane[v + 1], to + v * simd::kLanes);
    if constexpr (kLast % 2 == 0) simd::store(elements.lane[kLast], to + kLast * simd::kLanes);
  }

  // What stands where at(HeadColumn) points to, for the columns of this tile.
  template <class P, Space kSpace, class At>
  CODA_HD auto read_runs(At&& at) const {
    const int64_t half = run_.problem->head_dim / 2;
    const HeadColumn begin = head_column(half, port_column<P>());
    if (count_ == kWidth && begin.column + kWidth <= half) return read<kSpace>(at(begin));
    typename P::Element buffer[kWidth] = {};
    for_each_run(half, begin, count_, [&](HeadColumn run, int from, int n) {
      std::memcpy(buffer + from, at(run), sizeof(buffer[0]) * static_cast<size_t>(n));
    });
    return read<kSpace>(buffer);
  }

  const Program& program_;
  const TileRun& run_;
  int64_t row_, column_;
  int count_;
};

}  // namespace coda::cpu
