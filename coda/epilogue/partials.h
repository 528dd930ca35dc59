// Partials leave the block where the columns of a row partial or the rows of a column partial end.
#pragma once
#include "coda/epilogue/row_state.h"
#include "coda/epilogue/thread.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// Where a partial's columns end after this sub-tile: over the four lanes of a row, then out.
template <class K, int kSub, class Program>
CODA_DEVICE void close_rows(const Program& program, const EpilogueThread& thread,
                            RowStates<Program>& rows) {
  constexpr int kBlock = kSub / K::kSubsAcross, kEnd = (kSub % K::kSubsAcross + 1) * K::kSubColumns;
  for_each_port(program, [&](const auto& port, auto index) {
    using P = stdlib::remove_cvref_t<decltype(port)>;
    constexpr int kIndex = decltype(index)::value;
    if constexpr (P::kKind == PortKind::kRowReduce &&
                  (!P::kOptional || (K::kGiven >> kIndex & 1) != 0)) {
      static_assert(K::kColumns % P::kWidth == 0, "coda: a tile holds whole row partials");
      if constexpr (kEnd % P::kWidth == 0) {
        using Reduction = typename P::Reduction;
        auto& state = row_state<kIndex, P>(rows);
        // All shuffles before the first divergent store.
        CODA_UNROLL
        for (int h = 0; h < 2; ++h) {
          state[h] = Reduction::combine(state[h], shuffle_state(state[h], 1));
          state[h] = Reduction::combine(state[h], shuffle_state(state[h], 2));
        }
        const uint32_t lane = hw::lane_again();
        const int first = thread.column + kEnd - P::kWidth;
        const int row = thread.row + kBlock * 64 + static_cast<int>(lane >> 2);
        const auto& view = port.view[0];
        const int before =
            P::kWidth == kPartialWidth ? thread.row_partial : thread.wide_row_partial;
        const int64_t part = before + first / P::kWidth;
        auto* to = view.data + part * view.ld + thread.row_origin + row;
        if ((lane & 3) == 0 && first < thread.columns_end) {
          if (row < thread.rows_end) to[0] = state[0];
          if (row + 8 < thread.rows_end) to[8] = state[1];
        }
        state[0] = state[1] = Reduction::template identity<float>();
      }
    }
  });
}

// The four warps' states of 64 rows become a partial, in the order of the warps. Two turns of
// memory, so that one barrier does.
template <class K, int kBlock, class Program>
CODA_DEVICE void close_columns(const Program& program, const EpilogueThread& thread,
                               uint32_t consumer) {
  constexpr uint32_t kColumnBarrier = 4;  // and the next: one per consumer
  hw::named_sync(kColumnBarrier + consumer, 128);
  const int first_row = thread.row - static_cast<int>(thread.warp) * 16 + kBlock * 64;
  for_each_port(program, [&](const auto& port, auto index) {
    using P = stdlib::remove_cvref_t<decltype(port)>;
    constexpr int kOffset = K::kStaging.column_offset[decltype(index)::value];
    if constexpr (kOffset >= 0) {
      using State = typename P::State;
      const auto& view = port.view[0];
      const int64_t part = thread.column_partial + first_row / 64;
      const int left = thread.columns_end - thread.column;
      const int columns = left < K::kColumns ? left : K::kColumns;  // beyond there are no states
      CODA_NO_UNROLL
      for (int c = static_cast<int>(thread.warp * 32 + thread.lane); c < columns; c += 128) {
        auto state = P::Reduction::template identity<float>();
        CODA_UNROLL
        for (uint32_t w = 0; w < 4; ++w) {
          uint32_t from =
              thread.columns + w * K::kStaging.column_bytes + kOffset + c * sizeof(State);
          State more;
          for_each_member(more, [&](float& member) {
            member = stdlib::bit_cast<float>(hw::load_shared(from));
            from += 4;
          });
          state = P::Reduction::combine(state, more);
        }
        if (first_row < thread.rows_end) {
          view.data[part * view.ld + thread.column_origin + thread.column + c] = state;
        }
      }
    }
  });
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
