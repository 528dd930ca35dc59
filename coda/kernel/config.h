// Tile configurations: what may differ between two kernels of one program. Choosing among them does
// not change a result's bits.
#pragma once
#include "coda/core/std.h"

namespace coda::kernel {

inline constexpr int kBlockDepth = 64;  // contraction elements per stage: one 128-byte line
inline constexpr int kSharedMemoryLimit = 232448;  // bytes a block may use on sm_90
inline constexpr int kThreads = 384;               // a feeding warpgroup and two consuming ones

struct TileConfig {
  int rows = 128, columns = 128;  // of a block's tile; columns of all accumulators together
  int stages = 5;
  int cluster_rows = 2, cluster_columns = 1;  // blocks stacked along M share B, along N share A
  bool pingpong = true;  // the consumers take turns at whole tiles; else they halve each tile
  int sub_columns = 32;  // of the sub-tiles in which the epilogue's tensors travel
  bool in_place = true;  // output k takes the buffer of input k

  constexpr bool operator==(const TileConfig&) const = default;
};

// All configurations. A kernel's type names one by its place here: nvcc 13.0 writes host code that
// does not compile for kernels whose template arguments contain a TileConfig itself.
inline constexpr TileConfig kTileConfigs[] = {
    {128, 128, 6, 2, 1, true, 32, true},   // 0
    {128, 128, 5, 2, 1, true, 32, true},   // 1
    {128, 192, 5, 2, 1, true, 32, true},   // 2
    {128, 192, 4, 2, 1, true, 32, true},   // 3
    {128, 256, 4, 1, 2, false, 32, true},  // 4
    {256, 128, 4, 1, 2, false, 32, true},  // 5
    {256, 192, 3, 1, 1, false, 32, true},  // 6
    // For heads whose halves are no multiples of 32.
    {128, 160, 5, 2, 1, true, 40, true},  // 7
    {128, 192, 4, 2, 1, true, 48, true},  // 8
    // For epilogues that carry five tensors: inputs do not wait for outputs to leave their place.
    {128, 128, 5, 2, 1, true, 32, false},  // 9
    {128, 192, 4, 2, 1, true, 32, false},  // 10
};

// Whether a tile of which few columns are inside is multiplied in fewer steps of 64 columns.
constexpr bool narrows(const TileConfig& config, int accumulators) {
  return config.pingpong && config.columns > 128 && config.columns % 64 == 0 &&
         config.cluster_columns == 1 && accumulators == 1;
}

// Which index of an operand is contiguous in memory.
enum class OperandMajor { kContraction, kRows };

}  // namespace coda::kernel
