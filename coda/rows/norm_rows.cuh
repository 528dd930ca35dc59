// What a norm needs of rows in registers: Σx² (RMSNorm) or moments (LayerNorm) per 64 columns, and
// x⊙γ. A warp has eight rows of 256 columns: so many loads are in flight, and a sector of partials
// is written at once.
#pragma once
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {

inline constexpr int kNormRows = 8;

// Of one element, and of eight lanes, which cover 64 columns.
CODA_DEVICE void take(float& squares, float x) { squares += x * x; }
CODA_DEVICE void take(Moments::State<float>& state, float x) {
  state.sum += x;
  state.squares += x * x;
}
CODA_DEVICE float sum_part(float squares) { return sum_lanes<8>(squares); }
CODA_DEVICE Moments::State<float> sum_part(const Moments::State<float>& state) {
  return {sum_lanes<8>(state.sum), sum_lanes<8>(state.squares)};
}

// State: float, Σx², or Moments::State<float>.
template <class T, class State = float>
struct NormRows {
  Lines<const T> gamma;
  Lines<T> scaled;  // data is null where it is not wanted
  State* partials;
  int64_t partials_ld, parts;
  int64_t rows, columns;
  int64_t slabs;  // of 256 columns
};

inline int64_t slabs_of(int64_t columns) { return (columns + kWarpColumns - 1) / kWarpColumns; }

template <class T, class State = float>
NormRows<T, State> norm_rows_of(const std::optional<TensorView>& gamma,
                                const std::optional<TensorView>& scaled, const TensorView& partials,
                                int64_t columns) {
  return {lines_of<const T>(gamma),
          lines_of<T>(scaled),
          data_of<State>(partials),
          partials.ld,
          partials.rows,
          partials.columns,
          columns,
          slabs_of(columns)};
}

// A warp for eight rows of every slab.
inline unsigned norm_blocks(const std::string& operation, int64_t rows, int64_t slabs) {
  const int64_t warps = (rows + kNormRows - 1) / kNormRows * slabs;
  return blocks_for(operation, (warps + kWarps - 1) / kWarps);
}

// Where a warp stands; rows is 0 beyond the end.
struct NormPlace {
  int64_t row0, slab, column;
  int rows, count, lane;
};

CODA_DEVICE NormPlace norm_place(int64_t rows, int64_t columns, int64_t slabs) {
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  NormPlace at;
  at.lane = static_cast<int>(ptx::lane());
  at.row0 = warp / slabs * kNormRows;
  at.slab = warp % slabs;
  at.column = at.slab * kWarpColumns + at.lane * kVector;
  at.count = count_from(at.column, columns);
  const int64_t left = rows - at.row0;
  at.rows = left >= kNormRows ? kNormRows : left > 0 ? static_cast<int>(left) : 0;
  return at;
}

// of(r, x): eight elements of the place's r-th row, which may be beyond the last one; stored(r, x)
// is called for those that are not.
template <class T, class State, class Of, class Stored>
CODA_DEVICE void norm_rows(const NormRows<T, State>& p, const NormPlace& at, Of&& of,
                           Stored&& stored) {
  float gamma[kVector];
  if (p.scaled.data != nullptr) {
    unpack8(load8(p.gamma.data + at.column, at.count, p.gamma.vectors), gamma);
  }
  State kept{};  // of eight lanes, which cover 64 columns, the r-th has the sums of row r
  CODA_UNROLL
  for (int r = 0; r < kNormRows; ++r) {
    float x[kVector];
    State sum{};
    of(r, x);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) take(sum, x[i]);
    sum = sum_part(sum);
    if (at.lane % kNormRows == r) kept = sum;
    if (r >= at.rows) continue;
    stored(r, x);
    if (p.scaled.data == nullptr) continue;
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) x[i] *= gamma[i];
    store8(p.scaled.line(at.row0 + r) + at.column, at.count, p.scaled.vectors, x);
  }
  const int64_t part = at.slab * (kWarpColumns / kPartialWidth) + at.lane / kNormRows;
  if (part < p.parts && at.lane % kNormRows < at.rows) {
    p.partials[part * p.partials_ld + at.row0 + at.lane % kNormRows] = kept;
  }
}

}  // namespace coda::row
