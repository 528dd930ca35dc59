// Memory asked for while a model runs: none for tensors.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "coda/train/initial_weights.h"
#include "tests/block/small_model.h"
#include "tests/core/watch_allocations.h"

namespace {
std::atomic<size_t> largest{0};
}

void see_allocation(size_t bytes) {
  if (bytes > largest) largest = bytes;
}

namespace coda::block {
namespace {

// A node's call may ask for a little, as for the names in its arguments, but for no tensor.
TEST(Allocation, StepsAskForNoTensors) {
  const auto device = make_cpu_device(2);
  ModelOptions options = small_options();
  options.type = DType::kBf16;
  options.sequence = 256;
  Model model(small_config(), options, *device);
  train::set_initial_weights(model, 5);
  const std::vector<int64_t> tokens = draw_tokens(4 * 256, 1);
  const auto step = [&](int64_t number) {
    model.forward_backward(0, tokens, tokens);
    model.update(1e-3, number);
    model.forward(tokens, tokens);
    EXPECT_TRUE(std::isfinite(model.loss()));
  };
  step(1);  // threads get what tiles need
  step(2);
  largest = 0;
  step(3);
  EXPECT_GT(largest, 0u);
  EXPECT_LT(largest, size_t{16} << 10);  // the residual stream has 128 KiB
}

}  // namespace
}  // namespace coda::block
