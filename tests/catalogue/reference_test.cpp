// The catalogue's formulas on examples small enough to work out by hand, in fp64 and unfused.
#include <gtest/gtest.h>

#include "coda/catalogue/linear_cross_entropy_backward_reference.h"
#include "coda/catalogue/linear_reference.h"
#include "coda/catalogue/linear_residual_norm_reference.h"
#include "coda/catalogue/linear_rope_reference.h"
#include "coda/catalogue/linear_swiglu_reference.h"

namespace coda::catalogue {
namespace {

using reference::Array;
using reference::Arrays;
using reference::Rounding;

TEST(Reference, Linear) {
  Arrays in{{"A", {{1, 2}}}, {"B", {{3, 4}, {5, 6}}}};
  EXPECT_EQ(linear_reference(in, {}).at("out"), (Array{{11, 17}}));
  in["alpha"] = 2.0;
  in["c"] = Array{{1, 2}};
  EXPECT_EQ(linear_reference(in, {}).at("out"), (Array{{23, 36}}));
  in["beta"] = -1.0;
  in["bias"] = Array{{10, 20}};
  EXPECT_EQ(linear_reference(in, {}).at("out"), (Array{{31, 52}}));
}

TEST(Reference, LinearUnfused) {
  const Rounding round(DType::kBf16, {{"out", DType::kBf16}});
  Arrays in{{"A", {{256, 1}}}, {"B", {{1, 1}}}};
  EXPECT_EQ(linear_reference(in, round).at("out"), Array(256.0));  // 257 lies between 256 and 258
  in["bias"] = Array{{1}};
  EXPECT_EQ(linear_reference(in, round).at("out"), Array(256.0));  // and so does 256 + 1
  EXPECT_EQ(linear_reference(in, {}).at("out"), Array(258.0));
  in["c"] = Array{{1}};
  EXPECT_EQ(linear_reference(in, round).at("out"), Array(260.0));  // 258, then 259 to even
}

TEST(Reference, LinearResidualNorm) {
  Arrays in{{"A", {{1, 2}, {0, 1}}}, {"B", {{1, 0}, {0, 1}}}, {"residual", {{1, 1}, {5, 6}}}};
  Arrays out = linear_residual_norm_reference(in, {});
  EXPECT_EQ(out.at("out"), (Array{{2, 3}, {5, 7}}));
  EXPECT_EQ(out.at("squares"), (Array{{13, 74}}));
  EXPECT_FALSE(out.contains("scaled"));
  in["gamma"] = Array{{2, -1}};
  in["bias"] = Array{{1, 0}};
  in["segments.N"] = Array{{1, 1}};
  out = linear_residual_norm_reference(in, {});
  EXPECT_EQ(out.at("out"), (Array{{3, 3}, {6, 7}}));
  EXPECT_EQ(out.at("scaled"), (Array{{6, -3}, {12, -7}}));
  EXPECT_EQ(out.at("squares"), (Array{{9, 36}, {9, 49}}));
}

TEST(Reference, LinearResidualNormHasAPartialPer64Columns) {
  const Arrays in{
      {"A", Array(1, 1, 1.0)}, {"B", Array(65, 1, 1.0)}, {"residual", Array(1, 65, 1.0)}};
  EXPECT_EQ(linear_residual_norm_reference(in, {}).at("squares"), (Array{{256}, {4}}));
}

TEST(Reference, LinearResidualNormUnfused) {
  const Arrays in{{"A", {{257}}}, {"B", {{1}}}, {"residual", {{1}}}, {"gamma", {{1 + 0x1p-7}}}};
  const std::map<std::string, DType> bf16{
      {"out", DType::kBf16}, {"scaled", DType::kBf16}, {"squares", DType::kFp32}};
  Arrays out = linear_residual_norm_reference(in, {DType::kBf16, bf16});
  EXPECT_EQ(out.at("out"), Array(256.0));     // 257 → 256, 256 + 1 → 256
  EXPECT_EQ(out.at("scaled"), Array(258.0));  // 256·(1 + 2^-7)
  EXPECT_EQ(out.at("squares"), Array(65536.0));
  std::map<std::string, DType> stream = bf16;  // a residual stream in fp32
  stream["out"] = DType::kFp32;
  out = linear_residual_norm_reference(in, {DType::kBf16, stream});
  EXPECT_EQ(out.at("out"), Array(257.0));
  EXPECT_EQ(out.at("squares"), Array(257.0 * 257));
}

TEST(Reference, LinearSwiglu) {
  Arrays in{{"A", {{2}}}, {"B.first", {{0.5}, {0}}}, {"B.second", {{1.5}, {4}}}};
  Arrays out = linear_swiglu_reference(in, {});
  EXPECT_EQ(out.at("gate"), (Array{{1, 0}}));
  EXPECT_EQ(out.at("up"), (Array{{3, 8}}));
  EXPECT_NEAR(out.at("out")(0, 0), 2.1931757358900147, 1e-15);  // 3 / (1 + e^-1)
  EXPECT_EQ(out.at("out")(0, 1), 0);
  in["rstd"] = Array{{3}, {29}};  // (32/4 + 8)^-½ = ¼
  in["rstd.width"] = 4.0;
  in["rstd.epsilon"] = 8.0;
  out = linear_swiglu_reference(in, {});
  EXPECT_EQ(out.at("gate"), (Array{{0.25, 0}}));
  EXPECT_EQ(out.at("up"), (Array{{0.75, 2}}));
}

TEST(Reference, LinearSwigluUnfused) {
  const Rounding round(DType::kBf16, {{"rstd", DType::kFp32},
                                      {"gate", DType::kBf16},
                                      {"up", DType::kBf16},
                                      {"out", DType::kBf16}});
  // rstd = 1/3: the normalised row is stored before the GEMM, 1/3 in bf16.
  Arrays in{{"A", {{1}}},    {"B.first", {{1}}},  {"B.second", {{3}}},
            {"rstd", {{9}}}, {"rstd.width", 1.0}, {"rstd.epsilon", 0.0}};
  const Arrays out = linear_swiglu_reference(in, round);
  EXPECT_EQ(out.at("gate"), Array(0x1.56p-2));
  EXPECT_EQ(out.at("up"), Array(1.0));  // 3·0x1.56p-2 = 1 + 2^-9, to nearest
  // silu(0.333984375) = 0.19461995… → 0x1.8ep-3
  EXPECT_EQ(out.at("out"), Array(0x1.8ep-3));
}

// One head of 4 each for q, k and v; a quarter turn of its first pair, none of its second.
TEST(Reference, LinearRope) {
  Arrays in{{"A", {{1}}},
            {"B.first", {{1}, {2}, {1}, {2}, {1}, {2}}},
            {"B.second", {{3}, {4}, {3}, {4}, {3}, {4}}},
            {"segments.N", {{2, 2, 2}}},
            {"head_dim", 4.0},
            {"positions", {{1}}},
            {"cos_sin", {{9, 9, 9, 9}, {0, 1, 1, 0}}}};
  EXPECT_EQ(linear_rope_reference(in, {}).at("out"),
            (Array{{-3, 2, 1, 4, -3, 2, 1, 4, 1, 2, 3, 4}}));
  in["bias"] = Array{{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10}};
  in["scale"] = 2.0;
  EXPECT_EQ(linear_rope_reference(in, {}).at("out"),
            (Array{{-6, 4, 4, 8, -6, 4, 2, 8, 1, 2, 3, 14}}));
  in["positions"] = Array{{2}};  // no row of the table
  EXPECT_TRUE(std::isnan(linear_rope_reference(in, {}).at("out")(0, 0)));
  EXPECT_EQ(linear_rope_reference(in, {}).at("out")(0, 11), 14);
}

TEST(Reference, LinearRopeNormalisesHeads) {
  const Arrays in{{"A", {{1}}},
                  {"B.first", {{3}, {0}, {5}}},
                  {"B.second", {{4}, {2}, {6}}},
                  {"segments.N", {{1, 1, 1}}},
                  {"head_dim", 2.0},
                  {"positions", {{7}}},
                  {"q_norm", {{5, 10}}},
                  {"k_norm", {{1, 3}}},
                  {"norm_epsilon", 12.5}};
  const Arrays out = linear_rope_reference(in, {});
  EXPECT_EQ(out.at("z"), (Array{{3, 4, 0, 2, 5, 6}}));
  EXPECT_DOUBLE_EQ(out.at("out")(0, 0), 3);  // (9 + 16) / 2 + 12.5 = 25
  EXPECT_DOUBLE_EQ(out.at("out")(0, 1), 8);
  EXPECT_DOUBLE_EQ(out.at("out")(0, 3), 6 / std::sqrt(14.5));
  EXPECT_EQ(out.at("out")(0, 5), 6);
}

TEST(Reference, LinearCrossEntropy) {
  Arrays in{{"A", {{1}, {2}}}, {"B", {{0}, {1}, {-1}}}, {"target", {{1, 5}}}};
  Arrays out = linear_cross_entropy_reference(in, {});
  EXPECT_EQ(out.at("logits"), (Array{{0, 1, -1}, {0, 2, -2}}));
  EXPECT_EQ(out.at("sums.0"), (Array{{1, 2}}));
  EXPECT_NEAR(out.at("sums.1")(0, 0), 1 + std::exp(-1) + std::exp(-2), 1e-15);
  EXPECT_EQ(out.at("sums.2"), (Array{{0, 0}}));
  EXPECT_EQ(out.at("sums.3"), (Array{{1, 0}}));  // 5 is no column
  in["soft_cap"] = 2.0;
  in["segments.N"] = Array{{2, 1}};
  out = linear_cross_entropy_reference(in, {});
  EXPECT_NEAR(out.at("logits")(0, 1), 2 * std::tanh(0.5), 1e-15);
  EXPECT_NEAR(out.at("sums.0")(1, 1), 2 * std::tanh(-1.0), 1e-15);
  in["capped"] = 0.0;
  EXPECT_EQ(linear_cross_entropy_reference(in, {}).at("logits"), (Array{{0, 1, -1}, {0, 2, -2}}));
}

TEST(Reference, LinearCrossEntropyHasAPartialPer128Columns) {
  const Arrays in{{"A", Array(1, 1, 1.0)}, {"B", Array(129, 1, 1.0)}, {"target", {{128}}}};
  const Arrays out = linear_cross_entropy_reference(in, {});
  EXPECT_EQ(out.at("sums.1"), (Array{{128}, {1}}));
  EXPECT_EQ(out.at("sums.3"), (Array{{0}, {1}}));
}

TEST(Reference, LinearCrossEntropyBackward) {
  // Two equal logits of 1: p = ½ each.
  Arrays in{{"A", {{1}}}, {"B", {{1}, {1}}}, {"target", {{1}}}, {"lse", {{1 + std::log(2.0)}}}};
  Arrays out = linear_cross_entropy_backward_reference(in, {});
  EXPECT_NEAR(out.at("out")(0, 0), 0.5, 1e-15);
  EXPECT_NEAR(out.at("out")(0, 1), -0.5, 1e-15);
  EXPECT_NEAR(out.at("dots")(0, 0), 0, 1e-15);
  in["on_target"] = 0.8;
  in["elsewhere"] = 0.1;
  in["scale"] = 10.0;
  in["rstd"] = Array{{0.25}};
  in["rstd.width"] = 1.0;
  in["rstd.epsilon"] = 0.0;
  in["A"] = Array{{0.5}};
  out = linear_cross_entropy_backward_reference(in, {});
  EXPECT_NEAR(out.at("out")(0, 0), 8, 1e-14);  // rstd·(½ - 0.1)·10
  EXPECT_NEAR(out.at("out")(0, 1), -8, 1e-14);
  in["first_column"] = 1.0;
  EXPECT_NEAR(linear_cross_entropy_backward_reference(in, {}).at("out")(0, 0), -8, 1e-14);
  in["ignore_index"] = 1.0;
  EXPECT_EQ(linear_cross_entropy_backward_reference(in, {}).at("out"), (Array{{0, 0}}));
}

}  // namespace
}  // namespace coda::catalogue
