// Programs for inspect_test.cpp: a few that are right, and what authors get wrong.
#pragma once
#include <limits>

#include "coda/program/program.h"

namespace coda::author {

struct Good {
  PerColumn<const float> bias;
  Optional<Store<float>> before;
  Store<float> out;
  static constexpr auto port_names = names("bias", "before", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto z = tile.accumulator() + tile.load(bias);
    if (tile.given(before)) tile.store(before, z);
    tile.store(out, relu(z));
  }
};

inline constexpr int kFirstStore = __LINE__ + 7;
struct StoresTwice {
  Store<float> out;
  static constexpr const char* name = "stores_twice";
  static constexpr auto port_names = names("out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
    tile.store(out, relu(tile.accumulator()));
  }
};

struct ReducesTwice {
  RowReduce<Sum> sums;
  static constexpr auto port_names = names("sums");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.reduce(sums, tile.accumulator());
    tile.reduce(sums, tile.accumulator());
  }
};

inline const Good kOther{};
struct UsesAnothersPort {
  Store<float> out;
  static constexpr auto port_names = names("out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() + tile.load(kOther.bias));
  }
};

struct CopiesPort {  // by value: the tile would not find it among the members
  PerColumn<const float> bias;
  Store<float> out;
  static constexpr auto port_names = names("bias", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto copy = bias;
    tile.store(out, tile.accumulator() + tile.load(copy));
  }
};

struct ForgetsOutput {
  Store<float> gate, out;
  static constexpr auto port_names = names("gate", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

struct ForgetsInput {
  PerRow<const float> scale;
  Store<float> out;
  static constexpr auto port_names = names("scale", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

enum class Way { kPlain, kScaled };
struct ReadsInOneWay {
  Choice<Way, Way::kScaled> way{Way::kPlain};
  PerRow<const float> scale;
  Store<float> out;
  static constexpr auto port_names = names("way", "scale", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    if (tile.choice(way) == Way::kScaled) {
      tile.store(out, tile.accumulator() * tile.load(scale));
    } else {
      tile.store(out, tile.accumulator());
    }
  }
};

struct WritesInOneWay {
  Choice<Way, Way::kScaled> way{Way::kPlain};
  Store<float> out, scaled;
  static constexpr auto port_names = names("way", "out", "scaled");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
    if (tile.choice(way) == Way::kScaled) tile.store(scaled, 2.0f * tile.accumulator());
  }
};

struct ReadsWithoutTheOther {  // what stands in for an optional port that is missing
  Optional<PerRow<const float>> mean;
  PerRow<const float> shift;
  Store<float> out;
  static constexpr auto port_names = names("mean", "shift", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    if (tile.given(mean)) {
      tile.store(out, tile.accumulator() - tile.load(mean, 0.0f));
    } else {
      tile.store(out, tile.accumulator() - tile.load(shift));
    }
  }
};

struct AsksForAnothersPort {
  Store<float> out;
  static constexpr auto port_names = names("out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.given(kOther.before) ? tile.accumulator() : 2.0f * tile.accumulator());
  }
};

struct StoresToACopy {
  Store<float> out;
  static constexpr auto port_names = names("out");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto copy = out;
    tile.store(copy, tile.accumulator());
  }
};

struct ReducesNaN {
  RowReduce<Max> top;
  static constexpr auto port_names = names("top");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.reduce(top, std::numeric_limits<float>::quiet_NaN());
  }
};

struct StoresNaN {
  Store<float> out;
  static constexpr auto port_names = names("out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, sqrt(constant<decltype(tile.accumulator())>(-1.0f)));
  }
};

struct NamesTwice {
  PerRow<const float> scale;
  Store<float> out;
  static constexpr auto port_names = names("out", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.load(scale));
  }
};

struct NamedLikeAnOperand {
  PerRow<const float> scale;
  Store<float> out;
  static constexpr auto port_names = names("A", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator() * tile.load(scale));
  }
};

struct NamedWithASpace {
  Store<float> out;
  static constexpr auto port_names = names("the output");
  template <class Tile>
  void operator()(Tile& tile) const {
    tile.store(out, tile.accumulator());
  }
};

struct TurnsByHeadDim {
  PerHead<const float> scale;
  Store<float> out;
  static constexpr int accumulators = 2;
  static constexpr auto port_names = names("scale", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto width = static_cast<float>(tile.head_dim());
    tile.store(out, tile.accumulator() * tile.load(scale) + exp(-width / 1000.0f));
  }
};

struct ScalesByHeadDim {
  PerHead<const float> scale;
  Store<float> out;
  static constexpr int accumulators = 2;
  static constexpr auto port_names = names("scale", "out");
  template <class Tile>
  void operator()(Tile& tile) const {
    const float root = rsqrt(static_cast<float>(tile.head_dim()));
    tile.store(out, tile.accumulator() * tile.load(scale) * root);
  }
};

struct Four {  // Σx, Σx², Σx³, Σx⁴
  template <class V>
  struct State {
    V one, two, three, four;
  };
  template <class V>
  static CODA_HD State<V> identity() {
    const V zero = constant<V>(0.0f);
    return {zero, zero, zero, zero};
  }
  template <class V>
  static CODA_HD State<V> lift(const V& x) {
    return {x, x * x, x * x * x, x * x * x * x};
  }
  template <class V>
  static CODA_HD State<V> combine(const State<V>& a, const State<V>& b) {
    return {a.one + b.one, a.two + b.two, a.three + b.three, a.four + b.four};
  }
  static CODA_HD float finish(const State<float>& state) { return state.four; }
};

struct TooManyStates {
  RowReduce<Four> a, b, c, d, e, f, g, h, i, j, k;
  RowReduce<Sum> sum;
  Store<bf16> out;
  static constexpr const char* name = "too_many_states";
  static constexpr auto port_names =
      names("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "sum", "out");
  template <class Tile>
  void operator()(Tile&) const {}
};

struct ManyStates {  // too many for the wide tiles alone
  RowReduce<Four> a, b, c, d;
  Store<bf16> out;
  static constexpr auto port_names = names("a", "b", "c", "d", "out");
  template <class Tile>
  void operator()(Tile&) const {}
};

template <int kAccumulators>
struct WidePartials {
  Store<bf16> out;
  RowReduce<Sum> sums;
  RowReduce<Sum, 128> total;
  static constexpr const char* name = "wide_partials";
  static constexpr auto port_names = names("out", "sums", "total");
  static constexpr int accumulators = kAccumulators;
  template <class Tile>
  void operator()(Tile&) const {}
};

struct LoadsPairs {
  Paired<PerElement<const bf16>> residual;
  Paired<Store<bf16>> out;
  static constexpr const char* name = "loads_pairs";
  static constexpr auto port_names = names("residual", "out");
  static constexpr int accumulators = 2;
  template <class Tile>
  void operator()(Tile&) const {}
};

struct TooManyTensors {
  PerElement<const float> a, b, c, d, e;
  Store<float> out, other;
  PerRow<const float> scale;
  static constexpr const char* name = "too_many_tensors";
  static constexpr auto port_names = names("a", "b", "c", "d", "e", "out", "other", "scale");
  template <class Tile>
  void operator()(Tile& tile) const {
    const auto sum = tile.load(a) + tile.load(b) + tile.load(c) + tile.load(d) + tile.load(e);
    tile.store(out, sum + tile.accumulator());
    tile.store(other, sum * tile.load(scale));
  }
};

}  // namespace coda::author
