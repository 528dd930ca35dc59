// The model of Hopper's tensor cores: instructions worked out by hand, exact where nothing is lost,
// and errors that add up as those of truncation do.
#include "coda/reference/tensor_core.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "coda/core/error.h"
#include "coda/reference/formula.h"

namespace coda::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Σ x_k: one line of values times a line of ones.
double sum_of(const std::vector<double>& values, DType type = DType::kBf16) {
  const auto count = static_cast<int64_t>(values.size());
  Array line(1, count);
  line.values = values;
  return matmul_tensor_core(line, Array(1, count, 1.0), type)(0, 0);
}

// 1, and fifteen times another number: the terms of the first instruction.
double sum_of_one_and(double other) {
  std::vector<double> values(16, other);
  values[3] = 1;
  return sum_of(values);
}

Array draw(int64_t rows, int64_t columns, auto&& distribution, unsigned seed) {
  std::mt19937_64 generator(seed);
  Array result(rows, columns);
  for (double& value : result.values) value = round_to(DType::kFp16, distribution(generator));
  return result;
}

TEST(TensorCore, TermsAreCutBelow25Bits) {
  EXPECT_EQ(sum_of_one_and(0x1p-26), 1);                  // each is cut off, though 15 would count
  EXPECT_EQ(sum_of_one_and(0x1p-25), 1 + 3 * 0x1p-23);    // 3.75: the sum is cut to fp32 as well
  EXPECT_EQ(sum_of_one_and(0x1.8p-25), 1 + 3 * 0x1p-23);  // 1.5 becomes 1 of the last bit kept
  EXPECT_EQ(sum_of_one_and(-0x1p-25), 1 - 8 * 0x1p-24);   // 7.5 below 1, where fp32 is finer
}

TEST(TensorCore, CutsTowardsZero) {
  EXPECT_EQ(sum_of({1, 0x1.8p-24}), 1);
  EXPECT_EQ(sum_of({-1, -0x1.8p-24}), -1);
  EXPECT_EQ(sum_of({1, -0x1.8p-25}), 1 - 0x1p-24);  // the term becomes -2^-25, the sum 1 - 2^-24
}

TEST(TensorCore, ProductsAreAlignedByTheirOperandsExponents) {
  // 1.5² = 2.25 stands at exponent 0, so that 2^-25 is still kept; four of them make 2^-23, which
  // fp32 does not hold above 2, eight make 2^-22, which it does.
  const auto sum = [](int count) {
    Array a(1, 16), b(1, 16);
    a(0, 0) = b(0, 0) = 1.5;
    for (int k = 1; k <= count; ++k) a(0, k) = b(0, k) = k % 2 == 0 ? 0x1p-12 : 0x1p-13;
    for (int k = 1; k <= count; ++k) b(0, k) = 0x1p-25 / a(0, k);
    return matmul_tensor_core(a, b, DType::kBf16)(0, 0);
  };
  EXPECT_EQ(sum(4), 2.25);
  EXPECT_EQ(sum(8), 2.25 + 0x1p-22);
}

TEST(TensorCore, TheAccumulatorIsATermOfTheNextInstruction) {
  std::vector<double> values(17, 0.0);
  values[0] = 1, values[16] = 0x1p-23;
  EXPECT_EQ(sum_of(values), 1 + 0x1p-23);
  values[16] = 0x1.8p-24;
  EXPECT_EQ(sum_of(values), 1);
  values[0] = 0x1p-23, values[16] = 0x1p3;  // now the accumulator is the small one
  EXPECT_EQ(sum_of(values), 8);
}

TEST(TensorCore, SubnormalsStandAtTheSmallestExponentOfTheirType) {
  // 2^-24 is subnormal in fp16 and stands at exponent -14, where 2^-39 is the last bit kept.
  const double tiny = 0x1p-24;
  const Array a{{tiny, 0x1.8p-20}}, b{{1, 0x1.8p-20}};
  EXPECT_EQ(matmul_tensor_core(a, b, DType::kFp16)(0, 0), tiny + 0x1p-39);
  EXPECT_EQ(matmul_tensor_core(a, b, DType::kBf16)(0, 0), tiny + 0x1.2p-39);
}

TEST(TensorCore, SmallIntegersAreExact) {
  std::uniform_int_distribution<int> integer(-8, 8);
  for (const int64_t K : {0, 1, 15, 16, 17, 1000}) {
    const Array a = draw(7, K, integer, 1), b = draw(5, K, integer, 2);
    EXPECT_EQ(matmul_tensor_core(a, b, DType::kBf16), matmul(a, b)) << K;
    EXPECT_EQ(matmul_tensor_core(a, b, DType::kFp16), matmul(a, b)) << K;
  }
}

TEST(TensorCore, NothingFiniteIsLostAtTheEnds) {
  EXPECT_EQ(sum_of({0x1p127, 0x1p126}), 0x1.8p127);
  EXPECT_EQ(sum_of({0x1p127, 0x1p127}), kInfinity);
  EXPECT_EQ(sum_of({-0x1.fep127, -0x1p127}), -kInfinity);
  EXPECT_EQ(sum_of({0x1p-133}), 0x1p-133);
  EXPECT_EQ(sum_of({kInfinity, -1}), kInfinity);
  EXPECT_TRUE(std::isnan(sum_of({kInfinity, -kInfinity})));
  EXPECT_TRUE(std::isnan(sum_of({1, std::nan("")})));
}

TEST(TensorCore, ContractionsHaveToAgree) {
  EXPECT_THROW(matmul_tensor_core(Array(2, 3), Array(2, 4), DType::kBf16), Error);
}

// Mean relative error of sums of numbers between 1 and 2, positive where the sums are too small.
double deficit(Array (*multiply)(const Array&, const Array&), int64_t K) {
  std::uniform_real_distribution<double> positive(1, 2);
  const Array a = draw(16, K, positive, 3), b = draw(16, K, positive, 4);
  const Array want = matmul(a, b), got = multiply(a, b);
  double sum = 0;
  for (size_t i = 0; i < want.values.size(); ++i) {
    sum += (want.values[i] - got.values[i]) / want.values[i];
  }
  return sum / static_cast<double>(want.values.size());
}

// An instruction cuts half of the last bit kept off each of 16 terms, and 1.5 such bits where its
// sum becomes fp32: 9.5·2^-25 of a sum's power of two, which is 0.72 of it on average, and of half
// the last sum, since they grow: 0.86·2^-23·K/16. Rounding to nearest loses none on average.
TEST(TensorCore, ErrorGrowsWithTheContraction) {
  const auto tensor_core = [](const Array& a, const Array& b) {
    return matmul_tensor_core(a, b, DType::kFp16);
  };
  for (const int64_t K : {1024, 4096, 16384}) {
    const int64_t instructions = K / kTensorCoreDepth;
    const double expected = 0.86 * 0x1p-23 * static_cast<double>(instructions);
    EXPECT_NEAR(deficit(tensor_core, K), expected, 0.3 * expected) << K;
    EXPECT_LT(std::fabs(deficit(matmul_fp32, K)), 0.1 * expected) << K;
  }
}

TEST(TensorCore, RoundingChoosesIt) {
  std::normal_distribution<double> normal;
  const Array a = draw(4, 3000, normal, 5), b = draw(4, 3000, normal, 6);
  const Rounding cores(DType::kFp16, {}, Accumulation::kTensorCore), plain(DType::kFp16, {});
  EXPECT_EQ(cores.matmul(a, b), matmul_tensor_core(a, b, DType::kFp16));
  EXPECT_EQ(plain.matmul(a, b), matmul_fp32(a, b));
  EXPECT_NE(cores.matmul(a, b), plain.matmul(a, b));
}

}  // namespace
}  // namespace coda::reference
