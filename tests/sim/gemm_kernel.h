// A small GEMM in the shape of the real kernel, for the simulator's tests: C [M, N] = A · Bᵀ in
// bf16 or fp16, 384 threads, tiles of 128 × 128, a ring of stages, epilogue through stmatrix and
// TMA.
// Bug names what a broken copy leaves out or does wrong.
#pragma once
#include <vector>

#include "coda/sim/hardware.h"
#include "coda/sim/launch.h"

namespace coda::sim_test {

namespace hw = coda::sim;
using hw::Contiguous;

enum class Bug {
  kNone,
  kNoFullWait,        // the consumers do not wait for the loads
  kNoEmptyWait,       // the producer does not wait for the consumers
  kEarlyRelease,      // a stage is freed before its multiplications are over
  kWrongFullParity,   // the consumers wait for the other parity
  kWrongEmptyParity,  // the producer waits for the other parity
  kTooManyBytes,      // more bytes expected than arrive
  kTooFewBytes,       // fewer
  kNoProxyFence,      // plain writes are stored without a fence
  kNoWarpSync,        // one lane stores what the others wrote, without waiting for them
  kNoStoreWait,       // output buffers are overwritten while they are read
  kNoLastStoreWait,   // the kernel ends while stores read
  kNoCommit,          // stores without a group
  kNoInitFence,
  kNoInitSync,      // barriers used before they are known to be there
  kNoMultiplyWait,  // accumulators read in flight
  kNoMultiplyFence,
  kNoMultiplyCommit,
  kTwoArrivals,     // a consumer warp frees a stage twice
  kMissingArrival,  // one warp never frees its stages
  kTooManyRegisters,
};

inline constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 3;
inline constexpr uint32_t kABytes = kTileM * kTileK * 2, kBBytes = kTileN * kTileK * 2;
inline constexpr uint32_t kOutBytes = 16 * 64 * 2;  // of a warp: 16 rows × 64 columns
inline constexpr uint32_t kOffsetB = kStages * kABytes, kOffsetOut = kOffsetB + kStages * kBBytes,
                          kOffsetBars = kOffsetOut + 8 * kOutBytes,
                          kSharedBytes = kOffsetBars + 2 * kStages * 8;

struct GemmArguments {
  sim::TensorMap a, b, c;
  int tiles_m = 0, tiles_n = 0, blocks_k = 0, blocks = 1;
  Bug bug = Bug::kNone;
};

template <class T, Contiguous kA, Contiguous kB>
struct Gemm {
  const GemmArguments& g;
  uint32_t memory = hw::dynamic_shared();
  uint32_t warp = hw::thread_index() / 32, lane = hw::lane();

  bool has(Bug bug) const { return g.bug == bug; }
  uint32_t full(uint32_t stage) const { return memory + kOffsetBars + stage * 8; }
  uint32_t empty(uint32_t stage) const { return full(kStages + stage); }

  void produce() const {
    uint32_t it = 0;
    for (int tile = int(hw::block_index()); tile < g.tiles_m * g.tiles_n; tile += g.blocks) {
      const int m = tile / g.tiles_n * kTileM, n = tile % g.tiles_n * kTileN;
      for (int kb = 0; kb < g.blocks_k; ++kb, ++it) {
        const uint32_t stage = it % kStages, phase = it / kStages & 1;
        if (!has(Bug::kNoEmptyWait)) {
          hw::mbarrier_wait(empty(stage), phase ^ (has(Bug::kWrongEmptyParity) ? 0u : 1u));
        }
        uint32_t bytes = kABytes + kBBytes;
        if (has(Bug::kTooManyBytes)) bytes += 128;
        if (has(Bug::kTooFewBytes)) bytes -= kABytes / 2;
        hw::mbarrier_arrive_expect(full(stage), bytes);
        load<kA>(memory + stage * kABytes, &g.a, full(stage), m, kb * kTileK, kTileM);
        load<kB>(memory + kOffsetB + stage * kBBytes, &g.b, full(stage), n, kb * kTileK, kTileN);
      }
    }
  }

  template <Contiguous kContiguous>
  static void load(uint32_t to, const sim::TensorMap* map, uint32_t barrier, int row, int k,
                   int rows) {
    if constexpr (kContiguous == Contiguous::kContraction) {
      hw::tma_load(to, map, barrier, k, row);
    } else {
      for (int i = 0; i < rows / 64; ++i) {
        hw::tma_load(to + uint32_t(i) * hw::kRowsBoxBytes, map, barrier, row + 64 * i, k);
      }
    }
  }

  void consume() const {
    const uint32_t group = warp / 4 - 1;  // 64 rows each
    uint32_t it = 0;
    float d[kTileN / 2];
    for (int tile = int(hw::block_index()); tile < g.tiles_m * g.tiles_n; tile += g.blocks) {
      const int m = tile / g.tiles_n * kTileM, n = tile % g.tiles_n * kTileN;
      for (int kb = 0; kb < g.blocks_k; ++kb, ++it) {
        const uint32_t stage = it % kStages, phase = it / kStages & 1;
        if (!has(Bug::kNoFullWait)) {
          hw::mbarrier_wait(full(stage), phase ^ (has(Bug::kWrongFullParity) ? 1u : 0u));
        }
        multiply(d, stage, group, kb);
        if (has(Bug::kEarlyRelease)) release(stage);
        if (!has(Bug::kNoMultiplyWait)) hw::wgmma_wait<0>();
        if (!has(Bug::kEarlyRelease)) release(stage);
        if (has(Bug::kTwoArrivals)) release(stage);
      }
      if (g.blocks_k == 0) {
        for (float& value : d) value = 0;
      }
      store(d, m + int(group) * 64, n);
    }
    if (lane == 0 && !has(Bug::kNoLastStoreWait)) hw::bulk_wait_read<0>();
    hw::warp_sync();
  }

  void multiply(float (&d)[kTileN / 2], uint32_t stage, uint32_t group, int kb) const {
    constexpr uint32_t kStepA = kA == Contiguous::kContraction ? 32 : 16 * 128;
    constexpr uint32_t kStepB = kB == Contiguous::kContraction ? 32 : 16 * 128;
    const uint32_t a = memory + stage * kABytes + group * (64 * kTileK * 2);
    const uint32_t b = memory + kOffsetB + stage * kBBytes;
    if (!has(Bug::kNoMultiplyFence)) hw::wgmma_fence();
    for (uint32_t k = 0; k < kTileK / 16; ++k) {
      hw::template wgmma<T, kTileN, kA, kB>(d, hw::wgmma_descriptor<kA>(a + k * kStepA),
                                            hw::wgmma_descriptor<kB>(b + k * kStepB),
                                            k > 0 || kb > 0);
    }
    if (!has(Bug::kNoMultiplyCommit)) hw::wgmma_commit();
  }

  void release(uint32_t stage) const {
    if (has(Bug::kMissingArrival) && warp == 5) return;
    if (lane == 0) hw::mbarrier_arrive(empty(stage));
  }

  // Two halves of 64 columns, through the warp's one buffer: 16 lines of 128 bytes, swizzled.
  void store(const float (&d)[kTileN / 2], int m, int n) const {
    const uint32_t out = memory + kOffsetOut + (warp - 4) * kOutBytes;
    for (int half = 0; half < 2; ++half) {
      if (lane == 0 && !has(Bug::kNoStoreWait)) hw::bulk_wait_read<0>();
      hw::warp_sync();
      for (int i = 0; i < 4; ++i) {
        uint32_t value[4];
        for (int x = 0; x < 4; ++x) {  // rows 8·(x % 2), columns 16·i + 8·(x / 2)
          const int at = (half * 8 + 2 * i + x / 2) * 4 + x % 2 * 2;
          value[x] = hw::pack<T>(d[at], d[at + 1]);
        }
        const uint32_t row = lane % 16, column = 2 * uint32_t(i) + lane / 16;
        hw::store_matrix_x4(out + row * 128 + ((column ^ (row % 8)) << 4), value);
      }
      if (!has(Bug::kNoProxyFence)) hw::fence_proxy_async();
      if (!has(Bug::kNoWarpSync)) hw::warp_sync();
      if (lane == 0) {
        hw::tma_store(&g.c, out, n + half * 64, m + int(warp % 4) * 16);
        if (!has(Bug::kNoCommit)) hw::bulk_commit();
      }
    }
  }

  void run() const {
    if (hw::thread_index() == 0) {
      for (uint32_t s = 0; s < kStages; ++s) {
        hw::mbarrier_init(full(s), 1);
        hw::mbarrier_init(empty(s), 8);
      }
      if (!has(Bug::kNoInitFence)) hw::mbarrier_init_fence();
    }
    if (!has(Bug::kNoInitSync)) hw::block_sync();
    if (warp < 4) {
      hw::registers_decrease<40>();
      if (hw::thread_index() == 0) produce();
    } else {
      if (has(Bug::kTooManyRegisters)) {
        hw::registers_increase<240>();
      } else {
        hw::registers_increase<232>();
      }
      consume();
    }
  }
};

template <class T, Contiguous kA = Contiguous::kContraction,
          Contiguous kB = Contiguous::kContraction>
inline constexpr auto gemm = [](const GemmArguments& g) { Gemm<T, kA, kB>{g}.run(); };

}  // namespace coda::sim_test
