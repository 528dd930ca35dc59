// The gradient of cross-entropy by the logits, from a GEMM that makes them again:
//   z = rstd ⊙ A Wᵀ, ẑ = c·tanh(z/c), p = min(exp(ẑ - lse), 1),
//   dz = [p·(1 + 2λ·lse) - (1-α)·1_target - α/V]·(1 - (ẑ/c)²)·dloss,
// stored as rstd·dz, with Σ z·dz of every 128 columns for the norm before. Run on a range of the
// vocabulary at a time, so that M×V never exists (cross_entropy.h).
#pragma once
#include "coda/catalogue/soft_cap.h"
#include "coda/program/program.h"

namespace coda::catalogue {

template <class T>
struct LinearCrossEntropyBackward {
  Optional<PerRowFrom<ReciprocalRms>> rstd;  // [parts, M]: Σx² of A's rows; without it: 1
  PerRow<const int64_t> target;              // [M]: a column of the whole vocabulary
  PerRow<const float> lse;                   // [M]: log Σexp(ẑ) over the whole vocabulary
  Optional<PerRow<const float>> dloss;       // [M]: of the loss of each row; without it: 1
  Scalar<float> scale{1.0f};                 // of dloss
  Scalar<float> soft_cap{0.0f};              // c; none where it is not positive
  Scalar<float> z_loss{0.0f};                // λ
  Scalar<float> on_target{1.0f};             // 1 - α
  Scalar<float> elsewhere{0.0f};             // α/V
  Scalar<int64_t> ignore_index{-100};        // rows of this target have no gradient
  Scalar<int32_t> first_column{0};           // of B's rows in the vocabulary
  Store<T> out;                              // [M, N]: rstd·dz
  Optional<RowReduce<Sum, 128>> dots;        // [⌈N/128⌉, M]: Σ z·dz

  static constexpr const char* name = "linear_cross_entropy_backward";
  static constexpr auto port_names =
      names("rstd", "target", "lse", "dloss", "scale", "soft_cap", "z_loss", "on_target",
            "elsewhere", "ignore_index", "first_column", "out", "dots");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto r = tile.load(rstd, 1.0f);
    const auto z = tile.accumulator() * r;
    const auto row_target = tile.load(target);
    const auto is_target = tile.column() + tile.load(first_column) == row_target;
    const auto minus = tile.load(elsewhere) + select(is_target, tile.load(on_target), 0.0f);
    const auto log_sum = tile.load(lse);
    const auto plus = 1.0f + 2.0f * tile.load(z_loss) * log_sum;
    const auto factor = tile.load(dloss, 1.0f) * tile.load(scale);
    auto dz = z;
    if (soft_cap.get() > 0.0f) {
      const auto capped = cap_softly_with_slope(z, tile.load(soft_cap));
      dz = (probability(capped.value, log_sum) * plus - minus) * capped.slope * factor;
    } else {
      dz = (probability(z, log_sum) * plus - minus) * factor;
    }
    // Whatever the logits of a row that is ignored, infinite or not.
    const auto ignored = row_target == tile.load(ignore_index);
    tile.store(out, select(ignored, 0.0f, dz * r));
    tile.reduce(dots, select(ignored, 0.0f, z * dz));
  }

 private:
  // At most 1, also with the lse of other logits than these.
  template <class Z, class LogSum>
  static CODA_HD auto probability(const Z& z, const LogSum& log_sum) {
    return exp(min(z - log_sum, 0.0f));
  }
};

}  // namespace coda::catalogue
