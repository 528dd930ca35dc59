// Rules about a program's ports that its types cannot express, each with the author's line.
#include "coda/author/inspect.h"

#include <gtest/gtest.h>

#include "coda/author/kernels.h"

namespace coda::author {
namespace {

template <class P>
std::string message_of() {
  try {
    inspect<P>();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "expected: " << part << "\n" << message;
  }
}

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

constexpr int kFirstStore = __LINE__ + 7;
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

const Good kOther{};
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

TEST(Inspect, TakesWhatIsRight) {
  EXPECT_EQ(message_of<Good>(), "");
  EXPECT_EQ(message_of<ReadsInOneWay>(), "");
}

TEST(Inspect, NamesBothLinesOfAnOutputThatIsWrittenTwice) {
  expect_parts(message_of<StoresTwice>(),
               {"stores_twice: output 'out' is written twice",
                "inspect_test.cpp:" + std::to_string(kFirstStore),
                "inspect_test.cpp:" + std::to_string(kFirstStore + 1), "coda::select"});
  expect_parts(message_of<ReducesTwice>(), {"'sums' is written twice"});
}

TEST(Inspect, RefusesPortsThatAreNotTheProgramsOwn) {
  expect_parts(message_of<UsesAnothersPort>(), {"inspect_test.cpp:", "no member of the program"});
  expect_parts(message_of<CopiesPort>(), {"no member of the program"});
}

TEST(Inspect, NamesPortsThatAreNeverUsed) {
  expect_parts(message_of<ForgetsOutput>(), {"output 'gate' is never written", "take it out"});
  expect_parts(message_of<ForgetsInput>(), {"input 'scale' is never read", "load it"});
}

TEST(Kernels, SayWhatEveryPortTakesOfSharedMemory) {
  EXPECT_TRUE(has_kernels<Good>());
  EXPECT_FALSE(has_kernels<TooManyTensors>());
  try {
    require_kernels<TooManyTensors>();
    FAIL() << "expected an error";
  } catch (const Error& error) {
    expect_parts(error.what(), {"too_many_tensors", "shared memory", "8192 bytes  a",
                                "8192 bytes  other", "512 bytes  scale", "bf16 instead of float"});
  }
}

TEST(Kernels, CoverEverySetOfOptionalOutputs) {
  constexpr auto kAll = detail::choose_kernels<Good>();
  int with = 0, without = 0;
  for (int i = 0; i < kAll.count; ++i) ++(kAll.choice[i].given == 0 ? without : with);
  EXPECT_EQ(with, 2);  // a wide and a narrow tile
  EXPECT_EQ(without, 2);
}

}  // namespace
}  // namespace coda::author
