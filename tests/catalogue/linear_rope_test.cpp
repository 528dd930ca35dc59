// linear_rope beside plain fp64 loops: angles at large positions, tables, grouped heads; and calls
// that must be refused.
#include "coda/catalogue/linear_rope.h"

#include <cmath>

#include "coda/catalogue/operation.h"
#include "tests/cpu/bad_input.h"
#include "tests/program/expect_error.h"

namespace coda::cpu {
namespace {

using catalogue::LinearRope;
using catalogue::LinearRopeNorm;

// Two heads of q, one of k, one of v, of 6; A is a multiple of the identity, so that q, k and v are
// the weights themselves, transposed.
struct Rope {
  static constexpr const char* kName = "linear_rope";
  static constexpr int64_t M = 5, K = 5, kHead = 6, kHalf = 3, kTable = 4;
  Tensor<float> a{M, K}, wq{2 * kHead, K}, wk{kHead, K}, wv{kHead, K};
  Tensor<float> inv_freq{1, kHalf}, cosines{kTable, kHalf}, sines{kTable, kHalf};
  Tensor<float> bias_q{1, 2 * kHead}, bias_k{1, kHead}, bias_v{1, kHead};
  Tensor<int64_t> positions{1, M};
  Tensor<float> q{M, 2 * kHead}, k{M, kHead}, v{M, kHead};
  LinearRope<float> program;
  OperandView a_view, b_view;

  Rope() {
    a.fill([](int64_t i, int64_t j) { return i == j ? 1.0 : 0.0; });
    for (Tensor<float>* w : {&wq, &wk, &wv, &bias_q, &bias_k, &bias_v}) w->fill_integers(3);
    inv_freq.fill([](int64_t, int64_t j) { return std::pow(10000.0, -double(j) / kHalf); });
    cosines.fill([](int64_t i, int64_t j) { return double(i + j); });
    sines.fill([](int64_t i, int64_t j) { return double(i - 2 * j); });
    positions.fill([](int64_t, int64_t i) { return double(i); });
    program = {.positions = {positions.data(), M},
               .inv_freq = PerHead<const float>(inv_freq.data(), kHalf),
               .bias = PerColumn<const float, 3>(Matrix<const float>(bias_q.view()),
                                                 Matrix<const float>(bias_k.view()),
                                                 Matrix<const float>(bias_v.view())),
               .out = Store<float, 3>(q.view(), k.view(), v.view())};
    a_view = Operand(a.view());
    b_view = halves(kHead, wq.view(), wk.view(), wv.view());
  }
  void use_tables() {
    program.cos_sin = PairTable<const float>(Matrix<const float>(cosines.view()),
                                             Matrix<const float>(sines.view()));
  }
  void run() const { cpu::run(program, a_view, b_view, {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(q, k, v); }
  bool inputs_equal(const Rope& o) const {
    return a.same_bits(o.a) && wq.same_bits(o.wq) && positions.same_bits(o.positions);
  }

  // The value before the rotation.
  static double plain(const Tensor<float>& w, const Tensor<float>& bias, int64_t m, int64_t n) {
    return w.value(n, m) + bias.value(0, n);
  }
  template <class Cos, class Sin>
  void expect_rotated(Cos&& cosine, Sin&& sine) {
    const auto check = [&](const Tensor<float>& out, const Tensor<float>& w,
                           const Tensor<float>& bias) {
      for (int64_t m = 0; m < M; ++m) {
        for (int64_t n = 0; n < out.columns(); ++n) {
          const int64_t j = n % kHalf;
          const bool first = n % kHead < kHalf;
          const double own = plain(w, bias, m, n);
          const double other = plain(w, bias, m, first ? n + kHalf : n - kHalf);
          const double want = own * cosine(m, j) + (first ? -other : other) * sine(m, j);
          EXPECT_NEAR(out.value(m, n), want, 1e-5) << m << " " << n;
        }
      }
    };
    check(q, wq, bias_q);
    check(k, wk, bias_k);
    for (int64_t m = 0; m < M; ++m) {
      for (int64_t n = 0; n < kHead; ++n) EXPECT_EQ(v.value(m, n), plain(wv, bias_v, m, n));
    }
  }
};

TEST(LinearRope, TurnsByPositionTimesFrequency) {
  Rope rope;
  rope.positions.fill([](int64_t, int64_t i) { return double(i * i * 62500); });  // to a million
  rope.program.scale = 1.5f;
  rope.run();
  const auto angle = [&](int64_t m, int64_t j) {
    return rope.positions.value(0, m) * rope.inv_freq.value(0, j);
  };
  rope.expect_rotated([&](int64_t m, int64_t j) { return 1.5 * std::cos(angle(m, j)); },
                      [&](int64_t m, int64_t j) { return 1.5 * std::sin(angle(m, j)); });
}

TEST(LinearRope, TakesTablesBeforeFrequencies) {
  Rope rope;
  rope.use_tables();
  rope.positions.fill([](int64_t, int64_t i) { return double(3 - i % 4); });
  rope.run();
  const auto row = [&](int64_t m) { return static_cast<int64_t>(rope.positions.value(0, m)); };
  rope.expect_rotated([&](int64_t m, int64_t j) { return rope.cosines.value(row(m), j); },
                      [&](int64_t m, int64_t j) { return rope.sines.value(row(m), j); });
}

TEST(LinearRope, ReadsNoRowThatTheTableLacks) {
  Rope rope;
  rope.use_tables();
  rope.positions.fill([](int64_t, int64_t i) { return i == 1 ? -1.0 : i == 2 ? 4.0 : 0.0; });
  rope.run();
  for (int64_t m = 0; m < Rope::M; ++m) {
    for (int64_t n = 0; n < Rope::kHead; ++n) {
      EXPECT_EQ(std::isnan(rope.k.value(m, n)), m == 1 || m == 2) << m << " " << n;
      EXPECT_FALSE(std::isnan(rope.v.value(m, n)));
    }
  }
}

// By its name, where nobody may look for NaNs.
TEST(LinearRope, RefusesPositionsThatTheTableLacks) {
  Rope rope;
  rope.use_tables();
  const std::vector<Argument> arguments = {
      {"positions", {erase(rope.program.positions.view[0])}},
      {"cos_sin", {erase(rope.program.cos_sin.view[0]), erase(rope.program.cos_sin.view[1])}},
      {"out",
       {erase(rope.program.out.view[0]), erase(rope.program.out.view[1]),
        erase(rope.program.out.view[2])}}};
  const catalogue::Variant& variant =
      catalogue::find_variant(catalogue::find_operation("linear_rope"), "fp32");
  const auto run = [&] { variant.run_cpu({rope.a_view, rope.b_view, arguments}, {.threads = 1}); };
  expect_error(run, {"linear_rope: argument 'positions'", "from 0 to 3", "4 at 4"});
  EXPECT_TRUE(rope.outputs_untouched());
  rope.positions.fill([](int64_t, int64_t i) { return double(i % 4); });
  run();
  EXPECT_FALSE(rope.outputs_untouched());
}

TEST(LinearRope, WithoutAnglesNothingTurns) {
  Rope rope;
  rope.program.inv_freq = {};
  rope.run();
  rope.expect_rotated([](int64_t, int64_t) { return 1.0; }, [](int64_t, int64_t) { return 0.0; });
}

const BadCase<Rope> kCases[] = {
    {"OddHeadDim",
     [](auto& c) { c.b_view.head_dim = 3; },
     {"'B'", "an even head_dim above 0", "got 3"}},
    {"HeadsOfQueriesDoNotDivide",
     [](auto& c) { c.b_view.head_dim = 4; },
     {"'B[1]'", "a multiple of head_dim = 4 rows", "got 6"}},
    {"NoHalves",
     [](auto& c) {
       c.b_view = pair(rows(c.wq.view(), c.wk.view(), c.wv.view()),
                       rows(c.wq.view(), c.wk.view(), c.wv.view()));
     },
     {"'inv_freq'", "an operand B in halves for a PerHead port", "one without"}},
    {"TwoWeights",
     [](auto& c) { c.b_view = halves(6, c.wq.view(), c.wk.view()); },
     {"'bias'", "1 segment or 2", "got 3"}},
    {"PositionsMissing", [](auto& c) { c.program.positions = {}; }, {"'positions'", "PerRow"}},
    {"PositionsOfOtherRows",
     [](auto& c) { c.program.positions.view[0].columns = 4; },
     {"'positions'", "5 values [M]", "got 4"}},
    {"FrequenciesOfAWholeHead",
     [](auto& c) { c.program.inv_freq.view[0].columns = 6; },
     {"'inv_freq'", "3 values [head_dim/2]", "got 6"}},
    {"TableOfAWholeHead",
     [](auto& c) {
       c.use_tables();
       c.program.cos_sin.view[0].columns = 6;
     },
     {"'cos_sin[0]'", "3 columns (half of head_dim)", "got 6"}},
    {"SinesOfOtherRows",
     [](auto& c) {
       c.use_tables();
       c.program.cos_sin.view[1].rows = 3;
     },
     {"'cos_sin[1]'", "4 rows as in the first table", "got 3"}},
    {"TableAtNull",
     [](auto& c) {
       c.use_tables();
       c.program.cos_sin.view[1].data = nullptr;
     },
     {"'cos_sin[1]'", "12 elements", "null"}},
    {"BiasOfOneHalf",
     [](auto& c) { c.program.bias.view[2].columns = 3; },
     {"'bias[2]'", "6 values [2N]", "got 3"}},
    {"KeysAsWideAsQueries",
     [](auto& c) { c.program.out.view[1].columns = 12; },
     {"'out[1]'", "[5, 6] [M, 2N]", "[5, 12]"}},
    {"ValuesOnKeys",
     [](auto& c) { c.program.out.view[2] = c.program.out.view[1]; },
     {"'out'", "apart from 'out'"}},
};
class BadRopeTest : public testing::TestWithParam<BadCase<Rope>> {};
TEST_P(BadRopeTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadRopeTest, testing::ValuesIn(kCases), case_name<Rope>);

// The same with norms of the heads.
struct NormedRope : Rope {
  Tensor<float> q_norm{1, kHead}, k_norm{1, kHead};
  Tensor<float> zq{M, 2 * kHead}, zk{M, kHead}, zv{M, kHead};
  LinearRopeNorm<float> normed;

  NormedRope() {
    q_norm.fill([](int64_t, int64_t j) { return 1.0 + double(j); });
    k_norm.fill([](int64_t, int64_t j) { return 2.0 - double(j); });
    normed = {.positions = program.positions,
              .inv_freq = program.inv_freq,
              .q_norm = PerHead<const float>(q_norm.data(), kHead),
              .k_norm = PerHead<const float>(k_norm.data(), kHead),
              .z = Store<float, 3>(zq.view(), zk.view(), zv.view()),
              .out = program.out};
  }
  void run() const { cpu::run(normed, a_view, b_view, {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(q, k, v, zq, zk, zv); }
};

TEST(LinearRope, NormalisesHeadsBeforeTheyTurn) {
  NormedRope rope;
  rope.normed.inv_freq = {};
  rope.normed.norm_epsilon = 0.25f;
  rope.run();
  for (int64_t m = 0; m < Rope::M; ++m) {
    for (int64_t n = 0; n < 2 * Rope::kHead; ++n) {
      const int64_t head = n / Rope::kHead * Rope::kHead;
      double squares = 0;
      for (int64_t j = head; j < head + Rope::kHead; ++j) {
        squares += rope.wq.value(j, m) * rope.wq.value(j, m);
      }
      const double z = rope.wq.value(n, m);
      const double want =
          z / std::sqrt(squares / Rope::kHead + 0.25) * rope.q_norm.value(0, n - head);
      EXPECT_NEAR(rope.q.value(m, n), want, 1e-5);
      EXPECT_EQ(rope.zq.value(m, n), z);
    }
    for (int64_t n = 0; n < Rope::kHead; ++n) EXPECT_EQ(rope.v.value(m, n), rope.wv.value(n, m));
  }
}

const BadCase<NormedRope> kNormCases[] = {
    {"NormOfOneHalf",
     [](auto& c) { c.normed.q_norm.view[0].columns = 3; },
     {"'q_norm'", "6 values [head_dim]", "got 3"}},
    {"NormOfAllHeads",
     [](auto& c) { c.normed.k_norm.view[0].columns = 12; },
     {"'k_norm'", "6 values [head_dim]", "got 12"}},
    {"NormMissing", [](auto& c) { c.normed.q_norm = {}; }, {"'q_norm'", "PerHead", "missing"}},
    {"BeforeTheNormOfOtherRows",
     [](auto& c) { c.normed.z.view[0].rows = 4; },
     {"'z[0]'", "[5, 12]", "[4, 12]"}},
    {"PairInsteadOfHalves",
     [](auto& c) {
       c.b_view = pair(rows(c.wq.view(), c.wk.view(), c.wv.view()),
                       rows(c.wq.view(), c.wk.view(), c.wv.view()));
     },
     {"'B'", "halves with an even head_dim above 0", "got 0"}},
};
class BadRopeNormTest : public testing::TestWithParam<BadCase<NormedRope>> {};
TEST_P(BadRopeNormTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadRopeNormTest, testing::ValuesIn(kNormCases),
                         case_name<NormedRope>);

}  // namespace
}  // namespace coda::cpu
