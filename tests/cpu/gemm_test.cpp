// The product itself: operand types, majors, shapes, contraction segments. Small integers, so that
// fp64 gives every bit.
#include <gtest/gtest.h>

#include <array>

#include "tests/cpu/every_way.h"
#include "tests/cpu/programs.h"

namespace coda::cpu {
namespace {

using Shape = std::array<int64_t, 3>;  // M, N, K

template <class T>
void check_product(Shape shape, Major a_major, Major b_major) {
  const int64_t M = shape[0], N = shape[1], K = shape[2];
  SCOPED_TRACE(testing::Message() << dtype_name(dtype_of<T>) << " M " << M << " N " << N << " K "
                                  << K << " majors " << static_cast<int>(a_major)
                                  << static_cast<int>(b_major));
  Tensor<T> a(M, K, a_major), b(N, K, b_major);
  a.fill_integers(1);
  b.fill_integers(2);
  const std::vector<double> expected = product(a, b);
  Tensor<float> out(M, N);
  every_way(
      [&](const Options& options) {
        run(Product<float>{.out = out.view()}, Operand(a.view()), Operand(b.view()), options);
      },
      [&] { expect_equal(out, [&](int64_t i, int64_t j) { return expected[i * N + j]; }, "out"); },
      out);
}

template <class T>
class GemmTest : public testing::Test {};
using OperandTypes = testing::Types<bf16, fp16, float>;
TYPED_TEST_SUITE(GemmTest, OperandTypes);

TYPED_TEST(GemmTest, EveryMajor) {
  for (const Major a : {Major::kRow, Major::kColumn}) {
    for (const Major b : {Major::kRow, Major::kColumn}) {
      check_product<TypeParam>({67, 131, 35}, a, b);
      check_product<TypeParam>({130, 70, 515}, a, b);  // more than one block of the contraction
    }
  }
}

TYPED_TEST(GemmTest, RaggedShapes) {
  for (const Shape& shape : {Shape{1, 1, 1},
                             {1, 300, 17},
                             {300, 1, 17},
                             {2, 3, 1},
                             {5, 7, 3},
                             {64, 64, 64},
                             {63, 65, 66},
                             {129, 127, 2},
                             {16, 48, 33}}) {
    check_product<TypeParam>(shape, Major::kRow, Major::kRow);
    check_product<TypeParam>(shape, Major::kColumn, Major::kColumn);
  }
}

// B is not packed for some hundred rows and fewer, unless it is column-major.
TYPED_TEST(GemmTest, FewRows) {
  for (const int64_t M : {1, 2, 3, 4, 5, 8, 9, 10, 11, 13, 20, 21, 24, 25, 64, 97, 255, 256, 257}) {
    check_product<TypeParam>({M, 131, 35}, Major::kRow, Major::kRow);
    check_product<TypeParam>({M, 131, 36}, Major::kRow, Major::kRow);
    check_product<TypeParam>({M, 6, 1000}, Major::kRow, Major::kRow);  // more than one block
    check_product<TypeParam>({M, 131, 35}, Major::kRow, Major::kColumn);
    check_product<TypeParam>({M, 131, 35}, Major::kColumn, Major::kRow);
  }
}

TYPED_TEST(GemmTest, ManyTiles) {
  check_product<TypeParam>({700, 900, 5}, Major::kRow, Major::kRow);
}

// Small M·N: the contraction is cut into slices that are added in order.
TYPED_TEST(GemmTest, LongContraction) {
  check_product<TypeParam>({3, 5, 9000}, Major::kRow, Major::kRow);
  check_product<TypeParam>({3, 5, 9001}, Major::kColumn, Major::kColumn);
  check_product<TypeParam>({40, 70, 5000}, Major::kRow, Major::kRow);
}

TYPED_TEST(GemmTest, EmptyContractionGivesZeros) {
  check_product<TypeParam>({5, 70, 0}, Major::kRow, Major::kRow);
  check_product<TypeParam>({5, 70, 0}, Major::kColumn, Major::kColumn);
}

TYPED_TEST(GemmTest, EmptyOutputs) {
  check_product<TypeParam>({0, 70, 8}, Major::kRow, Major::kRow);
  check_product<TypeParam>({5, 0, 8}, Major::kRow, Major::kRow);
  check_product<TypeParam>({0, 0, 0}, Major::kRow, Major::kRow);
}

// A·Bᵀ + C·Dᵀ + ... as one GEMM, with blocks that do not line up, an empty segment, and both
// majors.
TYPED_TEST(GemmTest, ContractionSegments) {
  const int64_t M = 70, N = 100;
  const int64_t sizes[] = {300, 1, 0, 77};
  std::vector<Tensor<TypeParam>> a, b;
  std::vector<double> expected(M * N);
  for (int s = 0; s < 4; ++s) {
    a.emplace_back(M, sizes[s], s % 2 == 0 ? Major::kRow : Major::kColumn);
    b.emplace_back(N, sizes[s], s < 2 ? Major::kRow : Major::kColumn);
    a.back().fill_integers(s);
    b.back().fill_integers(10 + s);
    const std::vector<double> more = product(a.back(), b.back());
    for (int64_t i = 0; i < M * N; ++i) expected[i] += more[i];
  }
  Tensor<float> out(M, N);
  every_way(
      [&](const Options& options) {
        run(Product<float>{.out = out.view()},
            contraction(a[0].view(), a[1].view(), a[2].view(), a[3].view()),
            contraction(b[0].view(), b[1].view(), b[2].view(), b[3].view()), options);
      },
      [&] { expect_equal(out, [&](int64_t i, int64_t j) { return expected[i * N + j]; }, "out"); },
      out);
}

// Infinities and NaN stay in their row or column; what pads a panel meets none of them.
TYPED_TEST(GemmTest, SpecialValuesFollowIeee) {
  const int64_t M = 67, N = 70, K = 37;
  Tensor<TypeParam> a(M, K), b(N, K);
  a.fill_integers(1);
  b.fill_integers(2);
  const double infinity = std::numeric_limits<double>::infinity();
  a.set(3, K - 1, infinity);
  a.set(5, 0, std::nan(""));
  a.set(M - 1, 7, -infinity);
  b.set(N - 1, K - 1, infinity);
  const std::vector<double> expected = product(a, b);
  Tensor<float> out(M, N);
  every_way(
      [&](const Options& options) {
        run(Product<float>{.out = out.view()}, Operand(a.view()), Operand(b.view()), options);
      },
      [&] { expect_equal(out, [&](int64_t i, int64_t j) { return expected[i * N + j]; }, "out"); },
      out);
}

// Rounded once, from the fp32 accumulator.
TEST(StoreTest, RoundsToTheStoredType) {
  const int64_t M = 33, N = 130, K = 40;
  Tensor<float> a(M, K), b(N, K);
  a.fill_integers(1, 100);
  b.fill_integers(2, 100);
  const std::vector<double> expected = product(a, b);
  Tensor<bf16> narrow(M, N);
  Tensor<fp16> half(M, N);
  every_way(
      [&](const Options& options) {
        run(Product<bf16>{.out = narrow.view()}, Operand(a.view()), Operand(b.view()), options);
        run(Product<fp16>{.out = half.view()}, Operand(a.view()), Operand(b.view()), options);
      },
      [&] {
        const auto exact = [&](int64_t i, int64_t j) {
          return static_cast<float>(expected[i * N + j]);
        };
        expect_equal(
            narrow, [&](int64_t i, int64_t j) { return to_float(from_float<bf16>(exact(i, j))); },
            "bf16");
        expect_equal(
            half, [&](int64_t i, int64_t j) { return to_float(from_float<fp16>(exact(i, j))); },
            "fp16");
      },
      narrow, half);
}

}  // namespace
}  // namespace coda::cpu
