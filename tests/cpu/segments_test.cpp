// Operands in several pieces: q, k, v along N, several gradients along M, with ports cut alike or
// in one piece.
#include <gtest/gtest.h>

#include "tests/cpu/every_way.h"
#include "tests/cpu/pair_programs.h"

namespace coda::cpu {
namespace {

double sum_of(int64_t begin, int64_t end, const auto& f) {
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += f(i);
  return sum;
}

void check_column_segments(int64_t M, std::array<int64_t, 3> sizes, int64_t K) {
  SCOPED_TRACE(testing::Message() << M << " by " << sizes[0] << " + " << sizes[1] << " + "
                                  << sizes[2]);
  const int64_t N = sizes[0] + sizes[1] + sizes[2];
  Tensor<bf16> a(M, K);
  a.fill_integers(1);
  std::vector<Tensor<bf16>> b;
  std::vector<Tensor<float>> bias, element, out;
  std::vector<std::vector<double>> acc;
  int64_t parts = 0;
  for (int s = 0; s < 3; ++s) {
    b.emplace_back(sizes[s], K, s == 1 ? Major::kColumn : Major::kRow);
    b[s].fill_integers(2 + s);
    bias.emplace_back(1, sizes[s]);
    bias[s].fill_integers(5 + s);
    element.emplace_back(M, sizes[s]);
    element[s].fill_integers(8 + s);
    out.emplace_back(M, sizes[s]);
    acc.push_back(product(a, b[s]));
    parts += (sizes[s] + 63) / 64;
  }
  Tensor<float> whole(1, N), all(M, N), sums(parts, M), column_sums((M + 63) / 64, N);
  whole.fill_integers(11);
  const auto read = [](const Tensor<float>& t) { return Matrix<const float>(t.view()); };
  const ColumnSegments program{.bias = {read(bias[0]), read(bias[1]), read(bias[2])},
                               .element = {read(element[0]), read(element[1]), read(element[2])},
                               .whole = {whole.data(), N},
                               .out = {out[0].view(), out[1].view(), out[2].view()},
                               .all = all.view(),
                               .sums = sums.view(),
                               .column_sums = column_sums.view()};
  const auto y = [&](int s, int64_t i, int64_t j) {
    return acc[s][i * sizes[s] + j] * (s + 1) + double(j) + bias[s].value(0, j) +
           element[s].value(i, j);
  };
  const auto check = [&] {
    int64_t first = 0, partial = 0;
    for (int s = 0; s < 3; ++s) {
      expect_equal(out[s], [&](int64_t i, int64_t j) { return y(s, i, j); }, "out");
      for (int64_t j = 0; j < sizes[s]; ++j) {
        for (int64_t i = 0; i < M; ++i) {
          ASSERT_EQ(all.value(i, first + j), y(s, i, j) * whole.value(0, first + j));
        }
        for (int64_t p = 0; p * 64 < M; ++p) {
          ASSERT_EQ(column_sums.value(p, first + j), sum_of(p * 64, std::min(M, p * 64 + 64),
                                                            [&](int64_t i) { return y(s, i, j); }));
        }
      }
      for (int64_t j = 0; j < sizes[s]; j += 64, ++partial) {
        for (int64_t i = 0; i < M; ++i) {
          ASSERT_EQ(sums.value(partial, i),
                    sum_of(j, std::min(sizes[s], j + 64), [&](int64_t c) { return y(s, i, c); }));
        }
      }
      first += sizes[s];
    }
    EXPECT_TRUE(all.intact() && sums.intact() && column_sums.intact());
  };
  every_way(
      [&](const Options& options) {
        run(program, Operand(a.view()), rows(b[0].view(), b[1].view(), b[2].view()), options);
      },
      check, out[0], out[1], out[2], all, sums, column_sums);
}

TEST(SegmentsTest, AlongColumns) {
  check_column_segments(70, {128, 64, 64}, 9);
  check_column_segments(66, {130, 1, 70}, 5);
  check_column_segments(3, {5, 500, 7}, 4);
  check_column_segments(65, {0, 70, 0}, 3);
  check_column_segments(130, {64, 0, 65}, 0);
}

void check_row_segments(std::array<int64_t, 2> sizes, int64_t N, int64_t K) {
  SCOPED_TRACE(testing::Message() << sizes[0] << " + " << sizes[1] << " by " << N);
  const int64_t M = sizes[0] + sizes[1];
  Tensor<bf16> b(N, K, Major::kColumn);
  b.fill_integers(1);
  std::vector<Tensor<bf16>> a;
  std::vector<Tensor<float>> scale, out;
  std::vector<std::vector<double>> acc;
  int64_t parts = 0;
  for (int s = 0; s < 2; ++s) {
    a.emplace_back(sizes[s], K, s == 0 ? Major::kColumn : Major::kRow);
    a[s].fill_integers(2 + s);
    scale.emplace_back(1, sizes[s]);
    scale[s].fill_integers(5 + s);
    out.emplace_back(sizes[s], N);
    acc.push_back(product(a[s], b));
    parts += (sizes[s] + 63) / 64;
  }
  Tensor<float> whole(1, M), squares(2, M), all(M, N), sums((N + 63) / 64, M),
      column_sums(parts, N);
  whole.fill([](int64_t, int64_t i) { return double(i); });
  squares.fill([](int64_t part, int64_t i) { return part == 0 ? i % 3 * 5.0 : 1.0 + i % 3; });
  const auto read = [](const Tensor<float>& t) { return Matrix<const float>(t.view()); };
  const RowSegments program{.scale = {read(scale[0]), read(scale[1])},
                            .whole = {whole.data(), M},
                            .rstd = {read(squares), ReciprocalRms{.width = 4.0f, .epsilon = 0.0f}},
                            .out = {out[0].view(), out[1].view()},
                            .all = all.view(),
                            .sums = sums.view(),
                            .column_sums = column_sums.view()};
  const auto y = [&](int s, int64_t i, int64_t j) {
    return acc[s][i * N + j] * scale[s].value(0, i) * (s + 1) + double(i);
  };
  const auto rstd = [&](int64_t i) {  // of 1, 7 and 13 quarters
    return 1 / std::sqrt(static_cast<float>((i % 3 * 6.0 + 1.0) / 4.0));
  };
  const auto check = [&] {
    int64_t first = 0, partial = 0;
    for (int s = 0; s < 2; ++s) {
      expect_equal(out[s], [&](int64_t i, int64_t j) { return y(s, i, j); }, "out");
      for (int64_t i = 0; i < sizes[s]; ++i) {
        for (int64_t j = 0; j < N; ++j) {
          const auto term = static_cast<float>(whole.value(0, first + i)) * rstd(first + i);
          ASSERT_EQ(all(first + i, j), static_cast<float>(y(s, i, j)) + term);
        }
        for (int64_t p = 0; p * 64 < N; ++p) {
          ASSERT_EQ(sums.value(p, first + i), sum_of(p * 64, std::min(N, p * 64 + 64),
                                                     [&](int64_t j) { return y(s, i, j); }));
        }
      }
      for (int64_t i = 0; i < sizes[s]; i += 64, ++partial) {
        for (int64_t j = 0; j < N; ++j) {
          ASSERT_EQ(column_sums.value(partial, j),
                    sum_of(i, std::min(sizes[s], i + 64), [&](int64_t r) { return y(s, r, j); }));
        }
      }
      first += sizes[s];
    }
    EXPECT_TRUE(all.intact() && sums.intact() && column_sums.intact());
  };
  every_way(
      [&](const Options& options) {
        run(program, rows(a[0].view(), a[1].view()), Operand(b.view()), options);
      },
      check, out[0], out[1], all, sums, column_sums);
}

TEST(SegmentsTest, AlongRows) {
  check_row_segments({64, 128}, 70, 9);
  check_row_segments({65, 1}, 130, 5);
  check_row_segments({3, 300}, 65, 4);
  check_row_segments({0, 70}, 20, 3);
  check_row_segments({70, 0}, 20, 3);
}

}  // namespace
}  // namespace coda::cpu
