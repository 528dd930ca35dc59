// A contraction in slices, of all tiles or of those that would not fill the last round of clusters:
// a unit of work multiplies one slice of a tile and leaves its sums in a workspace; the warp that
// comes last at a part of a tile adds them up, slice by slice from the first on, and goes on with
// the epilogue. Nobody waits, and the bits do not depend on who is last.
//
// A part is what one warp has of a tile. Warps need not agree on who is last: their parts share
// nothing but the buffers of the epilogue's inputs, which every warp gives back for itself.
#pragma once
#include "coda/kernel/arguments.h"
#include "coda/kernel/walk.h"

namespace coda::kernel {
inline namespace CODA_TARGET {

// The tile of a unit, and the blocks of the contraction that belong to it.
struct Unit {
  uint32_t tile;
  uint32_t slice;
  int first, blocks;
};

// Which of its block's units a consumer has at a turn.
template <class K>
CODA_DEVICE uint32_t own_unit(uint32_t consumer, uint32_t turn) {
  return K::kPingpong ? 2 * turn + consumer : turn;
}

// Slice by slice: tiles that run at the same time then share A and B in L2.
template <class K>
CODA_DEVICE Unit unit_at(const Grid& grid, uint32_t number) {
  if constexpr (K::kSplits) {
    if (number >= grid.uncut && grid.slices > 1) {
      const uint32_t slice = (number - grid.uncut) / (grid.tiles - grid.uncut);
      const int first = static_cast<int>(slice) * grid.slice_blocks;
      const int left = grid.depth_blocks - first;
      return {number - slice * (grid.tiles - grid.uncut), slice, first,
              left < 0 ? 0 : (left < grid.slice_blocks ? left : grid.slice_blocks)};
    }
  }
  return {number, 0, 0, grid.depth_blocks};
}

template <class K>
class SliceSum {
  using Accumulators = float[K::kRowBlocks][K::kRegisters];
  static constexpr int kQuads = K::kRowBlocks * K::kRegisters / 4;
  static constexpr int kAhead = K::kMany ? 4 : 16;  // loads in flight, of four registers each
  static_assert(kQuads % kAhead == 0);
  static_assert(kQuads * 4 == K::kPartFloats / 32);

 public:
  CODA_DEVICE SliceSum(const Grid& grid, const Workspace& workspace, uint32_t rank,
                       uint32_t consumer, uint32_t warp)
      : grid_(grid),
        workspace_(workspace),
        own_((rank * K::kConsumersPerTile + (K::kPingpong ? 0 : consumer)) * 4 + warp) {}

  // Leaves this warp's part of a slice. True for the last one, whose accumulators then hold the
  // sum over all slices.
  CODA_DEVICE bool add(Accumulators& accumulators, const Unit& unit) const {
    const uint32_t part = (unit.tile - grid_.uncut) * K::kPartsPerTile + own_;
    store(accumulators, at(unit.slice, part));
    hw::warp_sync();
    uint32_t before = 0;
    if (hw::lane_again() == 0) {
      hw::fence_gpu();
      before = hw::atomic_add(workspace_.counters + part, 1);
      hw::fence_gpu();
    }
    before = hw::shuffle(before, 0);
    hw::warp_sync();  // a shuffle orders no memory
    if (before + 1 != grid_.slices) return false;
    CODA_UNROLL
    for (int i = 0; i < kQuads * 4; ++i) value(accumulators, i) = 0.0f;
    CODA_NO_UNROLL
    for (uint32_t slice = 0; slice < grid_.slices; ++slice)
      accumulate(accumulators, at(slice, part));
    return true;
  }

 private:
  static CODA_DEVICE float& value(Accumulators& accumulators, int i) {
    return accumulators[i / K::kRegisters][i % K::kRegisters];
  }

  // This lane's first four floats: partials are [slice][part][four registers][lane][4].
  CODA_DEVICE float* at(uint32_t slice, uint32_t part) const {
    const int64_t number = int64_t{slice} * ((grid_.tiles - grid_.uncut) * K::kPartsPerTile) + part;
    return workspace_.partials + number * K::kPartFloats + hw::lane_again() * 4;
  }

  static CODA_DEVICE void store(Accumulators& accumulators, float* to) {
    CODA_UNROLL
    for (int q = 0; q < kQuads; ++q) {
      hw::store_global_x4(to + q * 128, value(accumulators, 4 * q), value(accumulators, 4 * q + 1),
                          value(accumulators, 4 * q + 2), value(accumulators, 4 * q + 3));
    }
  }

  static CODA_DEVICE void accumulate(Accumulators& accumulators, const float* from) {
    CODA_UNROLL
    for (int q = 0; q < kQuads; q += kAhead) {
      float ahead[kAhead][4];
      CODA_UNROLL
      for (int n = 0; n < kAhead; ++n) hw::load_global_x4(from + (q + n) * 128, ahead[n]);
      CODA_UNROLL
      for (int i = 0; i < 4 * kAhead; ++i) value(accumulators, 4 * q + i) += ahead[i / 4][i % 4];
    }
  }

  const Grid& grid_;
  const Workspace& workspace_;
  uint32_t own_;
};

}  // namespace CODA_TARGET
}  // namespace coda::kernel
