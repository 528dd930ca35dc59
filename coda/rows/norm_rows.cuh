// What an RMSNorm needs of rows in registers: Σx² per 64 columns and x⊙γ. A warp has eight rows of
// 256 columns: so many loads are in flight, and a sector of partials is written at once.
#pragma once
#include "coda/rows/launch.cuh"
#include "coda/rows/vector.cuh"

namespace coda::row {

inline constexpr int kNormRows = 8;

template <class T>
struct NormRows {
  Lines<const T> gamma;
  Lines<T> scaled;  // data is null where it is not wanted
  float* squares;
  int64_t squares_ld, parts;
  int64_t rows, columns;
  int64_t slabs;  // of 256 columns
};

template <class T>
NormRows<T> norm_rows_of(const std::optional<TensorView>& gamma,
                         const std::optional<TensorView>& scaled, const TensorView& squares,
                         int64_t columns) {
  return {lines_of<const T>(gamma),
          lines_of<T>(scaled),
          data_of<float>(squares),
          squares.ld,
          squares.rows,
          squares.columns,
          columns,
          (columns + kWarpColumns - 1) / kWarpColumns};
}

template <class T>
unsigned norm_blocks(const std::string& operation, const NormRows<T>& p) {
  const int64_t warps = (p.rows + kNormRows - 1) / kNormRows * p.slabs;
  return blocks_for(operation, (warps + kWarps - 1) / kWarps);
}

// Where a warp stands; rows is 0 beyond the end.
struct NormPlace {
  int64_t row0, slab, column;
  int rows, count, lane;
};

template <class T>
CODA_DEVICE NormPlace norm_place(const NormRows<T>& p) {
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  NormPlace at;
  at.lane = static_cast<int>(ptx::lane());
  at.row0 = warp / p.slabs * kNormRows;
  at.slab = warp % p.slabs;
  at.column = at.slab * kWarpColumns + at.lane * kVector;
  at.count = count_from(at.column, p.columns);
  const int64_t left = p.rows - at.row0;
  at.rows = left >= kNormRows ? kNormRows : left > 0 ? static_cast<int>(left) : 0;
  return at;
}

// of(r, x): eight elements of the place's r-th row, which may be beyond the last one; stored(r, x)
// is called for those that are not.
template <class T, class Of, class Stored>
CODA_DEVICE void norm_rows(const NormRows<T>& p, const NormPlace& at, Of&& of, Stored&& stored) {
  float gamma[kVector];
  if (p.scaled.data != nullptr) {
    unpack8(load8(p.gamma.data + at.column, at.count, p.gamma.vectors), gamma);
  }
  float kept = 0;  // of eight lanes, which cover 64 columns, the r-th has the sum of row r
  CODA_UNROLL
  for (int r = 0; r < kNormRows; ++r) {
    float x[kVector], sum = 0;
    of(r, x);
    CODA_UNROLL
    for (int i = 0; i < kVector; ++i) sum += x[i] * x[i];
    sum = sum_lanes<8>(sum);
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
    p.squares[part * p.squares_ld + at.row0 + at.lane % kNormRows] = kept;
  }
}

}  // namespace coda::row
