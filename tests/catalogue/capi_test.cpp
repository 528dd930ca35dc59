// The C interface: results against plain fp64 loops. scripts/check_includes.py compiles coda/coda.h
// as C99.
#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/catalogue/capi_fixture.h"

namespace {

using namespace coda_c;

TEST_F(CApi, RunsAPlainGemm) {
  arguments.push_back({"alpha", nullptr, 0, 2.0});
  coda_options options = defaults();
  options.threads = 2;
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

TEST_F(CApi, WantsNoWorkspaceOnTheCpu) {
  int64_t bytes = -1;
  const auto ask = [&](const char* operation, int64_t* where) {
    return coda_workspace_bytes(operation, nullptr, &a_operand, &b_operand, arguments.data(), 1,
                                nullptr, where);
  };
  EXPECT_EQ(ask("linear", &bytes), CODA_OK) << coda_last_error();
  EXPECT_EQ(bytes, 0);
  expect_refused(ask("linear", nullptr), {"bytes", "null"});
  expect_refused(ask("liner", &bytes), {"liner", "linear"});
  for (const float value : out) ASSERT_TRUE(std::isnan(value));
}

TEST_F(CApi, RunsNothingOnNothing) {
  a_tensor.rows = 0;
  out_tensor.rows = 0;
  EXPECT_EQ(run(), CODA_OK) << coda_last_error();
  for (const float value : out) ASSERT_TRUE(std::isnan(value));
}

TEST_F(CApi, KeepsErrorsPerThread) {
  ASSERT_EQ(run("nothing"), CODA_BAD_ARGUMENT);
  std::thread([] { EXPECT_STREQ(coda_last_error(), ""); }).join();
  EXPECT_STRNE(coda_last_error(), "");
}

// A binding builds its functions from these alone.
TEST(CApiListing, NamesWhatThereIs) {
  int ports = 0;
  bool found = false;
  for (int32_t o = 0; coda_operation_name(o) != nullptr; ++o) {
    const std::string operation = coda_operation_name(o);
    found |= operation == "linear_swiglu";
    ASSERT_GE(coda_has_operands(operation.c_str()), 0);
    ASSERT_NE(coda_variant_name(operation.c_str(), 0), nullptr) << operation;
    for (int32_t v = 0; coda_variant_name(operation.c_str(), v) != nullptr; ++v) {
      const char* variant = coda_variant_name(operation.c_str(), v);
      coda_port port{.size = sizeof(coda_port)};
      bool output = false;
      for (int32_t p = 0; coda_get_port(operation.c_str(), variant, p, &port) == CODA_OK; ++p) {
        ++ports;
        output |= port.output == 1;
        EXPECT_EQ(port.size, sizeof(coda_port));
        EXPECT_STRNE(port.name, "");
        EXPECT_STRNE(port.kind, "");
        EXPECT_STRNE(port.shape, "");
        EXPECT_GE(port.dtype, CODA_BF16);
        EXPECT_LE(port.dtype, CODA_INT64);
        EXPECT_GE(port.segments, 1);
        EXPECT_GE(port.numbers, 1);
      }
      EXPECT_TRUE(output) << operation << " " << variant;
      EXPECT_NE(std::strstr(coda_last_error(), "below"), nullptr) << coda_last_error();
    }
  }
  EXPECT_TRUE(found);
  EXPECT_GT(ports, 0);
  EXPECT_STREQ(coda_parameter_name("linear_swiglu", "bf16", 0), "rstd.width");
  EXPECT_EQ(coda_has_operands("linear"), 1);
}

TEST(CApiVersion, IsThree) {
  int major = -1, minor = -1, patch = -1;
  EXPECT_EQ(std::sscanf(coda_version(), "%d.%d.%d", &major, &minor, &patch), 3) << coda_version();
}

}  // namespace
