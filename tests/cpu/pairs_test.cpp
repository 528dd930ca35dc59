// Two accumulators: a pair of operands, and halves of heads with paired ports and sums over heads.
#include <gtest/gtest.h>

#include "tests/cpu/every_way.h"
#include "tests/cpu/pair_programs.h"

namespace coda::cpu {
namespace {

// other: major of half of the tensors.
void check_gated(int64_t M, int64_t N, int64_t K, int64_t K2, Major other = Major::kColumn) {
  SCOPED_TRACE(testing::Message() << M << " by " << N << " by " << K << " + " << K2);
  Tensor<bf16> a(M, K), a2(M, K2, other), gate(N, K, other), gate2(N, K2), up(N, K), up2(N, K2);
  uint32_t seed = 1;
  for (Tensor<bf16>* t : {&a, &a2, &gate, &gate2, &up, &up2}) t->fill_integers(seed++);
  std::vector<double> g = product(a, gate), u = product(a, up);
  const std::vector<double> g2 = product(a2, gate2), u2 = product(a2, up2);
  for (size_t i = 0; i < g.size(); ++i) g[i] += g2[i], u[i] += u2[i];
  Tensor<float> times(M, N), sum(M, N), rows((N + 63) / 64, M);
  const Gated program{.product = times.view(), .sum = sum.view(), .rows = rows.view()};
  every_way(
      [&](const Options& options) {
        run(program, contraction(a.view(), a2.view()),
            pair(contraction(gate.view(), gate2.view()), contraction(up.view(), up2.view())),
            options);
      },
      [&] {
        expect_equal(
            times, [&](int64_t i, int64_t j) { return g[i * N + j] * u[i * N + j]; }, "product");
        expect_equal(sum, [&](int64_t i, int64_t j) { return g[i * N + j] + u[i * N + j]; }, "sum");
        expect_equal(
            rows,
            [&](int64_t part, int64_t i) {
              double total = 0;
              for (int64_t j = part * 64; j < std::min(N, part * 64 + 64); ++j) {
                total += g[i * N + j] - u[i * N + j];
              }
              return total;
            },
            "rows");
      },
      times, sum, rows);
}

TEST(PairTest, TwoOperandsAlsoCutAlongTheContraction) {
  check_gated(1, 1, 1, 1);
  check_gated(67, 200, 30, 3);
  check_gated(130, 65, 300, 1);
  check_gated(5, 700, 12, 0);
  check_gated(5, 700, 300, 31, Major::kRow);  // few rows, which are not packed
  check_gated(16, 65, 33, 1, Major::kRow);
  check_gated(100, 300, 64, 32, Major::kRow);
}

// Column of a paired port that holds column n of accumulator `half`, heads of d.
int64_t paired(int64_t n, int64_t half, int64_t d) {
  return n / (d / 2) * d + half * (d / 2) + n % (d / 2);
}

struct Head {
  int64_t dim, count, rows = 67;
};

class HalvesTest : public testing::TestWithParam<Head> {
 protected:
  int64_t d = GetParam().dim, M = GetParam().rows, N = GetParam().count * d / 2, K = 4;
  Tensor<bf16> a{M, K}, b{2 * N, K};
  std::vector<double> acc;  // [M, 2N], as the tensor B has its rows

  HalvesTest() {
    a.fill_integers(1, 1);
    b.fill_integers(2, 1);
    acc = product(a, b);
  }
  double at(int64_t half, int64_t i, int64_t n) const {
    return acc[i * 2 * N + paired(n, half, d)];
  }
};

TEST_P(HalvesTest, PairedPortsAndRotation) {
  Tensor<float> table(1, 2 * N), out(M, 2 * N), first(M, N), squares((N + 63) / 64, M);
  Tensor<bf16> residual(M, 2 * N);
  table.fill_integers(3);
  residual.fill_integers(4);
  const Rotated program{.table = {table.data(), 2 * N},
                        .residual = Matrix<const bf16>(residual.view()),
                        .out = out.view(),
                        .first = first.view(),
                        .squares = squares.view()};
  const auto x = [&](int64_t half, int64_t i, int64_t n) {
    const double c = table.value(0, paired(n, 0, d)), s = table.value(0, paired(n, 1, d));
    const double turned =
        half == 0 ? at(0, i, n) * c - at(1, i, n) * s : at(1, i, n) * c + at(0, i, n) * s;
    return turned + residual.value(i, paired(n, half, d));
  };
  const auto check = [&] {
    EXPECT_TRUE(out.intact());
    for (int64_t i = 0; i < M; ++i) {
      for (int64_t n = 0; n < N; ++n) {
        ASSERT_EQ(out.value(i, paired(n, 0, d)), x(0, i, n)) << i << ", " << n;
        ASSERT_EQ(out.value(i, paired(n, 1, d)), x(1, i, n)) << i << ", " << n;
      }
    }
    expect_equal(first, [&](int64_t i, int64_t n) { return x(0, i, n); }, "first");
    expect_equal(
        squares,
        [&](int64_t part, int64_t i) {
          double sum = 0;
          for (int64_t n = part * 64; n < std::min(N, part * 64 + 64); ++n) {
            sum += x(0, i, n) + x(1, i, n);
          }
          return sum;
        },
        "squares");
  };
  every_way(
      [&](const Options& options) {
        run(program, Operand(a.view()), halves(d, b.view()), options);
      },
      check, out, first, squares);
}

TEST_P(HalvesTest, MissingPairedPort) {
  Tensor<float> table(1, 2 * N), out(M, 2 * N);
  table.fill([](int64_t, int64_t) { return 1.0; });
  run(Rotated{.table = {table.data(), 2 * N}, .out = out.view()}, Operand(a.view()),
      halves(d, b.view()));
  EXPECT_TRUE(out.intact());
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t n = 0; n < N; ++n) {
      ASSERT_EQ(out.value(i, paired(n, 0, d)), at(0, i, n) - at(1, i, n) + 1);
      ASSERT_EQ(out.value(i, paired(n, 1, d)), at(1, i, n) + at(0, i, n) + 1);
    }
  }
}

TEST_P(HalvesTest, Segments) {
  const int64_t heads[] = {GetParam().count, 1, 2};
  std::vector<Tensor<bf16>> weights;
  std::vector<Tensor<float>> out;
  std::vector<std::vector<double>> expected;
  for (int s = 0; s < 3; ++s) {
    weights.emplace_back(heads[s] * d, K, s == 1 ? Major::kRow : Major::kColumn);
    weights[s].fill_integers(5 + s, 1);
    out.emplace_back(M, heads[s] * d);
    expected.push_back(product(a, weights[s]));
  }
  const RotatedSegments program{.out = {out[0].view(), out[1].view(), out[2].view()}};
  const auto check = [&] {
    for (int s = 0; s < 3; ++s) {
      const int64_t width = heads[s] * d;
      EXPECT_TRUE(out[s].intact());
      for (int64_t i = 0; i < M; ++i) {
        for (int64_t n = 0; n < width / 2; ++n) {
          const double first = expected[s][i * width + paired(n, 0, d)];
          const double second = expected[s][i * width + paired(n, 1, d)];
          ASSERT_EQ(out[s].value(i, paired(n, 0, d)), s == 2 ? first : -second);
          ASSERT_EQ(out[s].value(i, paired(n, 1, d)), s == 2 ? second : first);
        }
      }
    }
  };
  every_way(
      [&](const Options& options) {
        run(program, Operand(a.view()),
            halves(d, weights[0].view(), weights[1].view(), weights[2].view()), options);
      },
      check, out[0], out[1], out[2]);
}

TEST_P(HalvesTest, SumsOverHeads) {
  const int64_t parts = (M + 63) / 64;
  Tensor<float> out(M, 2 * N), sums(M, N), columns(parts, N);
  Tensor<Spread::State<float>> moments(parts, N);
  const HeadNorm program{
      .out = out.view(), .sums = sums.view(), .columns = columns.view(), .moments = moments.view()};
  std::vector<double> norms(M * GetParam().count);
  for (int64_t i = 0; i < M; ++i) {
    for (int64_t n = 0; n < 2 * N; ++n) {
      norms[i * GetParam().count + n / d] += acc[i * 2 * N + n] * acc[i * 2 * N + n];
    }
  }
  const auto norm = [&](int64_t i, int64_t n) { return norms[i * GetParam().count + n / (d / 2)]; };
  const auto check = [&] {
    EXPECT_TRUE(out.intact() && moments.intact());
    for (int64_t i = 0; i < M; ++i) {
      for (int64_t n = 0; n < N; ++n) {
        ASSERT_EQ(out.value(i, paired(n, 0, d)), at(0, i, n) * norm(i, n) + double(n));
        ASSERT_EQ(out.value(i, paired(n, 1, d)), at(1, i, n) - norm(i, n));
      }
    }
    expect_equal(sums, norm, "sums");
    const auto column_sum = [&](int64_t half, int64_t part, int64_t n) {
      double sum = 0;
      for (int64_t i = part * 64; i < std::min(M, part * 64 + 64); ++i) sum += at(half, i, n);
      return sum;
    };
    expect_equal(
        columns, [&](int64_t part, int64_t n) { return column_sum(0, part, n); }, "columns");
    for (int64_t part = 0; part < parts; ++part) {
      const auto count = static_cast<double>(std::min<int64_t>(64, M - part * 64));
      for (int64_t n = 0; n < N; ++n) {
        ASSERT_EQ(moments(part, n).count, count);
        ASSERT_NEAR(moments(part, n).mean, column_sum(1, part, n) / count, 4 * 64 * 0x1p-24 * K);
      }
    }
  };
  every_way(
      [&](const Options& options) {
        run(program, Operand(a.view()), halves(d, b.view()), options);
      },
      check, out, sums, columns, moments);
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HalvesTest,
                         testing::Values(Head{2, 1}, Head{2, 70}, Head{6, 1}, Head{6, 37},
                                         Head{64, 5}, Head{80, 4}, Head{96, 3}, Head{128, 3},
                                         Head{160, 2}, Head{256, 3}, Head{6, 37, 5}, Head{80, 4, 1},
                                         Head{128, 3, 16}, Head{6, 37, 300}, Head{80, 4, 300},
                                         Head{128, 3, 300}),
                         [](const auto& info) {
                           return "dim" + std::to_string(info.param.dim) + "_heads" +
                                  std::to_string(info.param.count) + "_rows" +
                                  std::to_string(info.param.rows);
                         });

}  // namespace
}  // namespace coda::cpu
