// A stream of wgmma for bench/ceiling.cu, with or without copies of its operands from L2: what
// coda/kernel does in its mainloop and nothing besides.
#pragma once
#include "coda/ptx/thread.cuh"
#include "coda/ptx/tma.cuh"
#include "coda/ptx/wgmma.cuh"

namespace ceiling {

namespace ptx = coda::ptx;

inline constexpr int kThreads = 384;  // a warpgroup that copies and two that multiply
inline constexpr int kDepth = 64;     // of a block of the contraction: lines of 128 bytes
inline constexpr int kTurn = 64;      // blocks of a tile: then the other has its turn (pingpong)
inline constexpr int kBlocks = kTurn * 512;

// A tile of a block: rows × columns, in turns by one warpgroup each (pingpong) or by both together.
template <int kTileRows, int kTileColumns, bool kInTurns, int kStageCount>
struct Tile {
  static constexpr int kRows = kTileRows, kColumns = kTileColumns, kStages = kStageCount;
  static constexpr bool kPingpong = kInTurns;
  static constexpr int kRowBlocks = kRows / 64 / (kPingpong ? 1 : 2);  // of a warpgroup
  static constexpr uint32_t kBytesA = kRows * kDepth * 2, kBytesB = kColumns * kDepth * 2;
  static constexpr uint32_t kStageBytes = kBytesA + kBytesB;
  static constexpr uint32_t kBarriers = kStages * kStageBytes;
  static constexpr uint32_t kShared = kBarriers + 2 * kStages * 8;
};

// Operands are lines of 64 elements, kLines of them each, which stay in L2.
inline constexpr int kLines = 1 << 16;

struct Arguments {
  ptx::TensorMap map_a, map_b;  // in boxes of a tile's rows, and of half of its columns
  const char *a, *b;
  bool copies;
  float* never;
};

// Rows of its own to every block, columns to both blocks of a cluster, half of them from each.
template <class T>
CODA_DEVICE void copy_operands(const Arguments& arguments, uint32_t shared) {
  const int rank = static_cast<int>(ptx::cluster_rank());
  int a = static_cast<int>(blockIdx.x) * T::kRows * 7 % (kLines / 2), b = 0;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    const uint32_t stage = block % T::kStages;
    const uint32_t full = shared + T::kBarriers + stage * 8, empty = full + T::kStages * 8;
    ptx::mbarrier_wait(empty, (block / T::kStages & 1) ^ 1);
    ptx::mbarrier_arrive_expect(full, T::kStageBytes);
    const uint32_t to = shared + stage * T::kStageBytes;
    ptx::tma_load(to, &arguments.map_a, full, 0, a);
    ptx::tma_load_multicast(to + T::kBytesA + rank * (T::kBytesB / 2), &arguments.map_b, full, 0,
                            b + rank * (T::kColumns / 2), 3);
    a = a + 2 * T::kRows > kLines ? 0 : a + T::kRows;
    b = b + 2 * T::kColumns > kLines ? 0 : b + T::kColumns;
  }
}

template <class T>
CODA_DEVICE void multiply(const Arguments& arguments, uint32_t shared, uint32_t consumer) {
  using Operand = ptx::Contiguous;
  const uint32_t full = shared + T::kBarriers;
  const uint32_t empty = ptx::cluster_address(full + T::kStages * 8, ptx::lane() & 1);
  const uint32_t own = T::kPingpong ? 0 : consumer * T::kRowBlocks * 64 * kDepth * 2;
  const uint64_t a0 = ptx::wgmma_descriptor<Operand::kContraction>(shared + own);
  const uint64_t b0 = ptx::wgmma_descriptor<Operand::kContraction>(shared + T::kBytesA);
  float sums[T::kRowBlocks][T::kColumns / 2] = {};
  const auto pin = [&] {
    CODA_UNROLL
    for (auto& row : sums) {
      CODA_UNROLL
      for (float& sum : row) ptx::pin(sum);
    }
  };
  const auto release = [&](uint32_t stage) {
    if (arguments.copies && ptx::lane() < 2) ptx::mbarrier_arrive_cluster(empty + stage * 8);
  };
  if (T::kPingpong && consumer == 1) ptx::named_arrive(1, 256);
  for (int tile = T::kPingpong ? consumer : 0; tile < kBlocks / kTurn; tile += T::kPingpong + 1) {
    if (T::kPingpong) ptx::named_sync(1 + consumer, 256);
    uint32_t last = 0;
    for (int i = 0; i < kTurn; ++i) {
      const uint32_t block = tile * kTurn + i, stage = block % T::kStages;
      if (arguments.copies) ptx::mbarrier_wait(full + stage * 8, block / T::kStages & 1);
      pin();
      ptx::wgmma_fence();
      const uint64_t at = stage * (T::kStageBytes >> 4);
      CODA_UNROLL
      for (int k = 0; k < kDepth / 16; ++k) {
        CODA_UNROLL
        for (int r = 0; r < T::kRowBlocks; ++r) {
          ptx::wgmma<coda::bf16, T::kColumns, Operand::kContraction, Operand::kContraction>(
              sums[r], a0 + at + (r * 64 * kDepth * 2 >> 4) + (k * 32 >> 4),
              b0 + at + (k * 32 >> 4), true);
        }
      }
      ptx::wgmma_commit();
      pin();
      ptx::wgmma_wait<1>();
      if (i > 0) release(last);
      last = stage;
    }
    if (T::kPingpong) ptx::named_arrive(1 + (consumer ^ 1), 256);
    ptx::wgmma_wait<0>();
    release(last);
  }
  if (T::kPingpong && consumer == 0) ptx::named_sync(1, 256);  // the other's last
  float sum = 0;
  CODA_UNROLL
  for (auto& row : sums) {
    CODA_UNROLL
    for (float one : row) sum += one;
  }
  if (sum == 1.25e30f) *arguments.never = sum;  // so that the sums are needed
}

template <class T>
__global__ void __launch_bounds__(kThreads, 1) stream(const __grid_constant__ Arguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const uint32_t shared = ptx::shared_address(memory), warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    const uint32_t full = shared + T::kBarriers, empty = full + T::kStages * 8;
    for (int i = 0; i < T::kStages; ++i) {
      ptx::mbarrier_init(full + i * 8, 1);
      ptx::mbarrier_init(empty + i * 8, (T::kPingpong ? 4 : 8) * 2);  // warps, of both blocks
    }
    ptx::mbarrier_init_fence();
  }
  for (uint32_t i = threadIdx.x * 16; i < T::kBarriers; i += kThreads * 16) {
    const char* from = i % T::kStageBytes < T::kBytesA ? arguments.a : arguments.b;
    *reinterpret_cast<uint4*>(memory + i) = *reinterpret_cast<const uint4*>(from + i);
  }
  ptx::fence_proxy_async();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (warp < 4) {
    ptx::registers_decrease<24>();
    if (threadIdx.x == 0 && arguments.copies) copy_operands<T>(arguments, shared);
  } else {
    ptx::registers_increase<240>();
    multiply<T>(arguments, shared, warp / 4 - 1);
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

}  // namespace ceiling
