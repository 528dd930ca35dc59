// Which kernel a benchmark's results make the tuned one, and what launches find it by.
#include "coda/tools/tune.h"

#include <gtest/gtest.h>

#include "coda/core/error.h"

namespace coda::tools {
namespace {

const plan::Device kDevice{132, "NVIDIA H200"};

BenchResult result(const char* config, double ms, bool chosen, const char* regime = "random") {
  BenchResult r;
  r.operation = "linear";
  r.variant = "bf16";
  r.shape = {256, 512, 1024};
  r.config = config;
  r.chosen_whole = chosen;
  r.regime = regime;
  r.ms = ms;
  return r;
}

std::vector<TunedChoice> choices(const std::vector<BenchResult>& results) {
  return tuned_choices(results, kDevice);
}

TEST(Tune, TakesTheFastest) {
  const auto found =
      choices({result("slow", 2, true), result("fast", 1, false), result("middle", 1.5, false)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].config, "fast");
  EXPECT_DOUBLE_EQ(found[0].speedup, 2);
}

TEST(Tune, ScatterDoesNotReplaceThePrediction) {
  EXPECT_EQ(choices({result("a", 1.005, true), result("b", 1, false)})[0].config, "a");
  EXPECT_EQ(choices({result("b", 1, false), result("a", 1.02, true)})[0].config, "b");
}

TEST(Tune, BothRegimesCount) {
  // b is a third faster in one regime and twice as slow in the other.
  EXPECT_EQ(choices({result("a", 1, true), result("b", 0.7, false), result("a", 1, true, "zeros"),
                     result("b", 2, false, "zeros")})[0]
                .config,
            "a");
  const auto found = choices({result("a", 1, true), result("b", 0.5, false),
                              result("a", 2, true, "zeros"), result("b", 2, false, "zeros")});
  EXPECT_EQ(found[0].config, "b");
  EXPECT_NEAR(found[0].speedup, std::sqrt(2), 1e-12);
}

TEST(Tune, LayoutsPortsAndShapesAreChosenApart) {
  BenchResult layout = result("b", 1, true), ports = layout, shape = layout;
  layout.layout = "dX";
  ports.ports = {"bias"};
  shape.shape.M = 512;
  const auto found = choices({result("a", 1, true), layout, ports, shape});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(tuning_of(found).size(), 4u);
  const auto has = [&](size_t i, const char* part) {
    return found[i].key.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(0, "NVIDIA H200\t132\t"));
  EXPECT_TRUE(has(0, "linear bf16 out:bf16\tcontraction,contraction\t256x512x1024"))
      << found[0].key;
  EXPECT_TRUE(has(1, "\tcontraction,rows\t"));
  EXPECT_TRUE(has(2, "linear bf16 bias:bf16 out:bf16\t")) << found[2].key;
  EXPECT_TRUE(has(3, "\t512x512x1024"));
}

TEST(Tune, SlicesArePassedOver) {
  BenchResult sliced = result("a_k4", 0.1, false);
  sliced.chosen = true;
  sliced.slices = 4;
  const auto found = choices({sliced, result("a", 1, true), result("b", 0.9, false)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].config, "b");
}

TEST(Tune, TableSaysWhatChanged) {
  BenchResult other = result("kept", 1, true);
  other.layout = "dX";
  const std::string text =
      tune_table(choices({result("slow", 3, true), result("fast", 2, false), other}));
  EXPECT_NE(text.find("slow"), std::string::npos) << text;
  EXPECT_NE(text.find("fast"), std::string::npos) << text;
  EXPECT_NE(text.find("1.500"), std::string::npos) << text;
  EXPECT_NE(text.find("as predicted"), std::string::npos) << text;
}

TEST(Tune, WithoutThePredictedKernelNothingIsKnown) {
  EXPECT_THROW(choices({result("a", 1, false)}), Error);
}

}  // namespace
}  // namespace coda::tools
