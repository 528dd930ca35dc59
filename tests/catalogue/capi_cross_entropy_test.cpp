// Cross-entropy through the C interface: three ways to the gradients against plain fp64 loops, and
// what is refused.
#include <cstring>

#include "tests/catalogue/capi_fixture.h"

namespace {

using namespace coda_c;

constexpr int64_t kTokens = 21, kHidden = 24, kVocabulary = 150;
constexpr int64_t kIgnored = -1;

class CApiCrossEntropy : public testing::Test {
 protected:
  std::vector<float> x = scaled(kTokens * kHidden, 1), weight = scaled(kVocabulary * kHidden, 2),
                     loss = {NAN}, lse = std::vector<float>(kTokens, NAN),
                     logits = std::vector<float>(kTokens * kVocabulary, NAN),
                     dweight = std::vector<float>(kVocabulary * kHidden, NAN),
                     dx = std::vector<float>(kTokens * kHidden, NAN);
  std::vector<int64_t> target = std::vector<int64_t>(kTokens);
  coda_tensor x_tensor = matrix(x, kTokens, kHidden),
              weight_tensor = matrix(weight, kVocabulary, kHidden),
              loss_tensor = matrix(loss, 1, 1), lse_tensor = matrix(lse, 1, kTokens),
              logits_tensor = matrix(logits, kTokens, kVocabulary),
              dweight_tensor = matrix(dweight, kVocabulary, kHidden),
              dx_tensor = matrix(dx, kTokens, kHidden),
              target_tensor = {target.data(), CODA_INT64, 1, kTokens, kTokens, 0};
  coda_cross_entropy call{};
  std::vector<std::byte> workspace;

  void SetUp() override {
    for (int64_t i = 0; i < kTokens; ++i) target[static_cast<size_t>(i)] = i * 37 % kVocabulary;
    target[4] = kIgnored;
    call.size = sizeof(call);
    call.reduction = CODA_LOSS_MEAN;
    call.x = &x_tensor;
    call.weight = &weight_tensor;
    call.target = &target_tensor;
    call.ignore_index = kIgnored;
    call.loss = &loss_tensor;
    call.lse = &lse_tensor;
    call.dweight = &dweight_tensor;
    call.dx = &dx_tensor;
  }

  static std::vector<float> scaled(int64_t count, int seed) {
    std::vector<float> result = numbers(count, seed);
    for (float& value : result) value *= 0.25f;
    return result;
  }

  coda_status run(int32_t step, int64_t chunk = 0) {
    call.step = step;
    call.chunk = chunk;
    int64_t bytes = 0;
    const coda_status status = coda_cross_entropy_workspace_bytes(&call, &bytes);
    if (status != CODA_OK) return status;
    workspace.assign(static_cast<size_t>(bytes) + 256, std::byte{0xff});
    coda_options options = defaults();
    const auto address = reinterpret_cast<uintptr_t>(workspace.data());
    options.workspace = workspace.data() + (256 - address % 256) % 256;
    options.workspace_bytes = bytes;
    return coda_run_cross_entropy(&call, &options);
  }

  void expect_loss_and_gradients() {
    const double counted = kTokens - 1;
    double want = 0;
    std::vector<double> dw(weight.size()), dinput(x.size());
    for (int64_t i = 0; i < kTokens; ++i) {
      const int64_t label = target[static_cast<size_t>(i)];
      if (label == kIgnored) continue;
      std::vector<double> z(kVocabulary);
      double sum = 0;
      for (int64_t v = 0; v < kVocabulary; ++v) {
        for (int64_t k = 0; k < kHidden; ++k) {
          z[static_cast<size_t>(v)] += double{x[static_cast<size_t>(i * kHidden + k)]} *
                                       weight[static_cast<size_t>(v * kHidden + k)];
        }
        sum += std::exp(z[static_cast<size_t>(v)]);
      }
      EXPECT_NEAR(lse[static_cast<size_t>(i)], std::log(sum), 1e-5);
      want += (std::log(sum) - z[static_cast<size_t>(label)]) / counted;
      for (int64_t v = 0; v < kVocabulary; ++v) {
        const double p = std::exp(z[static_cast<size_t>(v)]) / sum;
        const double dz = (p - (v == label ? 1 : 0)) / counted;
        for (int64_t k = 0; k < kHidden; ++k) {
          const auto at_w = static_cast<size_t>(v * kHidden + k);
          const auto at_x = static_cast<size_t>(i * kHidden + k);
          dw[at_w] += dz * x[at_x];
          dinput[at_x] += dz * weight[at_w];
        }
      }
    }
    EXPECT_NEAR(loss[0], want, 1e-5);
    for (size_t i = 0; i < dw.size(); ++i) ASSERT_NEAR(dweight[i], dw[i], 1e-6) << i;
    for (size_t i = 0; i < dinput.size(); ++i) ASSERT_NEAR(dx[i], dinput[i], 1e-6) << i;
  }

  void expect_refused(coda_status status, const std::vector<std::string>& parts) {
    EXPECT_EQ(status, CODA_BAD_ARGUMENT);
    const std::string message = coda_last_error();
    for (const std::string& part : parts) EXPECT_NE(message.find(part), message.npos) << message;
    for (const float value : dweight) ASSERT_TRUE(std::isnan(value));
    EXPECT_TRUE(std::isnan(loss[0]));
  }
};

TEST_F(CApiCrossEntropy, MakesGradientsDuringTheForward) {
  ASSERT_EQ(run(CODA_CROSS_ENTROPY_WITH_GRADIENTS, 8), CODA_OK) << coda_last_error();
  expect_loss_and_gradients();
}

TEST_F(CApiCrossEntropy, TakesLogitsThatWereKept) {
  call.logits = &logits_tensor;
  ASSERT_EQ(run(CODA_CROSS_ENTROPY_LOSS), CODA_OK) << coda_last_error();
  call.dz = &logits_tensor;
  ASSERT_EQ(run(CODA_CROSS_ENTROPY_FROM_LOGITS), CODA_OK) << coda_last_error();
  expect_loss_and_gradients();
}

TEST_F(CApiCrossEntropy, MakesLogitsAgain) {
  ASSERT_EQ(run(CODA_CROSS_ENTROPY_LOSS), CODA_OK) << coda_last_error();
  ASSERT_EQ(run(CODA_CROSS_ENTROPY_RECOMPUTE, 128), CODA_OK) << coda_last_error();
  expect_loss_and_gradients();
}

TEST_F(CApiCrossEntropy, LeavesAGradientOut) {
  call.dweight = nullptr;
  ASSERT_EQ(run(CODA_CROSS_ENTROPY_WITH_GRADIENTS, 8), CODA_OK) << coda_last_error();
  call.dweight = &dweight_tensor;
  call.dx = nullptr;
  ASSERT_EQ(run(CODA_CROSS_ENTROPY_WITH_GRADIENTS, 8), CODA_OK) << coda_last_error();
  expect_loss_and_gradients();
}

TEST_F(CApiCrossEntropy, Refuses) {
  const auto refused = [&](auto change, const std::vector<std::string>& parts, int64_t chunk = 8) {
    const coda_cross_entropy before = call;
    change(call);
    expect_refused(run(CODA_CROSS_ENTROPY_WITH_GRADIENTS, chunk), parts);
    call = before;
  };
  refused([](auto& c) { c.size = 16; }, {"'size'", "16"});
  refused([](auto& c) { c.reduction = 3; }, {"'reduction'", "3"});
  refused([](auto& c) { c.x = nullptr; }, {"'x'", "null"});
  refused([](auto& c) { c.weight = nullptr; }, {"'weight'", "null"});
  refused([](auto& c) { c.target = nullptr; }, {"'target'", "null"});
  refused([](auto& c) { c.target = c.x; }, {"'target'", "int64", "fp32"});
  refused([](auto& c) { c.loss = nullptr; }, {"'loss'", "null"});
  refused([](auto& c) { c.loss = c.lse; }, {"'loss'", "[1, 1]", "[1, 21]"});
  refused([](auto& c) { c.lse = c.x; }, {"'lse'", "[1, 21]"});
  refused([](auto& c) { c.dweight = c.x; }, {"'dweight'"});
  refused([](auto& c) { c.dx = c.dweight; }, {"'dx'"});
  refused([](auto& c) { c.dx = c.dweight = nullptr; }, {"'dweight'", "neither"});
  refused([](auto& c) { c.dloss = c.lse; }, {"'dloss'", "[1, 1]"});
  const coda_tensor nowhere{nullptr, CODA_FP32, 1, 1, 1, 0};
  refused([&](auto& c) { c.dloss = &nowhere; }, {"'dloss'", "data", "a null pointer"});
  refused([](auto& c) { c.dots = c.lse; }, {"'dots'", "none without rstd"});
  refused([](auto& c) { c.size = UINT64_MAX; }, {"'size'", "sizeof(coda_cross_entropy)"});
  refused([](auto&) {}, {"chunk"}, 0);
  refused([](auto&) {}, {"chunk"}, -3);
  call.step = 9;
  EXPECT_EQ(coda_run_cross_entropy(&call, nullptr), CODA_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(coda_last_error(), "'step'"), nullptr);
  EXPECT_EQ(coda_run_cross_entropy(nullptr, nullptr), CODA_BAD_ARGUMENT);
  EXPECT_EQ(coda_cross_entropy_workspace_bytes(&call, nullptr), CODA_BAD_ARGUMENT);
  target[3] = kVocabulary;
  expect_refused(run(CODA_CROSS_ENTROPY_WITH_GRADIENTS, 8), {"target", "150"});
}

TEST_F(CApiCrossEntropy, RefusesLogitsThatLieNowhere) {
  coda_tensor nowhere = logits_tensor;
  nowhere.data = nullptr;
  call.logits = &nowhere;
  expect_refused(run(CODA_CROSS_ENTROPY_LOSS), {"'logits'", "data", "a null pointer"});
  EXPECT_TRUE(std::isnan(loss[0]));
}

TEST_F(CApiCrossEntropy, TakesNoWorkspaceWhereNoneIsNeeded) {
  for (coda_tensor* tensor : {&x_tensor, &dx_tensor}) tensor->rows = 0;
  for (coda_tensor* tensor : {&target_tensor, &lse_tensor}) tensor->columns = 0;
  int64_t bytes = -1;
  ASSERT_EQ(coda_cross_entropy_workspace_bytes(&call, &bytes), CODA_OK) << coda_last_error();
  ASSERT_EQ(bytes, 0);
  EXPECT_EQ(coda_run_cross_entropy(&call, nullptr), CODA_OK) << coda_last_error();
}

TEST_F(CApiCrossEntropy, RefusesWhatFinishesTheFactor) {
  std::vector<float> squares(kTokens, 1.0f), sums(kTokens, 0.0f);
  const coda_tensor squares_tensor = matrix(squares, 1, kTokens),
                    dots_tensor = matrix(sums, 1, kTokens);
  call.rstd = &squares_tensor;
  call.dots = &dots_tensor;
  expect_refused(run(CODA_CROSS_ENTROPY_WITH_GRADIENTS, 8), {"'rstd_width'", "above 0", "got 0"});
  call.rstd_width = kHidden;
  call.rstd_epsilon = -1;
  expect_refused(run(CODA_CROSS_ENTROPY_WITH_GRADIENTS, 8), {"'rstd_epsilon'", "got -1"});
}

TEST_F(CApiCrossEntropy, RefusesMembersOfALaterVersion) {
  struct {
    coda_cross_entropy known;
    int64_t later;
  } both = {call, 0};
  both.known.size = sizeof(both);
  int64_t bytes = 0;
  EXPECT_EQ(coda_cross_entropy_workspace_bytes(&both.known, &bytes), CODA_OK) << coda_last_error();
  both.later = 1;
  expect_refused(coda_cross_entropy_workspace_bytes(&both.known, &bytes), {"'size'", "later"});
}

// Sizes that no byte count has, and those that are none.
TEST_F(CApiCrossEntropy, RefusesWorkspacesThatCannotBe) {
  const auto refused = [&](int64_t rows, int64_t vocabulary,
                           const std::vector<std::string>& parts) {
    x_tensor.rows = rows;
    weight_tensor.rows = vocabulary;
    call.chunk = INT64_MAX / 128 * 128;
    for (call.step = 0; call.step < 4; ++call.step) {
      if (call.step == CODA_CROSS_ENTROPY_FROM_LOGITS) continue;  // needs few bytes always
      int64_t bytes = -7;
      expect_refused(coda_cross_entropy_workspace_bytes(&call, &bytes), parts);
      EXPECT_EQ(bytes, -7);
    }
  };
  refused(-1, 10, {"'x'", "got -1"});
  refused(10, INT64_MIN, {"'weight'", "-9223372036854775808"});
  refused(INT64_MAX, 10, {"'x'", "9223372036854775807"});
}

TEST_F(CApiCrossEntropy, RefusesSharedMemory) {
  const auto refused = [&](auto change, const std::vector<std::string>& parts) {
    const coda_cross_entropy before = call;
    change(call);
    expect_refused(run(CODA_CROSS_ENTROPY_WITH_GRADIENTS, 8), parts);
    call = before;
    for (const float value : lse) ASSERT_TRUE(std::isnan(value));
  };
  refused([](auto& c) { c.dx = c.x; }, {"'dx'", "'x'", "overlap"});
  refused([](auto& c) { c.dweight = c.weight; }, {"'dweight'", "'weight'", "overlap"});
  coda_tensor inside = lse_tensor;
  inside.data = dx.data() + 7;
  refused([&](auto& c) { c.lse = &inside; }, {"'lse'", "'dx'", "overlap"});
  coda_tensor odd = target_tensor;
  odd.data = reinterpret_cast<char*>(target.data()) + 1;
  refused([&](auto& c) { c.target = &odd; }, {"'target'", "aligned to 8"});
}

}  // namespace
