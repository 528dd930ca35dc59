// What a model turns down, before anything is written.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coda/train/initial_weights.h"
#include "tests/block/forwarding_device.h"
#include "tests/block/small_model.h"
#include "tests/program/expect_error.h"

namespace coda::block {
namespace {

// Says so before it asks for any memory.
class FullDevice : public ForwardingDevice {
 public:
  int64_t free_bytes() const override { return 100000; }
  void* allocate(int64_t bytes) override {
    ADD_FAILURE() << "asked for " << bytes << " bytes";
    return ForwardingDevice::allocate(bytes);
  }
};

TEST(BadModel, SaysWhatToLowerWhereMemoryIsTooSmall) {
  FullDevice device;
  expect_error([&] { Model(small_config(), small_options(), device); },
               {"free memory on cpu", "0.00 GiB", "lower the batch or the sequence", "parts",
                "recompute blocks", "activations", "moments", "in all"});
}

// It is what is asked for, and the device is asked once.
TEST(BadModel, TakesWhatItPlans) {
  class Counting : public ForwardingDevice {
   public:
    void* allocate(int64_t bytes) override {
      asked.push_back(bytes);
      return ForwardingDevice::allocate(bytes);
    }
    std::vector<int64_t> asked;
  };
  Counting device;
  const Model model(small_config(), small_options(), device);
  EXPECT_EQ(device.asked, std::vector{model.memory().bytes()});
}

TEST(BadModel, TurnsDownSequencesBeyondItsWindow) {
  const auto device = make_cpu_device(1);
  checkpoint::ModelConfig config = small_config();
  config.sliding_window = small_options().sequence;
  const Model fits(config, small_options(), *device);
  --*config.sliding_window;
  expect_error([&] { Model(config, small_options(), *device); },
               {"sequences of at most " + std::to_string(*config.sliding_window),
                "(sliding_window)", "lower the sequence"});
}

TEST(BadModel, TurnsDownSizes) {
  const auto device = make_cpu_device(1);
  const auto expect = [&](int64_t batch, int64_t sequence, int64_t parts,
                          std::initializer_list<std::string> texts) {
    ModelOptions options = small_options();
    options.batch = batch;
    options.sequence = sequence;
    options.parts = parts;
    expect_error([&] { Model(small_config(), options, *device); }, texts);
  };
  expect(0, 5, 1, {"at least one sequence, token and part", "0, 5, 1"});
  expect(5, 0, 1, {"at least one sequence, token and part", "5, 0, 1"});
  expect(5, 5, 0, {"at least one sequence, token and part", "5, 5, 0"});
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  expect(kMost, kMost, 1, {"tokens at a time", std::to_string(kMost), "parts"});
  expect(int64_t{1} << 31, 1, 1, {"tokens at a time", "2147483648"});
  checkpoint::ModelConfig config = small_config();
  config.num_key_value_heads = 3;
  expect_error([&] { Model(config, small_options(), *device); }, {"num_key_value_heads", "3"});
  config = small_config();
  config.attention_bias = true;
  expect_error([&] { Model(config, small_options(), *device); }, {"attention_bias", "o_proj"});
}

TEST(BadModel, OfGpt2TurnsDownMoreTokensThanItHasPositions) {
  const auto device = make_cpu_device(1);
  const checkpoint::ModelConfig config = small_config(checkpoint::Family::kGpt2);
  ModelOptions options = small_options();
  options.sequence = 128;
  const Model fits(config, options, *device);
  options.sequence = 129;
  expect_error([&] { Model(config, options, *device); },
               {"at most 128 tokens", "n_positions", "got 129", "lower the sequence"});
  options.sequence = 128;
  options.fold = Fold::kFolded;
  expect_error([&] { Model(config, options, *device); }, {"'fold'", "rule or kept", "folded"});
}

TEST(BadModel, TurnsDownTokens) {
  const auto device = make_cpu_device(1);
  Model model(small_config(), small_options(), *device);
  train::set_initial_weights(model, 5);
  const std::vector<int64_t> good = draw_tokens(4 * 33, 1);
  const auto with = [&](int64_t id) {
    std::vector<int64_t> ids = good;
    ids[7] = id;
    return ids;
  };
  const auto few = std::span(good).first(10);
  expect_error([&] { model.loss(); }, {"forward before its loss"});
  expect_error([&] { model.forward(few, good); }, {"'tokens'", "132", "10"});
  expect_error([&] { model.forward(good, few); }, {"'targets'", "132", "10"});
  for (const int64_t id : {int64_t{-1}, int64_t{100}, int64_t{1} << 40}) {
    expect_error([&] { model.forward(with(id), good); },
                 {"'tokens'", "ids below 100", std::to_string(id)});
    expect_error([&] { model.forward_backward(0, good, with(id)); },
                 {"'targets'", "ids below 100", std::to_string(id)});
  }
  expect_error([&] { model.forward(with(-100), good); }, {"'tokens'", "-100"});
  model.forward(good, with(-100));  // a target that does not count
  EXPECT_TRUE(std::isfinite(model.loss()));
  for (const int64_t part : {-1, 1}) {
    expect_error([&] { model.forward_backward(part, good, good); },
                 {"part 0 to 0", std::to_string(part)});
  }
  expect_error([&] { model.update(1e-3, 0); }, {"step 1 or later", "0"});
  expect_error([&] { model.set_weight(model.parameters().final_norm(), std::vector<float>(3)); },
               {"model.norm.weight", "64", "3"});
}

TEST(BadModel, ThatDoesNotTrainSaysSo) {
  const auto device = make_cpu_device(1);
  ModelOptions options = small_options();
  options.training = false;
  Model model(small_config(), options, *device);
  EXPECT_EQ(model.memory().bytes(Use::kMoments), 0);
  const std::vector<int64_t> tokens = draw_tokens(4 * 33, 1);
  expect_error([&] { model.forward_backward(0, tokens, tokens); }, {"a model that trains"});
  expect_error([&] { model.update(1e-3, 1); }, {"a model that trains"});
}

}  // namespace
}  // namespace coda::block
