// Row operations turn down what does not fit, before anything is written: in C++, and by name.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "coda/catalogue/operation.h"
#include "coda/rows/embedding_backward.h"
#include "coda/rows/embedding_norm.h"
#include "coda/rows/finish_columns.h"
#include "coda/rows/fold_norm_weight.h"
#include "coda/rows/norm_inputs.h"
#include "coda/rows/rope_backward.h"
#include "coda/rows/scale_gradient.h"
#include "tests/program/expect_error.h"
#include "tests/rows/tensors.h"

namespace coda {
namespace {

class EmbeddingNorm : public testing::Test {
 protected:
  void expect(const std::function<void(row::EmbeddingNormArguments&)>& spoil,
              std::initializer_list<std::string> texts) {
    row::EmbeddingNormArguments a{t.matrix(5, 80), t.integers({0, 4, 2}), t.out(3, 80),
                                  t.out(2, 3)};
    spoil(a);
    expect_error([&] { cpu::embedding_norm(a); }, texts);
    if (a.out.rows == 3 && a.out.dtype == DType::kFp32) expect_untouched(a.out);
  }
  Tensors t;
};

TEST_F(EmbeddingNorm, TokenOutOfRange) {
  expect([&](auto& a) { a.tokens = t.integers({0, 5, 1}); },
         {"embedding_norm: argument 'tokens'", "from 0 to 4", "got 5 at 1"});
  expect([&](auto& a) { a.tokens = t.integers({0, 1, -1}); }, {"'tokens'", "got -1 at 2"});
  expect([&](auto& a) { a.tokens = t.integers({0, std::numeric_limits<int64_t>::max(), 1}); },
         {"'tokens'", "9223372036854775807"});
}

TEST_F(EmbeddingNorm, ShapesAndTypes) {
  expect([&](auto& a) { a.out = t.out(3, 79); }, {"'out'", "[3, 80]", "[3, 79]"});
  expect([&](auto& a) { a.squares = t.out(1, 3); }, {"'squares'", "[2, 3]", "[1, 3]"});
  expect([&](auto& a) { a.tokens = t.matrix(1, 3); }, {"'tokens'", "int32 or int64", "fp32"});
  expect([&](auto& a) { a.table.dtype = DType::kInt32; }, {"'table'", "bf16 or fp16 or fp32"});
  expect([&](auto& a) { a.table.ld = 79; }, {"'table'", "leading dimension of at least 80", "79"});
  expect([&](auto& a) { a.table.data = nullptr; }, {"'table'", "a null pointer"});
  expect([&](auto& a) { a.table.major = Major::kColumn; }, {"'table'", "row-major"});
  expect([&](auto& a) { a.table.ld = int64_t{1} << 61; }, {"'table'", "below 2^63"});
  expect([&](auto& a) { a.table.data = static_cast<const char*>(a.table.data) + 1; },
         {"'table'", "aligned to 4 bytes"});
}

TEST_F(EmbeddingNorm, GammaGoesWithItsOutput) {
  expect([&](auto& a) { a.gamma = t.matrix(1, 80); }, {"'gamma'", "'scaled' beside it", "nothing"});
  expect([&](auto& a) { a.scaled = t.out(3, 80); }, {"'gamma'", "beside 'scaled'", "nothing"});
  expect(
      [&](auto& a) {
        a.gamma = t.matrix(1, 79);
        a.scaled = t.out(3, 80);
      },
      {"'gamma'", "[1, 80]", "[1, 79]"});
}

TEST(NormInputs, EveryArgumentIsChecked) {
  Tensors t;
  const auto expect = [&](const std::function<void(row::NormInputsArguments&)>& spoil,
                          std::initializer_list<std::string> texts) {
    row::NormInputsArguments a{t.matrix(3, 80), t.out(2, 3), t.matrix(1, 80), t.out(3, 80)};
    spoil(a);
    expect_error([&] { cpu::norm_inputs(a); }, texts);
    expect_untouched(a.squares);
  };
  expect([&](auto& a) { a.squares = t.out(1, 3); },
         {"norm_inputs: argument 'squares'", "[2, 3]", "[1, 3]"});
  expect([&](auto& a) { a.gamma.reset(); }, {"'gamma'", "beside 'scaled'", "nothing"});
  expect([&](auto& a) { a.scaled.reset(); }, {"'gamma'", "'scaled' beside it", "nothing"});
  expect([&](auto& a) { a.gamma = t.matrix(1, 79); }, {"'gamma'", "[1, 80]", "[1, 79]"});
  expect([&](auto& a) { a.gamma->dtype = DType::kFp16; }, {"'gamma'", "fp32 or bf16", "fp16"});
  expect([&](auto& a) { a.scaled->dtype = DType::kBf16; }, {"'scaled'", "fp32", "bf16"});
  expect([&](auto& a) { a.scaled = a.x; }, {"'scaled'", "memory apart from 'x'"});
  expect([&](auto& a) { a.x.dtype = DType::kInt64; }, {"'x'", "bf16 or fp16 or fp32", "int64"});
}

TEST_F(EmbeddingNorm, OutputsLieApart) {
  expect([&](auto& a) { a.table = a.out; }, {"'out'", "memory apart from 'table'"});
  row::EmbeddingNormArguments a{t.matrix(5, 80), t.integers({0}), t.out(1, 80), t.out(2, 1)};
  expect_error([&] { cpu::embedding_norm(a, -1); }, {"'threads'", "-1"});
}

TEST(FoldNormWeight, BadInput) {
  Tensors t;
  const TensorView weight = t.matrix(4, 6), gamma = t.matrix(1, 6), out = t.out(4, 6);
  const auto fails = [&](const row::FoldNormWeightArguments& a,
                         std::initializer_list<std::string> texts) {
    expect_error([&] { cpu::fold_norm_weight(a); }, texts);
    expect_untouched(out);
  };
  fails({weight, t.matrix(1, 5), out}, {"fold_norm_weight: argument 'gamma'", "[1, 6]", "[1, 5]"});
  TensorView half = gamma;
  half.dtype = DType::kBf16;
  half.element_bytes = 2;
  fails({weight, half, out}, {"'gamma'", "fp32", "bf16"});
  TensorView shifted = out;
  shifted.rows = 3;
  fails({weight, gamma, shifted}, {"'out'", "[4, 6]", "[3, 6]"});
  TensorView later = weight;  // not exactly the memory of weight
  later.data = static_cast<const float*>(weight.data) + 1;
  fails({weight, gamma, later}, {"'out'", "memory apart from 'weight'"});
}

TEST(ScaleGradient, BadInput) {
  Tensors t;
  const TensorView gradient = t.matrix(4, 6), factor = t.matrix(1, 1), out = t.out(4, 6);
  const auto fails = [&](const row::ScaleGradientArguments& a,
                         std::initializer_list<std::string> texts) {
    expect_error([&] { cpu::scale_gradient(a); }, texts);
    expect_untouched(out);
  };
  fails({gradient, t.matrix(1, 6), out}, {"scale_gradient: argument 'factor'", "[1, 1]", "[1, 6]"});
  fails({gradient, factor, t.out(4, 5)}, {"'out'", "[4, 6]", "[4, 5]"});
  TensorView half = gradient;
  half.dtype = DType::kBf16;
  half.element_bytes = 2;
  fails({half, factor, out}, {"'out'", "bf16", "fp32"});  // never to a wider type
  half.dtype = DType::kFp16;
  fails({half, factor, out}, {"'gradient'", "bf16 or fp32", "fp16"});
  TensorView later = gradient;  // not exactly the memory of the gradient
  later.data = static_cast<const float*>(gradient.data) + 1;
  fails({gradient, factor, later}, {"'out'", "memory apart from 'gradient'"});
  TensorView narrower = gradient;  // the same memory, but elements would stand elsewhere in it
  narrower.dtype = DType::kBf16;
  narrower.element_bytes = 2;
  fails({gradient, factor, narrower}, {"'out'", "memory apart from 'gradient'"});
}

TEST(FinishColumns, BadInput) {
  Tensors t;
  const TensorView partials = t.matrix(3, 7), out = t.out(1, 7);
  expect_error([&] { cpu::finish_columns({partials, t.out(1, 6)}); },
               {"finish_columns: argument 'out'", "[1, 7]", "[1, 6]"});
  TensorView half = out;
  half.dtype = DType::kFp16;
  half.element_bytes = 2;
  expect_error([&] { cpu::finish_columns({partials, half}); }, {"'out'", "fp32 or bf16", "fp16"});
  expect_untouched(out);
}

TEST(EmbeddingBackward, BadInput) {
  Tensors t;
  const TensorView dx = t.matrix(2, 7), out = t.out(3, 7);
  const auto fails = [&](const row::EmbeddingBackwardArguments& a,
                         std::initializer_list<std::string> texts) {
    expect_error([&] { cpu::embedding_backward(a); }, texts);
    expect_untouched(out);
  };
  fails({dx, t.integers({0, 3}), out}, {"embedding_backward: argument 'tokens'", "got 3 at 1"});
  fails({dx, t.integers({0}), out}, {"'dx'", "[1, 7]", "[2, 7]"});
  fails({dx, t.integers({0, 1}), t.out(3, 6)}, {"'out'", "[3, 7]", "[3, 6]"});
  fails({dx, t.integers({0, 1}), t.out(0, 7)}, {"'out'", "at least one row"});
}

class RopeBackward : public testing::Test {
 protected:
  static constexpr int64_t kRows = 3, kHeadDim = 6;

  row::RopeBackwardArguments good() {
    const auto segment = [&](int64_t heads, float dy) -> row::RopeBackwardSegment {
      const int64_t columns = heads * kHeadDim;
      return {t.matrix(kRows, columns, dy), t.matrix(kRows, columns), t.out(kRows, columns)};
    };
    row::RopeBackwardArguments a;
    a.q = segment(4, 1);
    a.k = segment(2, 2);
    a.v = segment(2, 3);
    a.positions = t.integers({0, 1, 2});
    a.rstd = t.matrix(2, kRows);
    a.rstd_width = 128;
    a.sums = t.out(8, kRows);
    a.head_dim = kHeadDim;
    a.inv_freq = t.matrix(1, kHeadDim / 2);
    return a;
  }
  void expect(const std::function<void(row::RopeBackwardArguments&)>& spoil,
              std::initializer_list<std::string> texts) {
    row::RopeBackwardArguments a = good();
    const TensorView dz = a.q.dz;
    spoil(a);
    expect_error([&] { cpu::rope_backward(a); }, texts);
    expect_untouched(dz);
  }
  Tensors t;
};

TEST_F(RopeBackward, HeadsDoNotFit) {
  EXPECT_NO_THROW(cpu::rope_backward(good()));
  expect([](auto& a) { a.head_dim = 3; }, {"rope_backward: argument 'head_dim'", "even", "3"});
  expect([](auto& a) { a.head_dim = 0; }, {"'head_dim'", "even", "0"});
  expect([](auto& a) { a.head_dim = 8; }, {"'dk'", "whole heads of 8", "12"});
  expect([](auto& a) { a.head_dim = 10; }, {"'dq'", "whole heads of 10", "24"});
  expect([&](auto& a) { a.q = {t.matrix(3, 18), t.matrix(3, 18), t.out(3, 18)}; },
         {"'dq'", "a multiple of the 2 heads", "3 heads"});
  expect([&](auto& a) { a.v = {t.matrix(3, 6), t.matrix(3, 6), t.out(3, 6)}; },
         {"'dv'", "as many columns as dk"});
  expect([&](auto& a) { a.sums = t.out(6, 3); }, {"'sums'", "[8, 3]", "[6, 3]"});
}

TEST_F(RopeBackward, AnglesDoNotFit) {
  expect([](auto& a) { a.inv_freq.reset(); }, {"'inv_freq'", "either", "neither"});
  expect([&](auto& a) { a.cosines = t.matrix(9, 3); }, {"'cos'", "'sin' beside it"});
  expect([&](auto& a) { a.cosines = a.sines = t.matrix(9, 3); }, {"'inv_freq'", "either", "both"});
  expect([&](auto& a) { a.inv_freq = t.matrix(1, 6); }, {"'inv_freq'", "[1, 3]", "[1, 6]"});
  expect(
      [&](auto& a) {
        a.inv_freq.reset();
        a.cosines = a.sines = t.matrix(2, 3);
      },
      {"'positions'", "from 0 to 1", "2 at 2"});
  expect([](auto& a) { a.scale = std::numeric_limits<double>::infinity(); }, {"'scale'", "inf"});
}

TEST_F(RopeBackward, NormsAndBiasesDoNotFit) {
  expect([&](auto& a) { a.q.norm = t.matrix(1, 5); }, {"'q_norm'", "[1, 6]", "[1, 5]"});
  expect([&](auto& a) { a.q.dnorm = t.out(1, 24); }, {"'dq_norm'", "'q_norm' beside it"});
  expect([&](auto& a) { a.v.norm = t.matrix(1, 6); }, {"'v_norm'", "not normalised"});
  expect([&](auto& a) { a.k.bias = t.matrix(1, 24); }, {"'bias_k'", "[1, 12]", "[1, 24]"});
  expect([&](auto& a) { a.k.dbias = t.out(2, 12); }, {"'dbias_k'", "[1, 12]", "[2, 12]"});
  expect([](auto& a) { a.rstd_width = 0; }, {"'rstd.width'", "above 0"});
  expect([](auto& a) { a.rstd_epsilon = -1; }, {"'rstd.epsilon'", "0 or more"});
  expect([](auto& a) { a.k.dz = a.q.dz; }, {"'dzk'", "[3, 12]"});
  expect([](auto& a) { a.k.dz = a.v.dz; }, {"memory apart from"});
}

// The gradients of q, k and v of a row are made one behind the other.
TEST_F(RopeBackward, EachIsReplacedByItsOwnAlone) {
  const row::RopeBackwardArguments apart = good();
  row::RopeBackwardArguments together = good();
  for (auto segment : {&row::RopeBackwardArguments::q, &row::RopeBackwardArguments::k,
                       &row::RopeBackwardArguments::v}) {
    (together.*segment).dz = (together.*segment).dy;
  }
  cpu::rope_backward(apart);
  cpu::rope_backward(together);
  for (int64_t i = 0; i < kRows * 2 * kHeadDim; ++i) {
    EXPECT_EQ(static_cast<const float*>(together.k.dz.data)[i],
              static_cast<const float*>(apart.k.dz.data)[i]);
  }
  expect([](auto& a) { a.k.dz = a.v.dy; }, {"'dzk'", "memory apart from 'dv'"});
  expect([](auto& a) { a.v.dz = a.k.dy; }, {"'dzv'", "memory apart from 'dk'"});
}

TEST(ByName, BadInput) {
  Tensors t;
  const TensorView partials = t.matrix(3, 7), out = t.out(1, 7);
  const catalogue::Variant& variant =
      find_variant(catalogue::find_operation("finish_columns"), "fp32");
  const auto fails = [&](const std::vector<Argument>& arguments,
                         std::initializer_list<std::string> texts) {
    expect_error([&] { variant.run_cpu({{}, {}, arguments}, {}); }, texts);
    expect_untouched(out);
  };
  const Argument p{"partials", {partials}, 0}, o{"out", {out}, 0};
  fails({p}, {"finish_columns: argument 'out'", "a tensor", "nothing"});
  fails({p, o, {"acumulate", {}, 1}}, {"'acumulate'", "one of partials, out, accumulate"});
  fails({p, o, {"accumulate", {}, 2}}, {"'accumulate'", "0 or 1", "2"});
  fails({p, o, {"accumulate", {partials}, 0}}, {"'accumulate'", "a number", "a tensor"});
  fails({p, p, o}, {"'partials'", "several"});
  fails({p, {"out", {}, 3}}, {"'out'", "a tensor [N]", "a number"});
  const catalogue::Variant& rope = find_variant(catalogue::find_operation("rope_backward"), "fp32");
  expect_error([&] { rope.run_cpu({{}, {}, {{"dq", {partials}, 0}}}, {}); },
               {"rope_backward: argument 'q'", "nothing"});
}

}  // namespace
}  // namespace coda
