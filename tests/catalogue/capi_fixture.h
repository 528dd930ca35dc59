// A GEMM of small integers through the C interface, for the tests of it.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "coda/coda.h"

namespace coda_c {

inline constexpr int64_t kM = 37, kN = 70, kK = 45;

inline std::vector<float> numbers(int64_t count, int seed) {  // small integers: every sum is exact
  std::vector<float> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<float>(static_cast<int>((i * 7 + static_cast<size_t>(seed)) % 9) - 4);
  }
  return result;
}

inline coda_tensor matrix(std::vector<float>& data, int64_t rows, int64_t columns) {
  return {data.data(), CODA_FP32, rows, columns, columns, 0};
}

inline coda_options defaults() {
  coda_options options{};
  options.size = sizeof(options);
  return options;
}

inline coda_argument port(const char* name, const coda_tensor& tensor) {
  return {name, &tensor, 1, 0};
}

inline double dot(const std::vector<float>& a, int64_t i, const std::vector<float>& b, int64_t j) {
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

}  // namespace coda_c
