// A loader: one warp per consumer that brings what its epilogue reads while the mainloop runs, as
// far ahead as there are buffers. Vectors are copied, widened and finished by all lanes; tiles come
// by TMA.
#pragma once
#include "coda/kernel/producer.h"

namespace coda::kernel {
inline namespace CODA_TARGET {

template <class K>
class Loader {
 public:
  CODA_DEVICE Loader(const Arguments<typename K::Program>& arguments, uint32_t shared,
                     uint32_t rank, uint32_t consumer)
      : arguments_(arguments),
        barriers_(shared + K::kOffsetBarriers),
        inputs_(shared + K::kOffsetEpilogue + consumer * K::kEpilogueBytes),
        vectors_(shared + K::kOffsetVectors + consumer * K::kVectorBytes),
        rank_(rank),
        consumer_(consumer),
        lane_(hw::lane()) {}

  CODA_DEVICE void run(uint32_t cluster) {
    const Grid& grid = arguments_.grid;
    const uint32_t step = K::kPingpong ? 2 * grid.clusters : grid.clusters;
    uint32_t turn = 0;
    for (uint32_t number = cluster + (K::kPingpong ? consumer_ * grid.clusters : 0);
         number < grid.units; number += step, ++turn) {
      const uint32_t tile = unit_at<K>(grid, number).tile;
      const TilePlace place =
          tile_place(grid, tile, K::kClusterRows * K::kRows, K::kClusterColumns * K::kColumns);
      const int row = place.row + static_cast<int>(rank_row<K>(rank_)) * K::kRows +
                      (K::kPingpong ? 0 : static_cast<int>(consumer_) * K::kConsumerRows);
      const int column = place.column + static_cast<int>(rank_column<K>(rank_)) * K::kColumns;
      if constexpr (K::kStaging.vector_bytes > 0) load_vectors(place, row, column, turn);
      if constexpr (K::kStaging.inputs > 0) {
        if (lane_ == 0) load_tiles(place, row, column, turn);
        hw::warp_sync();
      }
    }
  }

 private:
  CODA_DEVICE void load_vectors(const TilePlace& place, int row, int column, uint32_t turn) {
    const Grid& grid = arguments_.grid;
    hw::mbarrier_wait(barriers_ + (K::kVectorEmpty + consumer_) * 8, (turn & 1) ^ 1);
    const int rows = grid.rows.size[place.row_segment] - row;
    const int columns = grid.columns.size[place.column_segment] - column;
    for_each_port(arguments_.program, [&](const auto& port, auto index) {
      using P = stdlib::remove_cvref_t<decltype(port)>;
      constexpr int kOffset = K::kStaging.vector_offset[decltype(index)::value];
      if constexpr (kOffset >= 0) {
        if constexpr (P::kOptional && (K::kEither >> decltype(index)::value & 1) != 0) {
          if (!port.given) return;
        }
        constexpr bool kAlongRows =
            P::kKind == PortKind::kPerRow || P::kKind == PortKind::kPerRowFrom;
        const int64_t first = kAlongRows ? origin<P>(grid.rows, place.row_segment) + row
                                         : origin<P>(grid.columns, place.column_segment) + column;
        const int count = kAlongRows ? rows : columns;
        constexpr int kLength = kAlongRows ? K::kConsumerRows : K::kColumns;
        const auto& view = port.view[P::kSegments > 1 ? place.segment() : 0];
        CODA_UNROLL
        for (int h = 0; h < (P::kPaired ? 2 : 1); ++h) {
          CODA_NO_UNROLL
          for (int i = static_cast<int>(lane_); i < kLength; i += 32) {
            uint32_t value = 0;
            if (i < count) value = element(port, view, index_of<P>(first + i, h));
            hw::store_shared(vectors_ + kOffset + (h * kLength + i) * 4, value);
          }
        }
      }
    });
    hw::mbarrier_arrive(barriers_ + (K::kVectorFull + consumer_) * 8);
  }

  // Where a segment begins in a port: a port in several segments has a view of each.
  template <class P>
  static CODA_DEVICE int64_t origin(const Axis& axis, int segment) {
    return P::kSegments > 1 ? 0 : axis.origin[segment];
  }

  // Where the value for a row or column of accumulator h stands in a port.
  template <class P>
  CODA_DEVICE int64_t index_of(int64_t i, int h) const {
    if constexpr (P::kPaired || P::kKind == PortKind::kPerHead) {
      const int half = arguments_.grid.half, column = static_cast<int>(i);
      const int head = P::kKind == PortKind::kPerHead ? 0 : column / half * 2;
      return (head + h) * half + column % half;
    } else {
      return i;
    }
  }

  template <class P, class View>
  static CODA_DEVICE uint32_t element(const P& port, const View& view, int64_t i) {
    if constexpr (P::kKind == PortKind::kPerRowFrom) {
      using Reduction = typename P::Finish::Reduction;
      // Loads in flight: one at a time would outlast the mainloop; more floats than these would not
      // fit the registers of a feeding warp.
      constexpr int kAhead = 32 / sizeof(typename P::State);
      auto state = Reduction::template identity<float>();
      const auto* from = view.data + i;
      int64_t part = 0;
      CODA_NO_UNROLL
      for (; part + kAhead <= view.rows; part += kAhead) {
        typename P::State ahead[kAhead];
        CODA_UNROLL
        for (int n = 0; n < kAhead; ++n) ahead[n] = from[n * view.ld];
        CODA_UNROLL
        for (int n = 0; n < kAhead; ++n) state = Reduction::combine(state, ahead[n]);
        from += kAhead * view.ld;
      }
      CODA_NO_UNROLL
      for (; part < view.rows; ++part, from += view.ld) state = Reduction::combine(state, *from);
      return stdlib::bit_cast<uint32_t>(port.finish.finish(state));
    } else if constexpr (IntegerElement<typename P::Element>) {
      return static_cast<uint32_t>(saturate(view.data[i]));
    } else {
      return stdlib::bit_cast<uint32_t>(to_float(view.data[i]));
    }
  }

  // A sub-tile that has to wait for a buffer waits in L2 at least: the next one of each buffer, not
  // all at once, which would hold up the mainloop.
  CODA_DEVICE void load_tiles(const TilePlace& place, int row, int column, uint32_t turn) {
    CODA_NO_UNROLL
    for (int s = 0; s < K::kSubs; ++s) {
      const uint32_t use = turn * K::kSubs + static_cast<uint32_t>(s);
      const uint32_t set = use % K::kInputSets, phase = use / K::kInputSets & 1;
      const uint32_t number = consumer_ * K::kInputSets + set;
      const uint32_t full = barriers_ + (K::kInputFull + number) * 8;
      hw::mbarrier_wait(barriers_ + (K::kInputEmpty + number) * 8, phase ^ 1);
      hw::mbarrier_arrive_expect(full, K::kStaging.input_bytes);
      for_each_input([&](const hw::TensorMap* maps, int offset) {
        hw::tma_load(inputs_ + set * K::kStaging.input_set + offset, maps + place.segment(), full,
                     column + s % K::kSubsAcross * K::kSubColumns, row + s / K::kSubsAcross * 64);
      });
      if (s + K::kInputSets < K::kSubs) prefetch(place, row, column, s + K::kInputSets);
    }
  }

  CODA_DEVICE void prefetch(const TilePlace& place, int row, int column, int s) {
    for_each_input([&](const hw::TensorMap* maps, int) {
      hw::tma_prefetch(maps + place.segment(), column + s % K::kSubsAcross * K::kSubColumns,
                       row + s / K::kSubsAcross * 64);
    });
  }

  template <class F>
  CODA_DEVICE void for_each_input(F&& f) {
    for_each_port(arguments_.program, [&](const auto& port, auto index) {
      using P = stdlib::remove_cvref_t<decltype(port)>;
      constexpr int kIndex = decltype(index)::value;
      if constexpr (P::kKind == PortKind::kPerElement && K::kStaging.tile_offset[kIndex] >= 0) {
        constexpr int kOffset = K::kStaging.tile_offset[kIndex];
        f(arguments_.port[kIndex], kOffset);
      }
    });
  }

  const Arguments<typename K::Program>& arguments_;
  uint32_t barriers_, inputs_, vectors_, rank_, consumer_, lane_;
};

}  // namespace CODA_TARGET
}  // namespace coda::kernel
