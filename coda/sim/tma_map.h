// What loads and stores of boxes check and compute alike.
#pragma once
#include "coda/sim/scheduler.h"
#include "coda/sim/tensor_map.h"

namespace coda::sim {

void check_map(const Call& call, const TensorMap* map);
void check_box(const Call& call, const TensorMap& map, uint32_t address);

// Of `count` places from `first` on, those inside [0, size).
struct Range {
  uint32_t first, count;
};
Range inside(int64_t first, uint32_t count, uint64_t size);

}  // namespace coda::sim
