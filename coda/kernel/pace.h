// Keeps clusters together over long contractions. Nothing else does: the tensor cores set every
// cluster's speed, some are a little slower, and after many tiles neighbours no longer read the
// same rows of A and B at the same time, which come from memory several times then instead of from
// L2.
//
// So all count their tiles, and before each the producer of a cluster waits until the others have
// come as far: not for long, and nobody again after one has waited in vain, since nothing promises
// that all clusters run at once. Results do not depend on it.
//
// The counter is never reset. Every launch moves it by kPaceTurn in all, so that it begins at a
// multiple of that, also after launches that ran at the same time and disturbed each other.
#pragma once
#include "coda/kernel/arguments.h"

namespace coda::kernel {
inline namespace CODA_TARGET {

inline constexpr uint32_t kPaceShare = 1u << 16;  // of every cluster: no more tiles are counted
inline constexpr uint32_t kPaceTurn = kPaceShare * kMostPaced;
inline constexpr int kPacePolls = 64;  // about 40 µs

// Before a cluster's i-th tile.
CODA_DEVICE void keep_pace(const Grid& grid, const Pace& pace, uint32_t i) {
  if (i >= kPaceShare) return;
  hw::add_relaxed(pace.tiles, 1);
  if (hw::load_relaxed(pace.in_vain) != 0) return;
  CODA_NO_UNROLL
  for (int poll = 0; poll < kPacePolls; ++poll) {
    if (hw::load_relaxed(pace.tiles) % kPaceTurn >= grid.clusters * (i + 1)) return;
  }
  hw::store_relaxed(pace.in_vain, 1);
}

// After a cluster's last tile, of so many.
CODA_DEVICE void leave_pace(const Grid& grid, const Pace& pace, uint32_t cluster, uint32_t tiles) {
  const uint32_t nobodys = cluster == 0 ? (kMostPaced - grid.clusters) * kPaceShare : 0;
  hw::add_relaxed(pace.tiles, kPaceShare - (tiles < kPaceShare ? tiles : kPaceShare) + nobodys);
  if (cluster == 0) hw::store_relaxed(pace.in_vain, 0);
}

}  // namespace CODA_TARGET
}  // namespace coda::kernel
