// Matrices of doubles: every operation on numbers worked out by hand.
#include "coda/reference/array.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <utility>

#include "coda/core/error.h"

namespace coda::reference {
namespace {

const Array kMatrix{{1, 2, 3}, {4, 5, 6}};

TEST(Array, ProductsTakeThreadsThatThereCanBe) {
  const int usual = omp_get_max_threads();
  omp_set_num_threads(100000);
  EXPECT_EQ(threads_for(1000), 1);
  EXPECT_EQ(threads_for(1000000000), 1024);
  omp_set_num_threads(usual);
}

TEST(Array, HoldsLines) {
  EXPECT_EQ(kMatrix.rows, 2);
  EXPECT_EQ(kMatrix.columns, 3);
  EXPECT_EQ(kMatrix(1, 0), 4);
  EXPECT_EQ(Array(7.0), (Array{{7}}));
  EXPECT_EQ(Array(2, 1, 5.0), (Array{{5}, {5}}));
  EXPECT_THROW((Array{{1, 2}, {3}}), Error);
}

TEST(Array, HasNoElementsBeyondItsExtents) {
  Array x = kMatrix;
  for (const auto& [i, j] :
       {std::pair(2, 0), std::pair(0, 3), std::pair(-1, 0), std::pair(0, -1)}) {
    EXPECT_THROW(x(i, j) = 0, Error) << i << " " << j;
    EXPECT_THROW(std::as_const(x)(i, j), Error) << i << " " << j;
  }
  try {
    x(1, 7) = 0;
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "reference: expected an element of [2, 3], got (1, 7)");
  }
}

TEST(Array, ArithmeticBroadcasts) {
  const Array row{{10, 20, 30}}, column{{100}, {200}};
  EXPECT_EQ(kMatrix + row, (Array{{11, 22, 33}, {14, 25, 36}}));
  EXPECT_EQ(row - kMatrix, (Array{{9, 18, 27}, {6, 15, 24}}));
  EXPECT_EQ(column * kMatrix, (Array{{100, 200, 300}, {800, 1000, 1200}}));
  EXPECT_EQ(kMatrix / 2.0, (Array{{0.5, 1, 1.5}, {2, 2.5, 3}}));
  EXPECT_EQ(column + row, (Array{{110, 120, 130}, {210, 220, 230}}));
  EXPECT_EQ(1.0 - Array{{3}}, Array(-2.0));
}

TEST(Array, HalvesOfHeadsAndBack) {
  const Array heads{{1, 2, 3, 4, 5, 6, 7, 8}, {11, 12, 13, 14, 15, 16, 17, 18}};
  const Array first{{1, 2, 5, 6}, {11, 12, 15, 16}}, second{{3, 4, 7, 8}, {13, 14, 17, 18}};
  EXPECT_EQ(half_of(heads, 2, 0), first);
  EXPECT_EQ(half_of(heads, 2, 1), second);
  EXPECT_EQ(join_halves(first, second, 2), heads);
}

TEST(Array, BroadcastToNothingIsNothing) {
  EXPECT_EQ(Array(0, 3) + Array(1, 3), Array(0, 3));
  EXPECT_EQ(Array(2, 0) * 3.0, Array(2, 0));
}

TEST(Array, MismatchIsAnError) {
  EXPECT_THROW(kMatrix + Array(2, 2), Error);
  EXPECT_THROW(kMatrix + Array(3, 3), Error);
  EXPECT_THROW(matmul(kMatrix, Array(2, 2)), Error);
  EXPECT_THROW(matmul_fp32(kMatrix, Array(2, 2)), Error);
  EXPECT_THROW(row_partial_sums(kMatrix, {1, 1}), Error);
}

TEST(Array, MatmulContractsLines) {
  const Array b{{1, 0, 1}, {0, 1, 0}, {2, 2, 2}, {0, 0, 0}};
  const Array want{{4, 2, 12, 0}, {10, 5, 30, 0}};
  EXPECT_EQ(matmul(kMatrix, b), want);
  EXPECT_EQ(matmul_fp32(kMatrix, b), want);
  EXPECT_EQ(matmul(Array(2, 0), Array(3, 0)), Array(2, 3));
}

TEST(Array, MatmulOfManyRows) {  // enough for several threads
  Array a(203, 170), b(161, 170);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) a(i, k) = static_cast<double>((i * 7 + k * 3) % 11 - 5);
  }
  for (int64_t j = 0; j < b.rows; ++j) {
    for (int64_t k = 0; k < b.columns; ++k) b(j, k) = static_cast<double>((j * 5 + k) % 13 - 6);
  }
  const Array product = matmul(a, b), fp32 = matmul_fp32(a, b);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.rows; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.columns; ++k) sum += a(i, k) * b(j, k);
      ASSERT_EQ(product(i, j), sum) << i << " " << j;
      ASSERT_EQ(fp32(i, j), sum) << i << " " << j;
    }
  }
}

TEST(Array, MatmulInFp32RoundsEverySum) {
  const Array ones{{1, 1, 1}}, b{{0x1p24, 1, -0x1p24}, {0x1p24, -0x1p24, 1}};
  EXPECT_EQ(matmul_fp32(ones, b), (Array{{0, 1}}));
  EXPECT_EQ(matmul(ones, b), (Array{{1, 1}}));
}

TEST(Array, NanAndInfinityPassThroughMatmul) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Array product = matmul(Array{{infinity, 1}, {0, 1}}, Array{{0, 1}, {1, 1}});
  EXPECT_TRUE(std::isnan(product(0, 0)));
  EXPECT_EQ(product(0, 1), infinity);
  EXPECT_EQ(product(1, 0), 1);
}

TEST(Array, SumsAndTranspose) {
  EXPECT_EQ(transpose(kMatrix), (Array{{1, 4}, {2, 5}, {3, 6}}));
  EXPECT_EQ(row_sums(kMatrix), (Array{{6}, {15}}));
  EXPECT_EQ(column_sums(kMatrix), (Array{{5, 7, 9}}));
}

TEST(Array, PartialSumsStartAnewInEverySegment) {
  EXPECT_EQ(row_partial_sums(kMatrix, {}, 2), (Array{{3, 9}, {3, 6}}));
  EXPECT_EQ(row_partial_sums(kMatrix, {1, 0, 2}, 2), (Array{{1, 4}, {5, 11}}));
  EXPECT_EQ(row_partial_sums(kMatrix), (Array{{6, 15}}));
  EXPECT_EQ(column_partial_sums(kMatrix, {}, 1), kMatrix);
  EXPECT_EQ(column_partial_sums(kMatrix), (Array{{5, 7, 9}}));
  EXPECT_EQ(column_partial_sums(kMatrix, {1, 1}), kMatrix);
  EXPECT_EQ(row_partial_sums(Array(3, 65, 1.0)), (Array{{64, 64, 64}, {1, 1, 1}}));
  EXPECT_EQ(row_partial_sums(Array(3, 0)), Array(0, 3));
}

TEST(Array, PartialSumsInFp32) {
  const Array x{{0x1p24, 1, 1}};
  EXPECT_EQ(row_partial_sums(x), Array(0x1p24 + 2));
  EXPECT_EQ(row_partial_sums(x, {}, 64, Sums::kFp32), Array(0x1p24));
}

TEST(Array, Functions) {
  EXPECT_EQ(reciprocal_sqrt(Array{{4, 0.25}}), (Array{{0.5, 2}}));
  const Array y = silu(Array{{0, 1, -800}});
  EXPECT_EQ(y(0, 0), 0);
  EXPECT_NEAR(y(0, 1), 0.7310585786300049, 1e-15);
  EXPECT_EQ(y(0, 2), 0);  // -800/∞
  EXPECT_EQ(map(kMatrix, [](double v) { return -v; })(1, 2), -6);
}

}  // namespace
}  // namespace coda::reference
