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
      : arguments_(arguments), shared_(shared), rank_(rank), consumer_(consumer) {}

  CODA_DEVICE void run(uint32_t cluster) {
    const Grid& grid = arguments_.grid;
    for (uint32_t turn = 0;; ++turn) {
      const uint32_t number = unit_number<K::kNarrows>(grid, cluster, own_unit<K>(consumer_, turn));
      if (number >= grid.units) break;
      const TilePlace place =
          tile_place(grid, unit_at<K>(grid, number).tile, K::kClusterRows * K::kRows,
                     K::kClusterColumns * K::kColumns);
      const int row = first_row<K>(place, rank_, consumer_), column = first_column<K>(place, rank_);
      if constexpr (K::kStaging.vector_bytes > 0) load_vectors(place, row, column, turn);
      if constexpr (K::kStaging.inputs > 0) {
        if (hw::lane_again() == 0) load_tiles(place, row, column, turn);
        hw::warp_sync();
      }
    }
  }

 private:
  // Few registers are a feeding warp's: what follows from others is worked out where it is used.
  CODA_DEVICE uint32_t barrier(uint32_t number) const {
    return shared_ + K::kOffsetBarriers + number * 8;
  }
  CODA_DEVICE uint32_t inputs() const {
    return shared_ + K::kOffsetEpilogue + consumer_ * K::kEpilogueBytes;
  }
  CODA_DEVICE uint32_t vectors() const {
    return shared_ + K::kOffsetVectors + consumer_ * K::kVectorBytes;
  }

  CODA_DEVICE void load_vectors(const TilePlace& place, int row, int column, uint32_t turn) {
    const Grid& grid = arguments_.grid;
    hw::mbarrier_wait(barrier(K::kVectorEmpty + consumer_), (turn & 1) ^ 1);
    const int rows = grid.rows.size[place.row_segment] - row;
    const int columns = grid.columns.size[place.column_segment] - column;
    // Tiles that follow each other are often of the same rows, whose vectors are there already.
    const uint32_t rows_at = static_cast<uint32_t>(
        place.row / (K::kClusterRows * K::kRows) * kMaxSegments + place.segment());
    const bool same_rows = rows_at == rows_at_;
    rows_at_ = rows_at;
    for_each_port(arguments_.program, [&](const auto& port, auto index) {
      using P = stdlib::remove_cvref_t<decltype(port)>;
      constexpr int kOffset = K::kStaging.vector_offset[decltype(index)::value];
      if constexpr (kOffset >= 0) {
        if constexpr (P::kOptional && (K::kEither >> decltype(index)::value & 1) != 0) {
          if (!port.given) return;
        }
        constexpr bool kAlongRows =
            P::kKind == PortKind::kPerRow || P::kKind == PortKind::kPerRowFrom;
        if (kAlongRows && same_rows) return;
        const int64_t first = kAlongRows ? origin<P>(grid.rows, place.row_segment) + row
                                         : origin<P>(grid.columns, place.column_segment) + column;
        const int count = kAlongRows ? rows : columns;
        constexpr int kLength = kAlongRows ? K::kConsumerRows : K::kColumns;
        const auto& view = port.view[P::kSegments > 1 ? place.segment() : 0];
        if constexpr (P::kKind == PortKind::kPerRowFrom && kLength == 4 * 32) {
          if (count >= kLength && comes_in_fours(view, first)) {
            return finish_fours(port, view, first, vectors() + kOffset);
          }
        }
        CODA_UNROLL
        for (int h = 0; h < (P::kPaired ? 2 : 1); ++h) {
          CODA_NO_UNROLL
          for (int i = static_cast<int>(hw::lane_again()); i < kLength; i += 32) {
            uint32_t value = 0;
            if (i < count) value = element(port, view, index_of<P>(first + i, h));
            hw::store_shared(vectors() + kOffset + (h * kLength + i) * 4, value);
          }
        }
      }
    });
    hw::mbarrier_arrive(barrier(K::kVectorFull + consumer_));
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

  // Partials of four neighbouring rows at a time: as few loads as there are in flight, they bring
  // four times as much.
  struct alignas(16) Four {
    float row[4];
  };
  template <class View>
  static CODA_DEVICE bool comes_in_fours(const View& view, int64_t first) {
    return sizeof(*view.data) == 4 && view.ld % 4 == 0 &&
           reinterpret_cast<uintptr_t>(view.data + first) % 16 == 0;
  }
  template <class P, class View>
  CODA_DEVICE void finish_fours(const P& port, const View& view, int64_t first, uint32_t to) {
    using Reduction = typename P::Finish::Reduction;
    if constexpr (sizeof(typename P::State) == 4) {
      constexpr int kAhead = 3;
      float state[4];
      CODA_UNROLL
      for (int r = 0; r < 4; ++r) state[r] = Reduction::template identity<float>();
      const auto* from = view.data + first + 4 * hw::lane_again();
      const auto add = [&](const Four& more) {
        CODA_UNROLL
        for (int r = 0; r < 4; ++r) state[r] = Reduction::combine(state[r], more.row[r]);
      };
      int left = static_cast<int>(view.rows);
      CODA_NO_UNROLL
      for (; left >= kAhead; left -= kAhead) {
        Four ahead[kAhead];
        CODA_UNROLL
        for (int n = 0; n < kAhead; ++n, from += view.ld) {
          ahead[n] = *reinterpret_cast<const Four*>(from);
        }
        CODA_UNROLL
        for (int n = 0; n < kAhead; ++n) add(ahead[n]);
      }
      CODA_NO_UNROLL
      for (; left > 0; --left, from += view.ld) add(*reinterpret_cast<const Four*>(from));
      CODA_UNROLL
      for (int r = 0; r < 4; ++r) {
        hw::store_shared(to + (4 * hw::lane_again() + r) * 4,
                         stdlib::bit_cast<uint32_t>(port.finish.finish(state[r])));
      }
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
      const uint32_t full = barrier(K::kInputFull + number);
      hw::mbarrier_wait(barrier(K::kInputEmpty + number), phase ^ 1);
      hw::mbarrier_arrive_expect(full, K::kStaging.input_bytes);
      for_each_input([&](const hw::TensorMap* maps, int offset) {
        hw::tma_load(inputs() + set * K::kStaging.input_set + offset, maps + place.segment(), full,
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
  uint32_t shared_, rank_, consumer_;
  uint32_t rows_at_ = ~0u;  // of the tile whose vectors were made last
};

}  // namespace CODA_TARGET
}  // namespace coda::kernel
