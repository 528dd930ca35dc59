// Runs a program over a consumer's tile, sub-tile by sub-tile: waits for inputs, applies the
// program chunk by chunk, ships outputs, closes partials, and gives buffers back.
#pragma once
#include "coda/epilogue/copy_out.h"
#include "coda/epilogue/partials.h"
#include "coda/epilogue/tile.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// K: KernelTraits.
template <class K, class Arguments>
class Driver {
  using Program = typename K::Program;
  static constexpr bool kGivesBackHalfway = K::kInPlace && K::kChunks > 1 && K::kStoreLag > 0;

 public:
  CODA_DEVICE Driver(const Arguments& arguments, const EpilogueThread& thread, uint32_t barriers,
                     uint32_t consumer)
      : arguments_(arguments),
        thread_(thread),
        columns_(thread.columns),
        barriers_(barriers),
        consumer_(consumer) {}

  // The thread's place, to be set before each tile.
  CODA_DEVICE EpilogueThread& thread() { return thread_; }

  // turn: how many tiles this consumer has done before.
  CODA_DEVICE void run(const float (&accumulators)[K::kRowBlocks][K::kRegisters], uint32_t turn) {
    RowStates<Program> rows;
    reset_rows(rows);
    GroupSums groups{};
    run_subs(accumulators, rows, groups, turn, stdlib::make_integer_sequence<int, K::kSubs>{});
  }

  // Gives a tile's inputs back unused.
  CODA_DEVICE void skip(uint32_t turn) {
    if constexpr (K::kStaging.inputs > 0) {
      if (thread_.lane == 0) {
        CODA_NO_UNROLL
        for (uint32_t sub = 0; sub < K::kSubs; ++sub) {
          const uint32_t use = turn * K::kSubs + sub, set = use % K::kInputSets;
          hw::mbarrier_wait(input_full(set), use / K::kInputSets & 1);
          if (!K::kOwesLast || sub + K::kStoreLag < K::kSubs) {
            hw::mbarrier_arrive(input_empty(set));
          }
        }
      }
      hw::warp_sync();
    }
  }

  // The last sets of a tile, whose stores have not been waited for (K::kOwesLast).
  CODA_DEVICE void give_back_last() {
    if (thread_.lane == 0) give_back_lagging();
    hw::warp_sync();
  }

 private:
  CODA_DEVICE uint32_t input_full(uint32_t set) const {
    return barriers_ + (K::kInputFull + consumer_ * K::kInputSets + set) * 8;
  }
  CODA_DEVICE uint32_t input_empty(uint32_t set) const {
    return barriers_ + (K::kInputEmpty + consumer_ * K::kInputSets + set) * 8;
  }

  // A tile's last sub-tile has the last set.
  CODA_DEVICE void give_back_lagging() {
    hw::template bulk_wait_read<0>();
    CODA_UNROLL
    for (int set = K::kInputSets - K::kStoreLag; set < K::kInputSets; ++set) {
      hw::mbarrier_arrive(input_empty(static_cast<uint32_t>(set)));
    }
  }

  // Neither this nor run_chunks is a lambda: whether those are inlined, which accumulators in
  // registers take, is the compiler's choice.
  template <int... kSub>
  CODA_DEVICE void run_subs(const float (&accumulators)[K::kRowBlocks][K::kRegisters],
                            RowStates<Program>& rows, GroupSums& groups, uint32_t turn,
                            stdlib::integer_sequence<int, kSub...>) {
    (run_sub<kSub>(accumulators[kSub / K::kSubsAcross], rows, groups, turn), ...);
  }

  template <int kSub>
  CODA_DEVICE void run_sub(const float (&accumulators)[K::kRegisters], RowStates<Program>& rows,
                           GroupSums& groups, uint32_t turn) {
    constexpr int kBlock = kSub / K::kSubsAcross, kAcross = kSub % K::kSubsAcross;
    constexpr uint32_t kSet = kSub % K::kInputSets;
    if constexpr (K::kReducesColumns && kAcross == 0) {
      thread_.columns =
          columns_ + ((turn * K::kRowBlocks + kBlock) & 1) * 4 * K::kStaging.column_bytes;
    }
    if constexpr (K::kStaging.inputs > 0) {
      static_assert(K::kSubs % K::kInputSets == 0);
      const uint32_t use = turn * (K::kSubs / K::kInputSets) + kSub / K::kInputSets;
      hw::mbarrier_wait(input_full(kSet), use & 1);
    }
    const uint32_t input = thread_.input + kSet * K::kStaging.input_set;
    const uint32_t output =
        K::kInPlace ? input : thread_.output + kSub % K::kOutputSets * K::kStaging.output_set;
    if constexpr (K::kGroups) {
      if (kAcross * K::kSubColumns % thread_.half == 0) {
        sum_groups<kBlock, kAcross * K::kChunks>(accumulators, rows, groups);
      }
    }
    run_chunks<kSub>(accumulators, rows, groups, input, output,
                     stdlib::make_integer_sequence<int, K::kChunks>{});
    ship<kSub>(output);
    if constexpr (K::kReducesRows) close_rows<K, kSub>(arguments_.program, thread_, rows);
    if constexpr (K::kReducesColumns && kAcross == K::kSubsAcross - 1) {
      close_columns<K, kBlock>(arguments_.program, thread_, consumer_);
    }
  }

  template <int kSub, int... kChunk>
  CODA_DEVICE void run_chunks(const float (&accumulators)[K::kRegisters], RowStates<Program>& rows,
                              GroupSums& groups, uint32_t input, uint32_t output,
                              stdlib::integer_sequence<int, kChunk...>) {
    (run_chunk<kSub, kChunk>(accumulators, rows, groups, input, output), ...);
  }

  template <int kSub, int kChunk>
  CODA_DEVICE void run_chunk(const float (&accumulators)[K::kRegisters], RowStates<Program>& rows,
                             GroupSums& groups, uint32_t input, uint32_t output) {
    if constexpr (kChunk == K::kChunks / 2) give_back_halfway<kSub>();
    if constexpr (K::kNarrows) {  // such tiles may end well before
      if (thread_.column + kSub % K::kSubsAcross * K::kSubColumns >= thread_.columns_end) return;
    }
    apply<kSub / K::kSubsAcross, kSub % K::kSubsAcross, kChunk>(accumulators, rows, groups, input,
                                                                output);
  }

  // In place a set is given back when its stores have been read, some sub-tiles later: halfway
  // through one, so that there is time for both the stores before and the loads after.
  template <int kSub>
  CODA_DEVICE void give_back_halfway() {
    if constexpr (kGivesBackHalfway && kSub >= K::kStoreLag) {
      if (hw::lane_again() == 0) give_back_stored<kSub, K::kStoreLag - 1>();
      hw::warp_sync();
    }
  }
  // kPending: of the stores since, those that are on their way.
  template <int kSub, int kPending>
  CODA_DEVICE void give_back_stored() {
    hw::template bulk_wait_read<kPending>();
    hw::mbarrier_arrive(input_empty((kSub - K::kStoreLag) % K::kInputSets));
  }

  template <int kBlock, int kAcross, int kChunk, bool kCollects = false>
  CODA_DEVICE void apply(const float (&accumulators)[K::kRegisters], RowStates<Program>& rows,
                         GroupSums& groups, uint32_t input, uint32_t output) {
    Tile<K, kBlock, kAcross, kChunk, kCollects> tile(arguments_.program, thread_, accumulators,
                                                     rows, groups, input, output);
    arguments_.program(tile);
  }

  // Of the head that begins with chunk kFirst of the tile.
  template <int kBlock, int kFirst>
  CODA_DEVICE void sum_groups(const float (&accumulators)[K::kRegisters], RowStates<Program>& rows,
                              GroupSums& groups) {
    groups = {};
    [&]<int... kMore>(stdlib::integer_sequence<int, kMore...>) {
      const auto collect = [&]<int kChunk>() {
        if ((kChunk - kFirst) * K::kChunk >= thread_.half) return;
        apply<kBlock, kChunk / K::kChunks, kChunk % K::kChunks, true>(accumulators, rows, groups, 0,
                                                                      0);
      };
      (collect.template operator()<kFirst + kMore>(), ...);
    }(stdlib::make_integer_sequence<int, K::kSubsAcross * K::kChunks - kFirst>{});
    fold_groups(groups);
  }

  // One bulk group per sub-tile carries all of its outputs.
  template <int kSub>
  CODA_DEVICE void ship(uint32_t output) {
    constexpr int kBlock = kSub / K::kSubsAcross, kAcross = kSub % K::kSubsAcross;
    constexpr uint32_t kSet = kSub % K::kInputSets;
    if constexpr (K::kStaging.outputs > 0) hw::fence_proxy_async();
    hw::warp_sync();
    const int row = thread_.row + kBlock * 64, column = thread_.column + kAcross * K::kSubColumns;
    for_each_output([&](const auto& port, auto, uint32_t offset) {
      if (ends_within(port, column)) copy_out<K>(port, thread_, output + offset, row, column);
    });
    if (hw::lane_again() == 0) {
      if constexpr (K::kStaging.inputs > 0 && !K::kInPlace) hw::mbarrier_arrive(input_empty(kSet));
      if constexpr (K::kStaging.outputs > 0) {
        for_each_output([&](const auto& port, auto index, uint32_t offset) {
          if (ends_within(port, column)) return;
          using P = stdlib::remove_cvref_t<decltype(port)>;
          const hw::TensorMap* map = &arguments_.port[index][thread_.segment];
          if constexpr (P::kPaired) {
            constexpr uint32_t kHalf = kRowBlock * K::kSubColumns * sizeof(typename P::Element);
            const int first = column + column / thread_.half * thread_.half;
            hw::tma_store(map, output + offset, first, row);
            hw::tma_store(map, output + offset + kHalf, first + thread_.half, row);
          } else {
            hw::tma_store(map, output + offset, column, row);
          }
        });
        hw::bulk_commit();
      }
      if constexpr (K::kInPlace && !kGivesBackHalfway && kSub >= K::kStoreLag) {
        give_back_stored<kSub, K::kStoreLag>();
      }
      if constexpr (K::kInPlace && kSub == K::kSubs - 1 && !K::kOwesLast) give_back_lagging();
    }
    hw::warp_sync();
  }

  // f(port, index, offset of the warp's slab in a set of outputs).
  template <class F>
  CODA_DEVICE void for_each_output(F&& f) {
    for_each_port(arguments_.program, [&](const auto& port, auto index) {
      using P = stdlib::remove_cvref_t<decltype(port)>;
      if constexpr (P::kKind == PortKind::kStore) {
        constexpr int kOffset = K::kStaging.tile_offset[decltype(index)::value];
        constexpr uint32_t kSlab = 16 * K::kSubColumns * sizeof(typename P::Element);
        if constexpr (kOffset >= 0) f(port, index, kOffset + thread_.warp * kSlab);
      }
    });
  }

  // TMA cuts a line off at a multiple of 16 bytes only: it would write beyond the last column.
  template <class P>
  CODA_DEVICE bool ends_within(const P&, int column) const {
    constexpr int kGranule = 16 / sizeof(typename P::Element);
    return K::kAnyColumns && !P::kPaired && thread_.columns_end % kGranule != 0 &&
           column + K::kSubColumns > thread_.columns_end;
  }

  CODA_DEVICE void reset_rows(RowStates<Program>& rows) {
    for_each_port(arguments_.program, [&](const auto& port, auto index) {
      using P = stdlib::remove_cvref_t<decltype(port)>;
      if constexpr (P::kKind == PortKind::kRowReduce) {
        auto& state = row_state<decltype(index)::value, P>(rows);
        state[0] = state[1] = P::Reduction::template identity<float>();
      }
    });
  }

  const Arguments& arguments_;
  EpilogueThread thread_;
  uint32_t columns_, barriers_, consumer_;
};

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
