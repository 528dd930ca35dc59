// The producer: one thread that keeps the ring of A and B stages full.
#pragma once
#include "coda/kernel/pace.h"
#include "coda/kernel/slices.h"

namespace coda::kernel {
inline namespace CODA_TARGET {

// Where a block sits in its cluster.
template <class K>
CODA_DEVICE uint32_t rank_row(uint32_t rank) {
  return K::kClusterRows > 1 ? rank % K::kClusterRows : 0;
}
template <class K>
CODA_DEVICE uint32_t rank_column(uint32_t rank) {
  return K::kClusterColumns > 1 ? rank / K::kClusterRows : 0;
}

// Where a block's part of a tile begins; rows: those of a consumer.
template <class K>
CODA_DEVICE int first_row(const TilePlace& place, uint32_t rank, uint32_t consumer) {
  return place.row + static_cast<int>(rank_row<K>(rank)) * K::kRows +
         (K::kPingpong ? 0 : static_cast<int>(consumer) * K::kConsumerRows);
}
template <class K>
CODA_DEVICE int first_column(const TilePlace& place, uint32_t rank) {
  return place.column + static_cast<int>(rank_column<K>(rank)) * K::kColumns;
}

template <class K>
class Producer {
 public:
  CODA_DEVICE Producer(const Arguments<typename K::Program>& arguments, uint32_t shared,
                       uint32_t rank)
      : arguments_(arguments),
        shared_(shared),
        rank_row_(rank_row<K>(rank)),
        rank_column_(rank_column<K>(rank)) {}

  CODA_DEVICE void run(uint32_t cluster) {
    const Grid& grid = arguments_.grid;
    uint32_t i = 0;
    for (uint32_t number; (number = unit_number<K::kNarrows>(grid, cluster, i)) < grid.units; ++i) {
      if (is_paced()) keep_pace(grid, arguments_.pace, i);
      const Unit unit = unit_at<K>(grid, number);
      const TilePlace place =
          tile_place(grid, unit.tile, K::kClusterRows * K::kRows, K::kClusterColumns * K::kColumns);
      // A block whose part of the tile lies outside takes part all the same: it gets zeros.
      const int row = place.row + static_cast<int>(rank_row_) * K::kRows;
      int column = place.column + static_cast<int>(rank_column_) * K::kColumns;
      if constexpr (K::kHalves) {
        in_half_ = column % grid.half;
        column = paired_column(column, grid.half);
      }
      int before = 0;  // blocks of the segments before
      for (int s = 0; s < grid.depth_segments; ++s) {
        const hw::TensorMap* a = &arguments_.a[grid.depth_segments > 1 ? s : place.row_segment];
        const int b = grid.depth_segments > 1 ? s : place.column_segment;
        CODA_NO_UNROLL
        for (int k = first_step(unit, before); k < end_step(unit, before, grid.depth[s]);
             k += kBlockDepth) {
          fill(a, b, row, column, k);
        }
        if constexpr (K::kSplits) before += (grid.depth[s] + kBlockDepth - 1) / kBlockDepth;
      }
    }
    if (is_paced()) leave_pace(grid, arguments_.pace, cluster, i);
  }

 private:
  // The other blocks of a cluster follow the first.
  CODA_DEVICE bool is_paced() const {
    return rank_row_ == 0 && rank_column_ == 0 && arguments_.pace.tiles != nullptr;
  }
  // What a unit has of a segment of the contraction that comes after `before` blocks.
  static CODA_DEVICE int first_step(const Unit& unit, int before) {
    return K::kSplits && unit.first > before ? (unit.first - before) * kBlockDepth : 0;
  }
  static CODA_DEVICE int end_step(const Unit& unit, int before, int depth) {
    const int end = (unit.first + unit.blocks - before) * kBlockDepth;
    return K::kSplits && end < depth ? end : depth;
  }

  CODA_DEVICE void fill(const hw::TensorMap* map_a, int segment_b, int row, int column, int k) {
    const uint32_t barriers = shared_ + K::kOffsetBarriers;
    const uint32_t full = barriers + (K::kFull + stage_) * 8;
    hw::mbarrier_wait(barriers + (K::kEmpty + stage_) * 8, phase_ ^ 1);
    hw::mbarrier_arrive_expect(full, K::kStageBytes);
    load_a(map_a, full, row, k);
    load_b(segment_b, full, column, k);
    if (++stage_ == K::kStages) {
      stage_ = 0;
      phase_ ^= 1;
    }
  }

  // This block's part of A goes to its row of the cluster.
  CODA_DEVICE void load_a(const hw::TensorMap* map, uint32_t full, int row, int k) {
    constexpr int kPart = K::kRows / K::kClusterColumns;
    const uint32_t to = shared_ + K::kOffsetA + stage_ * K::kBytesA +
                        rank_column_ * (K::kBytesA / K::kClusterColumns);
    const int first = row + static_cast<int>(rank_column_) * kPart;
    uint32_t blocks = 0;
    CODA_UNROLL
    for (int j = 0; j < K::kClusterColumns; ++j) blocks |= 1u << (j * K::kClusterRows);
    blocks <<= rank_row_;
    if constexpr (K::kA == OperandMajor::kContraction) {
      load<K::kClusterColumns>(to, map, full, k, first, blocks);
    } else {
      CODA_UNROLL
      for (int j = 0; j < K::kBoxesA; ++j) {
        load<K::kClusterColumns>(to + j * hw::kRowsBoxBytes, map, full, first + j * 64, k, blocks);
      }
    }
  }

  // This block's part of B goes to its column of the cluster.
  CODA_DEVICE void load_b(int segment, uint32_t full, int column, int k) {
    const uint32_t to = shared_ + K::kOffsetB + stage_ * K::kBytesB;
    const uint32_t blocks = ((1u << K::kClusterRows) - 1) << (rank_column_ * K::kClusterRows);
    if constexpr (K::kHalves) {
      CODA_UNROLL
      for (int i = 0; i < 2; ++i) {
        if (K::kClusterRows == 1 || i == static_cast<int>(rank_row_)) {
          load_half(i, to + i * (K::kBytesB / 2), segment, full, column, k, blocks);
        }
      }
    } else if constexpr (K::kAccumulators == 2 && K::kClusterRows == 1) {
      hw::tma_load(to, &arguments_.b[0][segment], full, k, column);
      hw::tma_load(to + K::kBytesB / 2, &arguments_.b[1][segment], full, k, column);
    } else if constexpr (K::kAccumulators ==
                         2) {  // one block fetches the first, the other the second
      const hw::TensorMap* map = &arguments_.b[rank_row_][segment];
      load<K::kClusterRows>(to + rank_row_ * (K::kBytesB / 2), map, full, k, column, blocks);
    } else if constexpr (K::kB == OperandMajor::kContraction) {
      constexpr int kPart = K::kColumns / K::kClusterRows;
      load<K::kClusterRows>(to + rank_row_ * (K::kBytesB / K::kClusterRows),
                            &arguments_.b[0][segment], full, k,
                            column + static_cast<int>(rank_row_) * kPart, blocks);
    } else {
      // By whole boxes, or, where they do not divide, each box by its contraction steps.
      const int box = K::kWholeBoxesB ? static_cast<int>(rank_row_) * K::kBoxesB : 0;
      const int step = K::kWholeBoxesB ? 0 : static_cast<int>(rank_row_) * K::kBoxDepthB;
      CODA_UNROLL
      for (int j = 0; j < K::kBoxesB; ++j) {
        load<K::kClusterRows>(to + (box + j) * hw::kRowsBoxBytes + step * 128,
                              &arguments_.b[0][segment], full, column + (box + j) * 64, k + step,
                              blocks);
      }
    }
  }

  // Half i of the tile's heads, which is one accumulator, box by box. Without divisions: it is
  // asked for with every stage.
  CODA_DEVICE void load_half(int i, uint32_t to, int segment, uint32_t full, int line, int k,
                             uint32_t blocks) {
    const int half = arguments_.grid.half, lines = arguments_.grid.half_lines;
    int in_half = in_half_;
    line += i * half;
    CODA_NO_UNROLL
    for (int done = 0; done < K::kColumns; done += lines) {
      load<K::kClusterRows>(to + done * (kBlockDepth * 2), &arguments_.b[0][segment], full, k, line,
                            blocks);
      line += lines;
      in_half += lines;
      if (in_half == half) {  // the next head's
        in_half = 0;
        line += half;
      }
    }
  }

  template <int kSharers>
  static CODA_DEVICE void load(uint32_t to, const hw::TensorMap* map, uint32_t full, int c0, int c1,
                               uint32_t blocks) {
    if constexpr (kSharers == 1) {
      hw::tma_load(to, map, full, c0, c1);
    } else {
      hw::tma_load_multicast(to, map, full, c0, c1, static_cast<uint16_t>(blocks));
    }
  }

  const Arguments<typename K::Program>& arguments_;
  uint32_t shared_, rank_row_, rank_column_;
  uint32_t stage_ = 0, phase_ = 0;
  int in_half_ = 0;  // where a tile begins in a half of a head
};

}  // namespace CODA_TARGET
}  // namespace coda::kernel
