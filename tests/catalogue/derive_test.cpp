// The derived backward programs of the catalogue against the formulas of the backward operations
// that were written by hand, all in fp64.
#include "coda/trace/derive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "coda/catalogue/operation.h"
#include "coda/core/random.h"
#include "coda/trace/evaluate.h"

namespace coda::catalogue {
namespace {

using reference::Array;
using reference::Arrays;

// Programs hold √½ and √(8/π) in fp32; their derivatives are derived from those numbers.
constexpr double kFp32Constants = 0x1p-20, kExact = 0x1p-40;

class Derive : public testing::Test {
 protected:
  Random random{7};

  Array normal(int64_t rows, int64_t columns) {
    return map(Array(rows, columns), [&](double) { return random.normal(); });
  }
  // Partials of a row factor with its parameters, as `in` wants them.
  void add_row_factor(Arrays& in, int64_t rows) {
    in["rstd"] = map(normal(2, rows), [](double x) { return 30 * (x * x + 0.1); });
    in["rstd.width"] = 64.0;
    in["rstd.epsilon"] = 0.125;
  }
  static Array row_factor_of(const Arrays& in) {  // [1, M]
    return reciprocal_sqrt(column_sums(in.at("rstd")) / in.at("rstd.width") +
                           in.at("rstd.epsilon"));
  }
  // Those of a LayerNorm; mean and factor, [1, M] each, by the textbook.
  std::pair<Array, Array> add_moments(Arrays& in, int64_t rows) {
    const Array sum = 8.0 * normal(2, rows), square = 64.0 + sum * sum;  // above any mean's square
    for (const std::string port : {"mean", "rstd"}) {
      in[port + ".0"] = sum;
      in[port + ".1"] = square;
      in[port + ".width"] = 64.0;
    }
    in["rstd.epsilon"] = 0.125;
    const Array mean = column_sums(sum) / 64.0;
    return {mean, reciprocal_sqrt(column_sums(square) / 64.0 - mean * mean + 0.125)};
  }
  static trace::Graph graph_of(const char* operation, const char* variant,
                               std::set<std::string> given, std::map<std::string, double> numbers) {
    numbers["rstd.width"] = numbers["mean.width"] = 64;
    numbers["rstd.epsilon"] = 0.125;
    return find_variant(find_operation(operation), variant).trace({std::move(given), numbers});
  }
  static Arrays by_hand(const char* operation, const Arrays& in) {
    return find_operation(operation).reference(in, reference::Rounding());
  }
  static void expect_near(const Array& derived, const Array& by_hand, double allowed,
                          const std::string& what) {
    ASSERT_EQ(derived.rows, by_hand.rows) << what;
    ASSERT_EQ(derived.columns, by_hand.columns) << what;
    double largest = 1;
    for (const double x : by_hand.values) largest = std::max(largest, std::fabs(x));
    for (size_t i = 0; i < by_hand.values.size(); ++i) {
      ASSERT_NEAR(derived.values[i], by_hand.values[i], allowed * largest) << what << ", " << i;
    }
  }
};

TEST_F(Derive, SwigluWithEveryActivation) {
  constexpr int64_t kM = 70, kN = 67, kK = 9;
  for (int activation = 0; activation < 4; ++activation) {
    Arrays in{{"A", normal(kM, kK)},
              {"B", normal(kN, kK)},
              {"gate", normal(kM, kN)},
              {"up", normal(kM, kN)},
              {"activation", Array(static_cast<double>(activation))}};
    add_row_factor(in, kM);
    const trace::Graph forward =
        graph_of("linear_swiglu", "fp32", {"rstd", "gate", "up"}, {{"activation", activation}});
    const trace::Derived derived = trace::derive(forward);
    EXPECT_EQ(derived.accumulator, "dout");
    const Arrays got = trace::evaluate(derived.graph, in);
    const Arrays expected = by_hand("linear_swiglu_backward", in);
    const double allowed = activation == 1 || activation == 2 ? kFp32Constants : kExact;
    expect_near(got.at("daccumulator0"), expected.at("dgate"), allowed, "dgate");
    expect_near(got.at("daccumulator1"), expected.at("dup"), allowed, "dup");
    expect_near(got.at("drstd") * row_factor_of(in), expected.at("dots"), allowed, "dots");
  }
}

TEST_F(Derive, ResidualNorm) {
  constexpr int64_t kM = 70, kN = 67, kK = 9;
  Arrays in{{"A", normal(kM, kK)},      {"B", normal(kN, kK)},    {"x", normal(kM, kN)},
            {"dx_in", normal(kM, kN)},  {"gamma", normal(1, kN)}, {"dots", normal(2, kM)},
            {"dots.width", Array(64.0)}};
  add_row_factor(in, kM);
  const Arrays expected = by_hand("linear_norm_backward", in);
  // What the row sums of squares get: r = (Σx²/h + ε)^-½ and Σ z·dz = r·dr give −½·r²·w.
  const Array w = column_sums(in.at("dots")) / in.at("dots.width"), r = row_factor_of(in);
  in["dsquares"] = -0.5 * (r * r * w);
  in["out"] = in.at("x");
  in["dout"] = in.at("dx_in");
  const trace::Graph forward = graph_of("linear_residual_norm", "kept-fp32", {"bias"}, {});
  const Arrays got = trace::evaluate(trace::derive(forward, {.accumulator = "dscaled"}).graph, in);
  expect_near(got.at("daccumulator"), expected.at("dx"), kExact, "dx");
  expect_near(got.at("dresidual"), expected.at("dx"), kExact, "dresidual");
  expect_near(got.at("dgamma"), expected.at("dgamma"), kExact, "dgamma");
  expect_near(got.at("dbias"), column_partial_sums(expected.at("dx")), kExact, "dbias");
}

TEST_F(Derive, LayerNormAndEveryActivation) {
  constexpr int64_t kM = 70, kN = 67, kK = 9;
  for (int activation = 0; activation < 5; ++activation) {
    Arrays in{{"A", normal(kM, kK)},
              {"B", normal(kN, kK)},
              {"before", normal(kM, kN)},
              {"shift", normal(1, kN)},
              {"offset", normal(1, kN)},
              {"bias", normal(1, kN)},
              {"activation", Array(static_cast<double>(activation))}};
    const Array r = add_moments(in, kM).second;
    const trace::Graph forward =
        graph_of("linear_activation", "fp32", {"mean", "rstd", "shift", "offset", "bias", "before"},
                 {{"activation", activation}});
    const trace::Derived derived = trace::derive(forward, {.gradients = {"mean", "rstd", "bias"}});
    EXPECT_EQ(derived.accumulator, "dout");
    const Arrays got = trace::evaluate(derived.graph, in);
    const Arrays expected = by_hand("linear_activation_backward", in);
    const double allowed = activation == 1 || activation == 2 ? kFp32Constants : kExact;
    expect_near(got.at("daccumulator"), transpose(r) * expected.at("dz"), allowed, "dz");
    expect_near(got.at("drstd") * r, expected.at("dots"), allowed, "dots");
    expect_near(-1.0 * got.at("dmean") / r, expected.at("shifts"), allowed, "shifts");
    expect_near(got.at("dbias"), expected.at("dbias"), allowed, "dbias");
  }
}

TEST_F(Derive, ResidualLayerNorm) {
  constexpr int64_t kM = 70, kN = 67, kK = 9;
  Arrays in{{"A", normal(kM, kK)},        {"B", normal(kN, kK)},       {"x", normal(kM, kN)},
            {"dx_in", normal(kM, kN)},    {"gamma", normal(1, kN)},    {"beta", normal(1, kN)},
            {"dots", normal(2, kM)},      {"dots.width", Array(64.0)}, {"shifts", normal(2, kM)},
            {"shifts.width", Array(64.0)}};
  const auto [mean, r] = add_moments(in, kM);
  const Arrays expected = by_hand("linear_layer_norm_backward", in);
  // x⊙γ gets r·D. What the moments get, by μ = Σx/h and r = (Σx²/h − μ² + ε)^-½, whose gradients
  // are −r·Σ dz·shift and Σ dz·(z − offset − bias)/r:
  const Array m1 = column_sums(in.at("shifts")) / 64.0, m2 = column_sums(in.at("dots")) / 64.0;
  in["accumulator.0"] = transpose(r) * matmul(in.at("A"), in.at("B"));
  in["dmoments_sum"] = r * r * mean * m2 - r * m1;
  in["dmoments_squares"] = -0.5 * (r * r * m2);
  in["out"] = in.at("x");
  in["dout"] = in.at("dx_in");
  const trace::Graph forward = graph_of("linear_residual_layer_norm", "kept-fp32", {"bias"}, {});
  const Arrays got = trace::evaluate(trace::derive(forward, {.accumulator = "dscaled"}).graph, in);
  expect_near(got.at("daccumulator"), expected.at("dx"), kExact, "dx");
  expect_near(got.at("dresidual"), expected.at("dx"), kExact, "dresidual");
  expect_near(got.at("dbias"), expected.at("dcolumns"), kExact, "dbias");
}

TEST_F(Derive, CrossEntropyWithAndWithoutSoftCap) {
  constexpr int64_t kM = 37, kN = 150, kK = 9;
  for (const double cap : {0.0, 1.5}) {
    const double z_loss = 0.03, on_target = 0.9, elsewhere = 0.1 / kN;
    Arrays in{{"A", normal(kM, kK)},          {"B", normal(kN, kK)},
              {"dloss", normal(1, kM)},       {"soft_cap", Array(cap)},
              {"z_loss", Array(z_loss)},      {"on_target", Array(on_target)},
              {"elsewhere", Array(elsewhere)}};
    in["target"] =
        map(Array(1, kM), [&](double) { return static_cast<double>(random.between(0, kN - 1)); });
    add_row_factor(in, kM);
    const Arrays sums = by_hand("linear_cross_entropy", in);
    Array lse(1, kM);
    for (int64_t m = 0; m < kM; ++m) {
      double sum = 0;
      for (int64_t n = 0; n < kN; ++n) sum += std::exp(sums.at("logits")(m, n));
      lse(0, m) = std::log(sum);
    }
    in["lse"] = lse;
    const Arrays expected = by_hand("linear_cross_entropy_backward", in);
    const trace::Graph forward =
        graph_of("linear_cross_entropy", "fp32", {"rstd"}, {{"soft_cap", cap}});
    const trace::Derived derived = trace::derive(forward);
    EXPECT_EQ(derived.accumulator, "forward");  // nothing is stored: the logits are made again
    // loss = lse + λ·lse² − (1−α)·ẑ_target − α/V·Σẑ
    in["sums_lse"] = lse;
    in["dsums_lse"] = in.at("dloss") * (1.0 + 2 * z_loss * lse);
    in["dsums_total"] = -elsewhere * in.at("dloss");
    in["dsums_target"] = -on_target * in.at("dloss");
    const Arrays got = trace::evaluate(derived.graph, in);
    expect_near(got.at("daccumulator"), expected.at("out"), kExact, "out");
    expect_near(column_sums(got.at("drstd")) * row_factor_of(in), column_sums(expected.at("dots")),
                kExact, "dots");
  }
}

Array columns_of(const Array& x, int64_t begin, int64_t count) {
  Array result(x.rows, count);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < count; ++j) result(i, j) = x(i, begin + j);
  }
  return result;
}

TEST_F(Derive, RopeWithAndWithoutHeadNorm) {
  constexpr int64_t kM = 70, kHead = 8, kHalf = kHead / 2;
  const std::vector<std::pair<std::string, int64_t>> heads{{"q", 3}, {"k", 2}, {"v", 2}};
  constexpr int64_t kColumns = 7 * kHead;
  for (const bool norm : {false, true}) {
    const Array dy = normal(kM, kColumns), z = normal(kM, kColumns), bias = normal(1, kColumns);
    Arrays in{{"head_dim", Array(static_cast<double>(kHead))},
              {"inv_freq", map(normal(1, kHalf), [](double x) { return std::fabs(x); })},
              {"scale", Array(1.25)},
              {"norm_epsilon", Array(0.25)},
              {"bias", bias}};
    in["positions"] =
        map(Array(1, kM), [&](double) { return static_cast<double>(random.between(0, 500)); });
    add_row_factor(in, kM);
    const Array r = row_factor_of(in);
    if (norm) {
      in["q_norm"] = normal(1, kHead);
      in["k_norm"] = normal(1, kHead);
    }
    // The forward program: halves of heads, three segments.
    Arrays forward_in = in;
    const Array accumulator = (z - bias) / transpose(r);
    forward_in["segments.N"] = Array(1, 3);
    for (size_t i = 0; i < heads.size(); ++i) {
      forward_in["segments.N"](0, static_cast<int64_t>(i)) =
          static_cast<double>(heads[i].second * kHalf);
    }
    for (const int which : {0, 1}) {
      forward_in[fmt::format("accumulator.{}", which)] = half_of(accumulator, kHalf, which);
    }
    std::set<std::string> given{"rstd", "inv_freq", "bias", "z"};
    const trace::Graph forward =
        graph_of("linear_rope", norm ? "fp32-norm" : "fp32", given, {{"scale", 1.25}});
    const Array out = trace::evaluate(forward, forward_in).at("out");

    trace::DeriveOptions options;
    options.gradients = {"rstd", "bias"};
    if (norm) options.gradients = {"rstd", "q_norm", "k_norm"};
    const trace::Derived derived = trace::derive(forward, options);
    EXPECT_EQ(derived.accumulator, "dout");
    Arrays derived_in = forward_in;
    derived_in["z"] = z;
    derived_in["out"] = out;
    for (const int which : {0, 1}) {
      derived_in[fmt::format("accumulator{}", which)] = half_of(accumulator, kHalf, which);
      derived_in[fmt::format("accumulator.{}", which)] = half_of(dy, kHalf, which);
    }
    const Arrays got = trace::evaluate(derived.graph, derived_in);

    int64_t begin = 0;
    for (const auto& [name, count] : heads) {
      in["d" + name] = columns_of(dy, begin, count * kHead);
      in[name] = columns_of(norm ? z : out, begin, count * kHead);
      in["bias_" + name] = columns_of(bias, begin, count * kHead);
      begin += count * kHead;
    }
    const Arrays expected = by_hand("rope_backward", in);
    begin = 0;
    for (const auto& [name, count] : heads) {
      const int64_t width = count * kHead;
      expect_near(columns_of(got.at("daccumulator"), begin, width), expected.at("dz" + name),
                  kExact, "dz" + name);
      for (const int which : {0, 1}) {
        const char* half = which == 0 ? "first" : "second";
        if (!norm) {
          expect_near(columns_of(got.at(fmt::format("dbias_{}", half)), begin / 2, width / 2),
                      half_of(expected.at("dbias_" + name), kHalf, which), kExact, "dbias");
        } else if (name != "v") {
          expect_near(
              columns_of(got.at(fmt::format("d{}_norm_{}", name, half)), begin / 2, width / 2),
              half_of(expected.at("d" + name + "_norm"), kHalf, which), kExact, "dnorm");
        }
      }
      begin += width;
    }
    const Array rows =
        norm ? transpose(row_sums(got.at("drstd_terms"))) : column_sums(got.at("drstd"));
    expect_near(rows * r, column_sums(expected.at("sums")), kExact, "sums");
  }
}

}  // namespace
}  // namespace coda::catalogue
