// Partials of every reduction, over rows and columns, states of up to three members, 64 and 128
// wide.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/cpu/every_way.h"
#include "tests/cpu/programs.h"

namespace coda::cpu {
namespace {

struct Statistics {
  double count = 0, sum = 0, top = -std::numeric_limits<double>::infinity(), exponentials = 0;
  double mean = 0, deviations = 0, squares = 0;
};

// Of x(begin), ..., x(end - 1) in fp64.
Statistics statistics(const std::function<double(int64_t)>& x, int64_t begin, int64_t end) {
  Statistics s;
  for (int64_t i = begin; i < end; ++i) {
    s.count += 1;
    s.sum += x(i);
    s.squares += x(i) * x(i);
    s.top = x(i) > s.top || std::isnan(x(i)) ? x(i) : s.top;
  }
  s.mean = s.sum / s.count;
  for (int64_t i = begin; i < end; ++i) {
    s.exponentials += std::exp(x(i) - s.top);
    s.deviations += (x(i) - s.mean) * (x(i) - s.mean);
  }
  return s;
}

// 64 values one after the other, each with an addition, a multiplication and an exponential of one
// ulp.
constexpr double kRounding = 64 * 4 * 0x1p-24;

void expect_state(const LogSumExp::State<float>& got, const Statistics& expected) {
  ASSERT_EQ(got.max, expected.top);
  ASSERT_NEAR(got.sum, expected.exponentials, kRounding * expected.exponentials);
}

void expect_state(const Spread::State<float>& got, const Statistics& expected) {
  ASSERT_EQ(got.count, expected.count);
  const double size = std::sqrt(expected.squares);
  ASSERT_NEAR(got.mean, expected.mean, kRounding * size);
  ASSERT_NEAR(got.deviations, expected.deviations, kRounding * expected.squares);
}

struct Outputs {
  Outputs(int64_t M, int64_t N)
      : row_sum((N + 63) / 64, M),
        row_max((N + 127) / 128, M),
        column_sum((M + 63) / 64, N),
        row_lse((N + 63) / 64, M),
        column_lse((M + 63) / 64, N),
        row_all((N + 127) / 128, M),
        column_all((M + 63) / 64, N) {}
  Tensor<float> row_sum, row_max, column_sum;
  Tensor<LogSumExp::State<float>> row_lse, column_lse;
  Tensor<Spread::State<float>> row_all, column_all;

  Reduced program() {
    return {.row_sum = row_sum.view(),
            .row_max = row_max.view(),
            .row_lse = row_lse.view(),
            .row_all = row_all.view(),
            .column_sum = column_sum.view(),
            .column_lse = column_lse.view(),
            .column_all = column_all.view()};
  }
};

void check_rows(const Outputs& out, const std::vector<double>& acc, int64_t M, int64_t N) {
  for (int64_t i = 0; i < M; ++i) {
    const auto x = [&](int64_t j) { return acc[i * N + j]; };
    for (int64_t part = 0; part * 64 < N; ++part) {
      const Statistics s = statistics(x, part * 64, std::min(N, part * 64 + 64));
      ASSERT_EQ(out.row_sum(part, i), s.sum) << part << ", " << i;
      expect_state(out.row_lse(part, i), s);
    }
    for (int64_t part = 0; part * 128 < N; ++part) {
      const Statistics s = statistics(x, part * 128, std::min(N, part * 128 + 128));
      ASSERT_EQ(out.row_max(part, i), s.top) << part << ", " << i;
      expect_state(out.row_all(part, i), s);
    }
  }
}

void check_columns(const Outputs& out, const std::vector<double>& acc, int64_t M, int64_t N) {
  for (int64_t j = 0; j < N; ++j) {
    const auto x = [&](int64_t i) { return acc[i * N + j]; };
    for (int64_t part = 0; part * 64 < M; ++part) {
      const Statistics s = statistics(x, part * 64, std::min(M, part * 64 + 64));
      ASSERT_EQ(out.column_sum(part, j), s.sum) << part << ", " << j;
      expect_state(out.column_lse(part, j), s);
      expect_state(out.column_all(part, j), s);
    }
  }
}

class ReductionsTest : public testing::TestWithParam<std::array<int64_t, 3>> {};

TEST_P(ReductionsTest, PartialsOfRowsAndColumns) {
  const int64_t M = GetParam()[0], N = GetParam()[1], K = GetParam()[2];
  Tensor<float> a(M, K), b(N, K);
  a.fill_integers(1);
  b.fill_integers(2);
  const std::vector<double> acc = product(a, b);
  Outputs out(M, N);
  every_way(
      [&](const Options& options) {
        run(out.program(), Operand(a.view()), Operand(b.view()), options);
      },
      [&] {
        check_rows(out, acc, M, N);
        check_columns(out, acc, M, N);
        EXPECT_TRUE(out.row_sum.intact() && out.row_max.intact() && out.row_lse.intact() &&
                    out.row_all.intact() && out.column_sum.intact() && out.column_lse.intact() &&
                    out.column_all.intact());
      },
      out.row_sum, out.row_max, out.row_lse, out.row_all, out.column_sum, out.column_lse,
      out.column_all);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ReductionsTest,
    testing::Values(std::array<int64_t, 3>{1, 1, 2}, std::array<int64_t, 3>{3, 65, 4},
                    std::array<int64_t, 3>{65, 3, 4}, std::array<int64_t, 3>{128, 256, 1},
                    std::array<int64_t, 3>{130, 447, 5}, std::array<int64_t, 3>{600, 129, 3},
                    std::array<int64_t, 3>{70, 200, 0}));

// Infinities and NaN reach exactly the partials of their row and column.
TEST(ReductionsTest, SpecialValues) {
  const int64_t M = 70, N = 150, K = 3;
  Tensor<float> a(M, K), b(N, K);
  a.fill([](int64_t i, int64_t k) { return k == 0 ? 1.0 : double(i % 3 - 1); });
  b.fill([](int64_t j, int64_t k) { return k == 0 ? double(j % 5) : 1.0; });
  const float infinity = std::numeric_limits<float>::infinity();
  b(100, 0) = infinity;                                // column 100: +∞ in every row
  b(20, 0) = -infinity;                                // column 20: -∞
  a(66, 0) = std::numeric_limits<float>::quiet_NaN();  // row 66: NaN
  Outputs out(M, N);
  for (const Isa isa : available_isas()) {
    run(out.program(), Operand(a.view()), Operand(b.view()), {.isa = isa});
    for (int64_t i = 0; i < M; ++i) {
      if (i == 66) {
        for (int64_t part = 0; part < 3; ++part) {
          EXPECT_TRUE(std::isnan(out.row_sum(part, i)));
          EXPECT_TRUE(std::isnan(LogSumExp::finish(out.row_lse(part, i))));
        }
        EXPECT_TRUE(std::isnan(out.row_max(0, i)));
        continue;
      }
      EXPECT_EQ(out.row_sum(0, i), -infinity);
      EXPECT_EQ(out.row_sum(1, i), infinity);
      EXPECT_TRUE(std::isfinite(out.row_sum(2, i)));
      EXPECT_TRUE(std::isfinite(LogSumExp::finish(out.row_lse(0, i))));  // -∞ adds nothing
      EXPECT_EQ(LogSumExp::finish(out.row_lse(1, i)), infinity);
      EXPECT_EQ(out.row_max(0, i), infinity);
      EXPECT_TRUE(std::isfinite(out.row_max(1, i)));
    }
    EXPECT_EQ(out.column_sum(0, 100), infinity);
    EXPECT_EQ(LogSumExp::finish(out.column_lse(0, 20)), -infinity);
    EXPECT_TRUE(std::isfinite(out.column_sum(0, 101)));
    EXPECT_TRUE(std::isnan(out.column_sum(1, 101)));
  }
}

}  // namespace
}  // namespace coda::cpu
