// The C interface: results against plain fp64 loops, and messages instead of exceptions.
// scripts/check_includes.py compiles coda/coda.h as C99.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "coda/coda.h"

namespace {

constexpr int64_t kM = 37, kN = 70, kK = 45;

std::vector<float> numbers(int64_t count, int seed) {  // small integers: every sum is exact
  std::vector<float> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<float>(static_cast<int>((i * 7 + static_cast<size_t>(seed)) % 9) - 4);
  }
  return result;
}

coda_tensor matrix(std::vector<float>& data, int64_t rows, int64_t columns) {
  return {data.data(), CODA_FP32, rows, columns, columns, 0};
}

coda_argument port(const char* name, const coda_tensor& tensor) { return {name, &tensor, 1, 0}; }

double dot(const std::vector<float>& a, int64_t i, const std::vector<float>& b, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < kK; ++k) {
    sum += double{a[static_cast<size_t>(i * kK + k)]} * b[static_cast<size_t>(j * kK + k)];
  }
  return sum;
}

class CApi : public testing::Test {
 protected:
  std::vector<float> a = numbers(kM * kK, 1), b = numbers(kN * kK, 2), b2 = numbers(kN * kK, 5),
                     out = std::vector<float>(kM * kN, NAN);
  coda_tensor a_tensor = matrix(a, kM, kK), b_tensor = matrix(b, kN, kK),
              b2_tensor = matrix(b2, kN, kK), out_tensor = matrix(out, kM, kN);
  coda_operand a_operand = {&a_tensor, nullptr, 1, CODA_CUT_NONE, 0};
  coda_operand b_operand = {&b_tensor, nullptr, 0, CODA_CUT_NONE, 0};
  std::vector<coda_argument> arguments = {port("out", out_tensor)};

  coda_status run(const char* operation = "linear", const char* variant = nullptr,
                  const coda_options* options = nullptr) {
    return coda_run(operation, variant, &a_operand, &b_operand, arguments.data(),
                    static_cast<int32_t>(arguments.size()), options);
  }

  // The call is refused, the message names what is wrong, and nothing is written.
  void expect_refused(coda_status status, const std::vector<std::string>& parts) {
    EXPECT_EQ(status, CODA_BAD_ARGUMENT);
    const std::string message = coda_last_error();
    for (const std::string& part : parts) EXPECT_NE(message.find(part), message.npos) << message;
    for (const float value : out) ASSERT_TRUE(std::isnan(value));
  }
};

TEST_F(CApi, RunsAPlainGemm) {
  arguments.push_back({"alpha", nullptr, 0, 2.0});
  const coda_options options = {2, nullptr};
  ASSERT_EQ(run("linear", "fp32", &options), CODA_OK) << coda_last_error();
  EXPECT_STREQ(coda_last_error(), "");
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      ASSERT_EQ(out[static_cast<size_t>(i * kN + j)], 2 * dot(a, i, b, j)) << i << ", " << j;
    }
  }
}

TEST_F(CApi, RunsAPairWithARowFactor) {
  b_operand.second = &b2_tensor;
  std::vector<float> squares(static_cast<size_t>(kM), 8.0f);  // rstd = (8/2 + 12)^-½ = 1/4
  const coda_tensor squares_tensor = matrix(squares, 1, kM);
  arguments.push_back(port("rstd", squares_tensor));
  arguments.push_back({"rstd.width", nullptr, 0, 2.0});
  arguments.push_back({"rstd.epsilon", nullptr, 0, 12.0});
  ASSERT_EQ(run("linear_swiglu"), CODA_OK) << coda_last_error();
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      const double gate = dot(a, i, b, j) / 4, up = dot(a, i, b2, j) / 4;
      const double want = gate / (1 + std::exp(-gate)) * up;
      ASSERT_NEAR(out[static_cast<size_t>(i * kN + j)], want, 1e-5 * std::abs(want) + 1e-6);
    }
  }
}

TEST_F(CApi, CutsOperands) {
  // The rows of B from two tensors.
  const coda_tensor parts[] = {{b.data(), CODA_FP32, 30, kK, kK, 0},
                               {b.data() + 30 * kK, CODA_FP32, kN - 30, kK, kK, 0}};
  b_operand = {parts, nullptr, 2, CODA_CUT_ROWS, 0};
  ASSERT_EQ(run(), CODA_OK) << coda_last_error();
  const std::vector<float> by_rows = out;
  // Both operands side by side along K: the columns of one matrix, with its leading dimension.
  const coda_tensor left[] = {{a.data(), CODA_FP32, kM, 20, kK, 0},
                              {a.data() + 20, CODA_FP32, kM, kK - 20, kK, 0}};
  const coda_tensor right[] = {{b.data(), CODA_FP32, kN, 20, kK, 0},
                               {b.data() + 20, CODA_FP32, kN, kK - 20, kK, 0}};
  a_operand = {left, nullptr, 2, CODA_CUT_CONTRACTION, 0};
  b_operand = {right, nullptr, 2, CODA_CUT_CONTRACTION, 0};
  out.assign(out.size(), NAN);
  ASSERT_EQ(run(), CODA_OK) << coda_last_error();
  EXPECT_EQ(out, by_rows);
  for (int64_t j = 0; j < kN; ++j) ASSERT_EQ(out[static_cast<size_t>(j)], dot(a, 0, b, j));
}

TEST_F(CApi, ReadsColumnMajor) {
  std::vector<float> transposed(b.size());  // [K, N] in memory
  for (int64_t j = 0; j < kN; ++j) {
    for (int64_t k = 0; k < kK; ++k) {
      transposed[static_cast<size_t>(k * kN + j)] = b[static_cast<size_t>(j * kK + k)];
    }
  }
  b_tensor = {transposed.data(), CODA_FP32, kN, kK, kN, 1};
  ASSERT_EQ(run(), CODA_OK) << coda_last_error();
  for (int64_t j = 0; j < kN; ++j) ASSERT_EQ(out[static_cast<size_t>(j)], dot(a, 0, b, j));
}

TEST_F(CApi, RefusesNames) {
  expect_refused(run(nullptr), {"operation", "null"});
  expect_refused(run("linaer"), {"linaer", "did you mean 'linear'"});
  expect_refused(run("linear", "fp23"), {"fp23", "fp32"});
  arguments[0].name = "ouput";
  expect_refused(run(), {"linear", "ouput", "out"});
  arguments[0].name = nullptr;
  expect_refused(run(), {"name", "null"});
}

TEST_F(CApi, RefusesAnUnknownActivation) {
  b_operand = {&b_tensor, &b2_tensor, 1, CODA_CUT_NONE, 0};
  arguments.push_back({"activation", nullptr, 0, 4.0});
  expect_refused(run("linear_swiglu"), {"'activation'", "0 to 3", "got 4"});
  arguments.back().number = 1.5;
  expect_refused(run("linear_swiglu"), {"'activation'", "int32", "1.5"});
  arguments.back().number = 3;
  EXPECT_EQ(run("linear_swiglu"), CODA_OK) << coda_last_error();
}

TEST_F(CApi, RefusesTypes) {
  expect_refused(run("linear", "bf16"), {"'A'", "bf16", "fp32"});
  a_tensor.dtype = 99;
  expect_refused(run(), {"'A'", "coda_dtype", "99"});
  a_tensor.dtype = CODA_INT64;
  expect_refused(run(), {"'A'", "int64"});
  a_tensor.dtype = CODA_FP32;
  out_tensor.dtype = CODA_BF16;
  expect_refused(run(), {"'out'", "fp32", "bf16"});
}

TEST_F(CApi, RefusesOperands) {
  b_operand.segments = 5;
  expect_refused(run(), {"'B'", "1 to 4", "5"});
  b_operand.segments = -1;
  expect_refused(run(), {"'B'", "1 to 4", "-1"});
  b_operand.segments = 2;
  expect_refused(run(), {"'B'", "CODA_CUT_ROWS"});
  b_operand = {&b_tensor, nullptr, 1, 7, 0};
  expect_refused(run(), {"'B'", "coda_cut", "7"});
  b_operand = {&b_tensor, &b2_tensor, 1, CODA_CUT_NONE, 0};
  expect_refused(run(), {"'B'", "one operand"});
  b_operand.head_dim = 2;
  expect_refused(run("linear_swiglu"), {"'B'", "pair", "both"});
  b_operand = {nullptr, nullptr, 1, CODA_CUT_NONE, 0};
  expect_refused(run(), {"'B'", "null"});
  b_operand = {&b_tensor, nullptr, 1, CODA_CUT_NONE, 0};
  b_tensor.data = nullptr;
  expect_refused(run(), {"'B'", "null"});
  EXPECT_EQ(coda_run("linear", nullptr, nullptr, &b_operand, nullptr, 0, nullptr),
            CODA_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(coda_last_error(), "'A'"), nullptr);
}

TEST_F(CApi, RefusesArgumentsAndOptions) {
  EXPECT_EQ(coda_run("linear", nullptr, &a_operand, &b_operand, nullptr, 2, nullptr),
            CODA_BAD_ARGUMENT);
  EXPECT_EQ(coda_run("linear", nullptr, &a_operand, &b_operand, nullptr, -1, nullptr),
            CODA_BAD_ARGUMENT);
  coda_options options = {-1, nullptr};
  expect_refused(run("linear", nullptr, &options), {"threads", "-1"});
  options = {0, "mmx"};
  expect_refused(run("linear", nullptr, &options), {"mmx", "portable"});
  arguments.push_back(arguments[0]);
  expect_refused(run(), {"'out'", "several"});
  arguments.clear();
  expect_refused(run(), {"'out'", "missing"});
}

TEST_F(CApi, KeepsErrorsPerThread) {
  ASSERT_EQ(run("nothing"), CODA_BAD_ARGUMENT);
  std::thread([] { EXPECT_STREQ(coda_last_error(), ""); }).join();
  EXPECT_STRNE(coda_last_error(), "");
}

TEST(CApiVersion, IsThree) {
  int major = -1, minor = -1, patch = -1;
  EXPECT_EQ(std::sscanf(coda_version(), "%d.%d.%d", &major, &minor, &patch), 3) << coda_version();
}

}  // namespace
