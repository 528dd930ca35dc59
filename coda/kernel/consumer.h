// A consumer: a warpgroup that multiplies its tiles and runs the program on them.
#pragma once
#include "coda/epilogue/driver.h"
#include "coda/kernel/producer.h"

namespace coda::kernel {
inline namespace CODA_TARGET {

constexpr hw::Contiguous contiguous(OperandMajor major) {
  return major == OperandMajor::kContraction ? hw::Contiguous::kContraction : hw::Contiguous::kRows;
}

template <class K>
class Consumer {
  using Program = typename K::Program;
  using Accumulators = float[K::kRowBlocks][K::kRegisters];
  static constexpr uint32_t kTurnBarrier = 1;  // and the next: "consumer w may start its mainloop"

 public:
  CODA_DEVICE Consumer(const Arguments<Program>& arguments, uint32_t shared, uint32_t rank,
                       uint32_t consumer, uint32_t warp)
      : grid_(arguments.grid),
        shared_(shared),
        barriers_(shared + K::kOffsetBarriers),
        rank_(rank),
        consumer_(consumer),
        slices_(arguments.grid, arguments.workspace, rank, consumer, warp),
        driver_(arguments, thread_in(shared, consumer, warp), barriers_, consumer) {}

  CODA_DEVICE void run(uint32_t cluster) {
    if (K::kPingpong && consumer_ == 1) hw::named_arrive(kTurnBarrier, 256);  // consumer 0 begins
    uint32_t turn = 0, before = 0;
    if constexpr (K::kSplits && K::kPingpong) {
      if (consumer_ == 1) before = blocks_of(cluster);
    }
    const auto number_of = [&](uint32_t i) { return unit_number<K::kNarrows>(grid_, cluster, i); };
    for (;; ++turn) {
      const uint32_t i = own_unit<K>(consumer_, turn), number = number_of(i);
      if (number >= grid_.units) break;
      const Unit unit = unit_at<K>(grid_, number);
      if constexpr (!K::kSplits) before = i * static_cast<uint32_t>(unit.blocks);
      Accumulators accumulators;
      const uint32_t inside = columns_inside(unit.tile);
      const bool more = number_of(i + 1) < grid_.units;
      // The hand-over also keeps the parity waits unambiguous: all earlier blocks have arrived.
      // What the barrier's number depends on is there before it: afterwards the tensor cores wait.
      if constexpr (K::kPingpong) hw::named_sync(kTurnBarrier + consumer_ + (inside >> 31), 256);
      multiply_inside(accumulators, inside, unit.blocks, before, turn, more);
      bool finishes = true;
      if constexpr (K::kSplits) {
        before += blocks_of(number) + (K::kPingpong ? blocks_of(number + grid_.clusters) : 0);
        if (unit.tile >= grid_.uncut) finishes = slices_.add(accumulators, unit);
      }
      place(unit_at<K>(grid_, number_of(i)).tile);
      if constexpr (K::kStaging.vector_bytes > 0) {
        hw::mbarrier_wait(barriers_ + (K::kVectorFull + consumer_) * 8, turn & 1);
      }
      if (finishes) {
        driver_.run(accumulators, turn);
      } else {
        driver_.skip(turn);
      }
      if constexpr (K::kStaging.vector_bytes > 0) {
        hw::warp_sync();
        if (hw::lane() == 0) hw::mbarrier_arrive(barriers_ + (K::kVectorEmpty + consumer_) * 8);
      }
    }
    if constexpr (K::kOwesLast) {
      if (turn > 0) driver_.give_back_last();
    }
    hw::bulk_wait();
  }

 private:
  static CODA_DEVICE epilogue::EpilogueThread thread_in(uint32_t shared, uint32_t consumer,
                                                        uint32_t warp) {
    epilogue::EpilogueThread thread{};
    thread.lane = hw::lane();
    thread.warp = warp;
    thread.matrix_line = epilogue::matrix_line<K::kSubColumns * 2>(warp, thread.lane);
    thread.input = shared + K::kOffsetEpilogue + consumer * K::kEpilogueBytes;
    thread.output = thread.input + K::kInputBytes;
    thread.vectors = shared + K::kOffsetVectors + consumer * K::kVectorBytes;
    thread.columns = shared + K::kOffsetColumns + consumer * K::kColumnBytes;
    return thread;
  }

  CODA_DEVICE uint32_t blocks_of(uint32_t number) const {
    return static_cast<uint32_t>(unit_at<K>(grid_, number).blocks);
  }

  CODA_DEVICE void place(uint32_t tile) {
    const TilePlace place =
        tile_place(grid_, tile, K::kClusterRows * K::kRows, K::kClusterColumns * K::kColumns);
    epilogue::EpilogueThread& thread = driver_.thread();
    thread.segment = place.segment();
    thread.half = grid_.half;
    thread.over_half = grid_.over_half;
    thread.row = first_row<K>(place, rank_, consumer_) + static_cast<int>(thread.warp) * 16;
    thread.column = first_column<K>(place, rank_);
    if constexpr (K::kHalves) thread.in_half = thread.column % grid_.half;
    thread.rows_end = grid_.rows.size[place.row_segment];
    thread.columns_end = grid_.columns.size[place.column_segment];
    thread.row_origin = grid_.rows.origin[place.row_segment];
    thread.column_origin = grid_.columns.origin[place.column_segment];
    thread.row_partial = grid_.columns.partial[place.column_segment];
    thread.wide_row_partial = grid_.columns.wide_partial[place.column_segment];
    thread.column_partial = grid_.rows.partial[place.row_segment];
  }

  // The barrier that this lane frees a stage on, for its warp: one lane per block that writes into
  // this one, those of its column of the cluster first, then the others of its row.
  CODA_DEVICE uint32_t empty_barrier() const {
    const uint32_t empty = barriers_ + K::kEmpty * 8;
    if constexpr (K::kCluster == 1) {
      return empty;
    } else {
      const uint32_t row = rank_row<K>(rank_), column = rank_column<K>(rank_);
      const uint32_t lane = hw::lane_again(), other = lane - K::kClusterRows;
      const uint32_t across = other + (other >= column ? 1 : 0);
      const uint32_t peer = lane < K::kClusterRows ? lane + column * K::kClusterRows
                            : lane < K::kLinks     ? row + across * K::kClusterRows
                                                   : rank_;
      return hw::cluster_address(empty, peer);
    }
  }
  static CODA_DEVICE void release(uint32_t barrier) {
    if constexpr (K::kCluster > 1) {
      hw::mbarrier_arrive_cluster(barrier);
    } else {
      hw::mbarrier_arrive(barrier);
    }
  }

  static CODA_DEVICE void pin(Accumulators& accumulators) {
    CODA_UNROLL
    for (int r = 0; r < K::kRowBlocks; ++r) {
      CODA_UNROLL
      for (int i = 0; i < K::kRegisters; ++i) hw::pin(accumulators[r][i]);
    }
  }

  CODA_DEVICE void multiply_inside(Accumulators& accumulators, uint32_t inside, int blocks,
                                   uint32_t before, uint32_t turn, bool more) {
    if constexpr (K::kNarrows) {
      if (inside <= 64) return multiply<64>(accumulators, blocks, before, turn, more);
      if (inside <= 128) return multiply<128>(accumulators, blocks, before, turn, more);
    }
    multiply<K::kAllColumns>(accumulators, blocks, before, turn, more);
  }

  // Of the tile's columns, those that the problem has.
  CODA_DEVICE uint32_t columns_inside(uint32_t tile) const {
    if constexpr (!K::kNarrows) return 0;
    const TilePlace place =
        tile_place(grid_, tile, K::kClusterRows * K::kRows, K::kClusterColumns * K::kColumns);
    return static_cast<uint32_t>(grid_.columns.size[place.column_segment] - place.column);
  }

  // The first kColumns columns of the tile; what is in the others nobody looks at. before: blocks
  // that have passed through the stages.
  template <int kColumns>
  CODA_DEVICE void multiply(Accumulators& accumulators, int blocks, uint32_t before, uint32_t turn,
                            bool more) {
    if (blocks <= 0) {
      clear(accumulators);
      if constexpr (K::kPingpong) {
        // As a branch of its own: selects of all accumulators would take the hand-over's time.
        if (more) hand_over();
        return;
      }
    }
    const uint32_t empty = empty_barrier();
    const bool releases = hw::lane_again() < K::kLinks;
    uint32_t stage = before % K::kStages, phase = before / K::kStages & 1, last = 0;
    CODA_NO_UNROLL
    for (int block = 0; block < blocks; ++block) {
      hw::mbarrier_wait(barriers_ + (K::kFull + stage) * 8, phase);
      pin(accumulators);
      multiply_stage<kColumns>(accumulators, stage, block > 0);
      pin(accumulators);
      hw::template wgmma_wait<1>();  // the block before has read its stage
      if (block > 0 && releases) release(empty + last * 8);
      if constexpr (K::kOwesLast) {
        if (block == 0 && turn > 0) driver_.give_back_last();
      }
      last = stage;
      if (++stage == K::kStages) {
        stage = 0;
        phase ^= 1;
      }
    }
    if constexpr (K::kOwesLast) {
      if (blocks == 0 && turn > 0) driver_.give_back_last();
    }
    if (K::kPingpong && more) hand_over();
    hw::template wgmma_wait<0>();
    pin(accumulators);
    if (blocks > 0 && releases) release(empty + last * 8);
  }

  CODA_DEVICE void hand_over() { hw::named_arrive(kTurnBarrier + (consumer_ ^ 1), 256); }

  static CODA_DEVICE void clear(Accumulators& accumulators) {
    CODA_UNROLL
    for (int r = 0; r < K::kRowBlocks; ++r) {
      CODA_UNROLL
      for (int i = 0; i < K::kRegisters; ++i) accumulators[r][i] = 0.0f;
    }
  }

  // Both majors hold 64 rows of A in 64 · 128 consecutive bytes; 16 contraction steps are 32 bytes
  // of a line, or 16 lines of a box.
  template <int kColumns>
  CODA_DEVICE void multiply_stage(Accumulators& accumulators, uint32_t stage, bool accumulate) {
    constexpr hw::Contiguous kA = contiguous(K::kA), kB = contiguous(K::kB);
    constexpr uint32_t kStepA = kA == hw::Contiguous::kContraction ? 32 : 16 * 128;
    constexpr uint32_t kStepB = kB == hw::Contiguous::kContraction ? 32 : 16 * 128;
    const uint32_t own = K::kPingpong ? 0 : consumer_ * (K::kConsumerRows * kBlockDepth * 2);
    const uint64_t a =
        hw::template wgmma_descriptor<kA>(shared_ + K::kOffsetA + own) + stage * (K::kBytesA >> 4);
    const uint64_t b =
        hw::template wgmma_descriptor<kB>(shared_ + K::kOffsetB) + stage * (K::kBytesB >> 4);
    hw::wgmma_fence();
    CODA_UNROLL
    for (int k = 0; k < kBlockDepth / 16; ++k) {
      CODA_UNROLL
      for (int r = 0; r < K::kRowBlocks; ++r) {
        hw::template wgmma<typename K::Element, kColumns, kA, kB>(
            reinterpret_cast<float(&)[kColumns / 2]>(accumulators[r]),
            a + (r * 64 * kBlockDepth * 2 >> 4) + (k * kStepA >> 4), b + (k * kStepB >> 4),
            k > 0 || accumulate);
      }
    }
    hw::wgmma_commit();
  }

  const Grid& grid_;
  uint32_t shared_, barriers_, rank_, consumer_;
  SliceSum<K> slices_;
  epilogue::Driver<K, Arguments<Program>> driver_;
};

}  // namespace CODA_TARGET
}  // namespace coda::kernel
