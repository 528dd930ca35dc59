// z = rstd ⊙ A Wᵀ, ẑ = c·tanh(z/c), and of every 128 columns (max, Σexp(ẑ - max), Σẑ, ẑ_target),
// from which rows/cross_entropy_loss.h finishes the loss of a row: the logits need not be stored.
#pragma once
#include "coda/catalogue/soft_cap.h"
#include "coda/program/cross_entropy_sums.h"
#include "coda/program/program.h"

namespace coda::catalogue {

// T: of the stored logits.
template <class T>
struct LinearCrossEntropy {
  Optional<PerRowFrom<ReciprocalRms>> rstd;  // [parts, M]: Σx² of A's rows; without it: 1
  PerRow<const int64_t> target;              // [M]: a column; any other number is none
  Scalar<float> soft_cap{0.0f};              // c; none where it is not positive
  Scalar<int32_t> capped{1};                 // whether logits are ẑ; 0: z, which backward takes
  Optional<Store<T>> logits;                 // [M, V]
  RowReduce<CrossEntropySums, 128> sums;     // [⌈V/128⌉, M]

  static constexpr const char* name = "linear_cross_entropy";
  static constexpr auto port_names =
      names("rstd", "target", "soft_cap", "capped", "logits", "sums");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto z = tile.accumulator() * tile.load(rstd, 1.0f);
    auto capped_z = z;
    if (soft_cap.get() > 0.0f) capped_z = cap_softly(z, tile.load(soft_cap));
    if (capped.get() != 0) {
      tile.store(logits, capped_z);
    } else {
      tile.store(logits, z);
    }
    const auto is_target = tile.column() == tile.load(target);
    tile.reduce(sums, capped_z, select(is_target, capped_z, 0.0f));
  }
};

}  // namespace coda::catalogue
