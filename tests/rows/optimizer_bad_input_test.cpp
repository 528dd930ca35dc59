// The optimizer's operations turn down what does not fit, before anything is written.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "coda/catalogue/operation.h"
#include "coda/rows/adamw.h"
#include "coda/rows/clip_factor.h"
#include "coda/rows/square_sums.h"
#include "tests/program/expect_error.h"
#include "tests/rows/tensors.h"

namespace coda {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TensorView as_bf16(TensorView view) {
  view.dtype = DType::kBf16;
  view.element_bytes = 2;
  return view;
}

class Adamw : public testing::Test {
 protected:
  row::AdamwArguments good() {
    row::AdamwArguments a{t.out(4, 6),    t.out(4, 6),    t.out(4, 6),
                          t.matrix(4, 6), t.matrix(1, 3), t.matrix(1, 1),
                          t.out(4, 6),    t.matrix(1, 6), t.out(4, 6)};
    return a;
  }
  void expect(const std::function<void(row::AdamwArguments&)>& spoil,
              std::initializer_list<std::string> texts) {
    const row::AdamwArguments before = good();
    row::AdamwArguments a = before;
    spoil(a);
    expect_error([&] { cpu::adamw(a); }, texts);
    for (const TensorView& view :
         {before.master, before.m, before.v, *before.weight, *before.folded}) {
      expect_untouched(view);
    }
  }
  Tensors t;
};

TEST_F(Adamw, ShapesAndTypes) {
  EXPECT_NO_THROW(cpu::adamw(good()));
  expect([&](auto& a) { a.m = t.out(4, 5); }, {"adamw: argument 'm'", "[4, 6]", "[4, 5]"});
  expect([&](auto& a) { a.v = t.out(3, 6); }, {"'v'", "[4, 6]", "[3, 6]"});
  expect([&](auto& a) { a.gradient = t.matrix(6, 4); }, {"'gradient'", "[4, 6]", "[6, 4]"});
  expect([&](auto& a) { a.gradient = as_bf16(a.gradient); }, {"'gradient'", "fp32", "bf16"});
  expect([&](auto& a) { a.master = as_bf16(a.master); }, {"'master'", "fp32", "bf16"});
  expect([&](auto& a) { a.rates = t.matrix(1, 2); }, {"'rates'", "[1, 3]", "[1, 2]"});
  expect([&](auto& a) { a.clip = t.matrix(1, 2); }, {"'clip'", "[1, 1]", "[1, 2]"});
  expect([&](auto& a) { a.weight = t.out(4, 7); }, {"'weight'", "[4, 6]", "[4, 7]"});
  expect([&](auto& a) { a.weight = as_bf16(*a.weight); }, {"'folded'", "bf16", "fp32"});
  expect([&](auto& a) { a.gamma = t.matrix(1, 5); }, {"'gamma'", "[1, 6]", "[1, 5]"});
  expect([&](auto& a) { a.gamma = as_bf16(*a.gamma); }, {"'gamma'", "fp32", "bf16"});
  expect([&](auto& a) { a.v.data = nullptr; }, {"'v'", "a null pointer"});
  expect([&](auto& a) { a.v.ld = 5; }, {"'v'", "leading dimension of at least 6", "5"});
}

TEST_F(Adamw, WhatGoesTogether) {
  expect([](auto& a) { a.gamma.reset(); }, {"'gamma'", "beside 'folded'", "nothing"});
  expect([](auto& a) { a.folded.reset(); }, {"'gamma'", "'folded' beside it", "nothing"});
  expect([](auto& a) { a.weight = a.master; }, {"memory apart from", "an overlap"});
  expect([](auto& a) { a.gradient = a.m; }, {"'m'", "memory apart from 'gradient'"});
  expect([](auto& a) { a.v = a.m; }, {"'m'", "memory apart from 'v'"});
}

TEST_F(Adamw, Numbers) {
  for (const double beta : {1.0, -0.1, 2.0, kNan, kInfinity}) {
    expect([&](auto& a) { a.beta1 = beta; }, {"'beta1'", "at least 0 and below 1"});
    expect([&](auto& a) { a.beta2 = beta; }, {"'beta2'", "at least 0 and below 1"});
  }
  for (const double epsilon : {0.0, -1e-8, kNan, kInfinity, 1e-60}) {
    expect([&](auto& a) { a.epsilon = epsilon; }, {"'epsilon'", "above 0"});
  }
  for (const double decay : {-0.1, kNan, kInfinity, 1e60}) {
    expect([&](auto& a) { a.decay = decay; }, {"'decay'", "at least 0"});
  }
  expect_error([&] { cpu::adamw(good(), -1); }, {"'threads'", "-1"});
}

TEST(SquareSums, BadInput) {
  Tensors t;
  const TensorView x = t.matrix(4, 6), sums = t.out(1, 4);
  expect_error([&] { cpu::square_sums({x, t.out(1, 6)}); },
               {"square_sums: argument 'sums'", "[1, 4]", "[1, 6]"});
  expect_error([&] { cpu::square_sums({as_bf16(x), sums}); }, {"'x'", "fp32", "bf16"});
  TensorView inside = x;
  inside.rows = 1;
  inside.columns = 4;
  expect_error([&] { cpu::square_sums({x, inside}); }, {"'sums'", "memory apart from 'x'"});
  expect_untouched(sums);
}

TEST(ClipFactor, BadInput) {
  Tensors t;
  const TensorView squares = t.matrix(1, 5), norm = t.out(1, 1), factor = t.out(1, 1);
  const auto fails = [&](const row::ClipFactorArguments& a,
                         std::initializer_list<std::string> texts) {
    expect_error([&] { cpu::clip_factor(a); }, texts);
    expect_untouched(norm);
    expect_untouched(factor);
  };
  for (const double max_norm : {0.0, -1.0, kNan}) {
    fails({squares, norm, factor, max_norm},
          {"clip_factor: argument 'max_norm'", "above 0; leave it out to clip nothing"});
  }
  fails({t.matrix(2, 5), norm, factor}, {"'squares'", "[1, 5]", "[2, 5]"});
  fails({squares, t.out(1, 2), factor}, {"'norm'", "[1, 1]", "[1, 2]"});
  fails({squares, norm, norm}, {"'norm'", "memory apart from 'factor'"});
}

TEST(OptimizerByName, NumbersThatHaveNoDefault) {
  Tensors t;
  const TensorView master = t.out(1, 6);
  const std::vector<Argument> tensors{{"master", {master}, 0},
                                      {"m", {t.out(1, 6)}, 0},
                                      {"v", {t.out(1, 6)}, 0},
                                      {"gradient", {t.matrix(1, 6)}, 0},
                                      {"rates", {t.matrix(1, 3)}, 0}};
  const catalogue::Variant& variant = find_variant(catalogue::find_operation("adamw"), "fp32");
  expect_error([&] { variant.run_cpu({{}, {}, tensors}, {}); },
               {"adamw: argument 'beta1'", "a number", "nothing"});
  expect_untouched(master);
}

}  // namespace
}  // namespace coda
