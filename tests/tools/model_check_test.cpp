// Whole models, as `coda check --model` has them.
#include "coda/tools/model_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "coda/block/device.h"
#include "coda/core/error.h"

namespace coda::tools {
namespace {

void expect_all_pass(const std::string& backend) {
  const CheckResult result = check_model(backend, 1);
  EXPECT_EQ(result.failed, 0) << fmt::format("{}", fmt::join(result.failures, "\n"));
  EXPECT_GT(result.passed, 100);
}

TEST(ModelCheck, PassesOnTheCpu) { expect_all_pass("cpu"); }

TEST(ModelCheck, PassesOnTheGpu) {
  try {
    block::make_cuda_device();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << error.what();
  }
  expect_all_pass("cuda");
}

TEST(ModelCheck, RefusesTheSimulator) { EXPECT_THROW(check_model("sim", 1), Error); }

}  // namespace
}  // namespace coda::tools
