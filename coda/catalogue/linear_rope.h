// q, k, v = n [Wq; Wk; Wv]ᵀ + bias with n = rstd ⊙ A; q and k rotated: of a head's halves (c, s)
// (c·cosθ - s·sinθ, s·cosθ + c·sinθ)·scale, θ = position·inv_freq, or cosines and sines from
// tables. LinearRopeNorm normalises every head of q and k before: ×γ/rms(head).
// B is halves(head_dim, Wq, Wk, Wv).
#pragma once
#include "coda/program/angle.h"
#include "coda/program/program.h"

namespace coda::catalogue {

inline constexpr int kRopeValues = 2;  // the segment that is not rotated

// Cosines and sines for a tile of q or k: from the tables where they are given, else computed.
// Without either nothing turns.
template <class Tile, class Program>
CODA_HD auto rope_rotation(const Tile& tile, const Program& program) {
  const auto position = tile.load(program.positions);
  if (tile.given(program.cos_sin)) {
    const auto row = tile.lookup(program.cos_sin, position);
    return Rotation<stdlib::remove_cvref_t<decltype(row.first)>>{row.first, row.second};
  }
  return rotation(to_float(position), tile.load(program.inv_freq, 0.0f));
}

template <class Tile, class Program, class V>
CODA_HD void store_rotated(Tile& tile, const Program& program, const V& c, const V& s) {
  const auto scale = tile.load(program.scale);
  const auto turn = rope_rotation(tile, program);
  tile.store(program.out, (c * turn.cosine - s * turn.sine) * scale,
             (s * turn.cosine + c * turn.sine) * scale);
}

template <class T>
struct LinearRope {
  Optional<PerRowFrom<ReciprocalRms>> rstd;  // [parts, M]: Σx² of A's rows; without it 1
  PerRow<const int64_t> positions;           // [M]
  Optional<PerHead<const float>> inv_freq;   // [head_dim/2]: radians per position
  Optional<PairTable<const T>> cos_sin;      // [positions, head_dim/2] each, instead of inv_freq
  Scalar<float> scale{1.0f};                 // of cosines and sines (attention_scaling)
  Optional<Paired<PerColumn<const T, 3>>> bias;  // [Hi·head_dim]
  Paired<Store<T, 3>> out;                       // [M, Hi·head_dim]: q, k, v

  static constexpr const char* name = "linear_rope";
  static constexpr auto port_names =
      names("rstd", "positions", "inv_freq", "cos_sin", "scale", "bias", "out");
  static constexpr int accumulators = 2;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto row_scale = tile.load(rstd, 1.0f);
    const auto b = tile.load(bias, 0.0f);
    const auto c = tile.accumulator(0) * row_scale + b.first;
    const auto s = tile.accumulator(1) * row_scale + b.second;
    if (tile.segment() == kRopeValues) {
      tile.store(out, c, s);
    } else {
      store_rotated(tile, *this, c, s);
    }
  }
};

template <class T>
struct LinearRopeNorm {
  Optional<PerRowFrom<ReciprocalRms>> rstd;  // [parts, M]
  PerRow<const int64_t> positions;           // [M]
  Optional<PerHead<const float>> inv_freq;   // [head_dim/2]
  Optional<PairTable<const T>> cos_sin;      // [positions, head_dim/2] each
  Scalar<float> scale{1.0f};
  Optional<Paired<PerColumn<const T, 3>>> bias;  // [Hi·head_dim]
  Paired<PerHead<const T>> q_norm, k_norm;       // [head_dim]: γ of every head
  Scalar<float> norm_epsilon{1e-6f};
  Optional<Paired<Store<T, 3>>> z;  // [M, Hi·head_dim]: before the norm, for backward
  Paired<Store<T, 3>> out;          // [M, Hi·head_dim]: q, k, v

  static constexpr const char* name = "linear_rope";
  static constexpr auto port_names = names("rstd", "positions", "inv_freq", "cos_sin", "scale",
                                           "bias", "q_norm", "k_norm", "norm_epsilon", "z", "out");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto row_scale = tile.load(rstd, 1.0f);
    const auto b = tile.load(bias, 0.0f);
    const auto c = tile.accumulator(0) * row_scale + b.first;
    const auto s = tile.accumulator(1) * row_scale + b.second;
    tile.store(z, c, s);
    if (tile.segment() == kRopeValues) {
      tile.store(out, c, s);
      return;
    }
    const auto mean = tile.group_sum(c * c + s * s) / static_cast<float>(tile.head_dim());
    const auto factor = rsqrt(mean + tile.load(norm_epsilon));
    const auto gamma = tile.segment() == 0 ? tile.load(q_norm) : tile.load(k_norm);
    store_rotated(tile, *this, c * factor * gamma.first, s * factor * gamma.second);
  }
};

}  // namespace coda::catalogue
