// Multiplications of a warpgroup in flight: D [64, N] (+)= A [64, 16] · B [N, 16]ᵀ.
#pragma once
#include <array>
#include <vector>

#include "coda/sim/wgmma.h"

namespace coda::sim {

// Accumulator registers that multiplications in flight own: 64 × columns, until the warps wait.
struct Tile {
  std::array<float*, 128> registers{};  // of each thread
  std::array<uint32_t, 4> last{};       // multiplications of each warp up to its last on this tile
  uint32_t held = 0;                    // by which warps
  uint32_t columns = 0;
  std::vector<float> values;  // [64, columns]
};

struct Product {
  ProductShape shape;
  uint16_t site = 0;
  uint32_t warps = 0;  // that have issued it
  Tile* tile = nullptr;
};

}  // namespace coda::sim
