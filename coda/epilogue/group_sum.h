// Sums over the columns of one head. The driver runs the program for them alone, over the chunks of
// the head, before it runs it for its outputs: a chunk may then be narrower than a head.
#pragma once
#include "coda/epilogue/hardware.h"
#include "coda/epilogue/staging.h"

namespace coda::epilogue {
inline namespace CODA_TARGET {

// Of this thread's two rows.
struct GroupSums {
  float sum[kMaxGroupSums][2];
};

// Over the four lanes that share a row.
CODA_DEVICE void fold_groups(GroupSums& groups) {
  CODA_UNROLL
  for (int i = 0; i < kMaxGroupSums; ++i) {
    CODA_UNROLL
    for (int h = 0; h < 2; ++h) {
      float& sum = groups.sum[i][h];
      sum += hw::shuffle_xor(sum, 1);
      sum += hw::shuffle_xor(sum, 2);
    }
  }
}

}  // namespace CODA_TARGET
}  // namespace coda::epilogue
