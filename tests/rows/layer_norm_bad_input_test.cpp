// Row operations of blocks with LayerNorms turn down what does not fit, before anything is written.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "coda/catalogue/operation.h"
#include "coda/rows/embedding_positions.h"
#include "coda/rows/layer_norm_backward.h"
#include "coda/rows/layer_norm_sums.h"
#include "tests/program/expect_error.h"
#include "tests/rows/tensors.h"

namespace coda {
namespace {

TEST(EmbeddingPositions, EveryArgumentIsChecked) {
  Tensors t;
  const auto expect = [&](const std::function<void(row::EmbeddingPositionsArguments&)>& spoil,
                          std::initializer_list<std::string> texts) {
    row::EmbeddingPositionsArguments a{t.matrix(5, 80), t.integers({0, 4}), t.matrix(3, 80),
                                       t.integers({2, 0}), t.out(2, 80)};
    spoil(a);
    expect_error([&] { cpu::embedding_positions(a); }, texts);
    expect_untouched(a.out);
  };
  expect([&](auto& a) { a.tokens = t.integers({0, 5}); },
         {"embedding_positions: argument 'tokens'", "tokens from 0 to 4", "5 at 1"});
  expect([&](auto& a) { a.positions = t.integers({3, 0}); },
         {"'positions'", "positions from 0 to 2", "3 at 0"});
  expect([&](auto& a) { a.positions = t.integers({0}); }, {"'positions'", "[1, 2]", "[1, 1]"});
  expect([&](auto& a) { a.positions_table = t.matrix(3, 79); }, {"'positions_table'", "[3, 79]"});
  expect([&](auto& a) { a.positions.dtype = DType::kInt32; }, {"'positions'", "int64", "int32"});
}

TEST(LayerNormBackward, EveryArgumentIsChecked) {
  Tensors t;
  const auto expect = [&](const std::function<void(row::LayerNormBackwardArguments&)>& spoil,
                          std::initializer_list<std::string> texts) {
    row::LayerNormBackwardArguments a{t.matrix(3, 80),
                                      t.matrix(3, 80),
                                      t.matrix(1, 80),
                                      t.out(3, 80),
                                      t.out(1, 80),
                                      t.out(1, 80),
                                      1e-5,
                                      t.matrix(3, 80),
                                      t.out(1, 80)};
    spoil(a);
    expect_error([&] { cpu::layer_norm_backward(a); }, texts);
    expect_untouched(a.dbeta);
  };
  expect([](auto& a) { a.epsilon = -1; },
         {"layer_norm_backward: argument 'epsilon'", "0 or more", "-1"});
  expect([&](auto& a) { a.dgamma = t.out(2, 80); }, {"'dgamma'", "[1, 80]", "[2, 80]"});
  expect([&](auto& a) { a.dx_in = t.matrix(3, 79); }, {"'dx_in'", "[3, 80]", "[3, 79]"});
  expect([](auto& a) { a.x = a.dx; }, {"'dx'", "memory apart from 'x'"});
  expect(
      [&](auto& a) {  // of one row, as partials are
        for (TensorView* view : {&a.dy, &a.x, &*a.dx_in}) *view = t.matrix(1, 80);
        a.dx = t.out(1, 80);
        a.dgamma = a.dy;
      },
      {"'dgamma'", "memory apart from 'dy'"});
  expect([&](auto& a) { a.dcolumns = t.out(1, 81); }, {"'dcolumns'", "[1, 80]", "[1, 81]"});
}

TEST(LayerNormSums, EveryArgumentIsChecked) {
  Tensors t;
  const auto expect = [&](const std::function<void(row::LayerNormSumsArguments&)>& spoil,
                          std::initializer_list<std::string> texts) {
    row::LayerNormSumsArguments a{t.matrix(3, 80), t.matrix(3, 80), t.matrix(1, 80),
                                  t.matrix(1, 80), t.out(2, 3),     t.out(2, 3)};
    spoil(a);
    expect_error([&] { cpu::layer_norm_sums(a); }, texts);
    expect_untouched(a.dots);
  };
  expect([&](auto& a) { a.shift = t.matrix(1, 79); },
         {"layer_norm_sums: argument 'shift'", "[1, 80]", "[1, 79]"});
  expect([&](auto& a) { a.shifts = t.out(1, 3); }, {"'shifts'", "[2, 3]", "[1, 3]"});
  expect([](auto& a) { a.z.dtype = DType::kBf16; }, {"'z'", "fp32", "bf16"});
}

// States may be passed as floats, one after the other.
TEST(ByName, StatesAsFloats) {
  Tensors t;
  const catalogue::Variant& variant =
      find_variant(catalogue::find_operation("layer_norm_inputs"), "fp32");
  const auto run = [&](const TensorView& moments) {
    variant.run_cpu({{},
                     {},
                     {{"x", {t.matrix(2, 3, 3)}, 0},
                      {"gamma", {t.matrix(1, 3)}, 0},
                      {"scaled", {t.out(2, 3)}, 0},
                      {"moments", {moments}, 0}}},
                    {});
  };
  const TensorView moments = t.out(1, 4), odd = t.out(1, 3), few = t.out(1, 2);
  run(moments);
  const auto* data = static_cast<const float*>(moments.data);
  EXPECT_EQ((std::vector<float>(data, data + 4)), (std::vector<float>{9, 27, 9, 27}));
  expect_error([&] { run(odd); }, {"layer_norm_inputs: argument 'moments'", "states of 2 floats"});
  expect_error([&] { run(few); }, {"'moments'", "[1, 2]", "[1, 1]"});
  TensorView wide = moments;
  wide.dtype = DType::kState;
  wide.element_bytes = 16;
  expect_error([&] { run(wide); }, {"'moments'", "states of 8 bytes", "16"});
}

}  // namespace
}  // namespace coda
