// Calls of the backward programs of the catalogue that must be refused.
#include "coda/catalogue/linear_norm_backward.h"
#include "coda/catalogue/linear_swiglu.h"
#include "coda/catalogue/linear_swiglu_backward.h"
#include "coda/catalogue/linear_weight_grad.h"
#include "tests/cpu/bad_input.h"

namespace coda::cpu {
namespace {

using catalogue::Activation;

constexpr int64_t M = 70, N = 130, K = 6;
constexpr auto kUnknown = static_cast<Activation>(4);

struct SwigluCall {
  static constexpr const char* kName = "linear_swiglu";
  Tensor<bf16> a{M, K}, b{N, K}, out{M, N};
  catalogue::LinearSwiglu<bf16> program;

  SwigluCall() {
    a.fill_integers(1);
    b.fill_integers(2);
    program.out = out.view();
  }
  void run() const {
    cpu::run(program, Operand(a.view()), pair(b.view(), b.view()), {.threads = 1});
  }
  bool outputs_untouched() const { return out.untouched(); }
  bool inputs_equal(const SwigluCall& o) const { return a.same_bits(o.a) && b.same_bits(o.b); }
};

const int32_t kChoice = 1;
const BadCase<SwigluCall> kSwiglu[] = {
    {"UnknownActivation",
     [](auto& c) { c.program.activation = kUnknown; },
     {"'activation'", "a number from 0 to 3", "got 4"}},
    {"NegativeActivation",
     [](auto& c) { c.program.activation = static_cast<Activation>(-1); },
     {"'activation'", "a number from 0 to 3", "got -1"}},
    {"ActivationByPointer",  // it could not be checked before the program runs
     [](auto& c) { c.program.activation.pointer = &kChoice; },
     {"'activation'", "a number from 0 to 3", "a pointer"}},
    {"MissingActivation",
     [](auto& c) { c.program.activation = {}; },
     {"'activation'", "a Choice, 0 to 3", "missing"}},
};

struct SwigluBackwardCall {
  static constexpr const char* kName = "linear_swiglu_backward";
  Tensor<bf16> a{M, K}, b{N, K}, gate{M, N}, up{M, N}, dgate{M, N}, dup{M, N}, out{M, N};
  Tensor<float> squares{2, M}, dots{3, M};
  catalogue::LinearSwigluBackward<bf16> program;

  SwigluBackwardCall() {
    for (Tensor<bf16>* input : {&a, &b, &gate, &up}) input->fill_integers(1);
    squares.fill_integers(2);
    program = {.gate = Matrix<const bf16>(gate.view()),
               .up = Matrix<const bf16>(up.view()),
               .rstd = {Matrix<const float>(squares.view()), ReciprocalRms{}},
               .activation = Activation::kGelu,
               .dgate = dgate.view(),
               .dup = dup.view(),
               .out = out.view(),
               .dots = dots.view()};
  }
  void run() const { cpu::run(program, Operand(a.view()), Operand(b.view()), {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(dgate, dup, out, dots); }
  bool inputs_equal(const SwigluBackwardCall& o) const {
    return a.same_bits(o.a) && b.same_bits(o.b) && gate.same_bits(o.gate) && up.same_bits(o.up) &&
           squares.same_bits(o.squares);
  }
};

const BadCase<SwigluBackwardCall> kSwigluBackward[] = {
    {"UnknownActivation",
     [](auto& c) { c.program.activation = kUnknown; },
     {"'activation'", "a number from 0 to 3", "got 4"}},
    {"GateMissing",
     [](auto& c) { c.program.gate = {}; },
     {"'gate'", "a PerElement port [M, N]", "missing"}},
    {"UpOfOtherColumns",
     [](auto& c) { c.program.up.view[0].columns = 129; },
     {"'up'", "[70, 130]", "[70, 129]"}},
    {"RstdOfOtherRows",
     [](auto& c) { c.program.rstd.view[0].columns = 71; },
     {"'rstd'", "partials of 70 rows (M)", "got 71"}},
    {"DgateIsDup",
     [](auto& c) { c.program.dgate = c.dup.view(); },
     {"'dgate'", "memory apart from 'dup'", "an overlap"}},
    {"DgateInAPartOfGate",
     [](auto& c) { c.program.dgate = Matrix<bf16>(c.gate.data() + 1, M, N, N + 5); },
     {"'dgate'", "memory apart from 'gate'", "an overlap"}},
    {"DupMissing",
     [](auto& c) { c.program.dup = {}; },
     {"'dup'", "a Store port [M, N]", "missing"}},
    {"DotsTooFew",
     [](auto& c) { c.program.dots.view[0].rows = 2; },
     {"'dots'", "[3, 70] [⌈N/64⌉, M]", "[2, 70]"}},
    {"DotsInThePartials",
     [](auto& c) { c.program.rstd.view[0] = Matrix<const float>(c.dots.view()); },
     {"'dots'", "memory apart from 'rstd'", "an overlap"}},
};

struct NormBackwardCall {
  static constexpr const char* kName = "linear_norm_backward";
  Tensor<bf16> a{M, K}, b{N, K}, x{M, N}, dx_in{M, N}, gamma{1, N}, dx{M, N}, scaled{M, N};
  Tensor<float> squares{2, M}, dots{1, M}, dgamma{2, N};
  catalogue::LinearNormBackward<bf16> program;

  NormBackwardCall() {
    for (Tensor<bf16>* input : {&a, &b, &x, &dx_in, &gamma}) input->fill_integers(1);
    for (Tensor<float>* input : {&squares, &dots}) input->fill_integers(2);
    program = {.x = Matrix<const bf16>(x.view()),
               .dx_in = Matrix<const bf16>(dx_in.view()),
               .gamma = {gamma.data(), N},
               .rstd = {Matrix<const float>(squares.view()), ReciprocalRms{}},
               .dots = {Matrix<const float>(dots.view()), Mean{}},
               .dx = dx.view(),
               .scaled = scaled.view(),
               .dgamma = dgamma.view()};
  }
  void run() const { cpu::run(program, Operand(a.view()), Operand(b.view()), {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(dx, scaled, dgamma); }
  bool inputs_equal(const NormBackwardCall& o) const {
    return a.same_bits(o.a) && b.same_bits(o.b) && x.same_bits(o.x) && dx_in.same_bits(o.dx_in) &&
           gamma.same_bits(o.gamma) && squares.same_bits(o.squares) && dots.same_bits(o.dots);
  }
};

const BadCase<NormBackwardCall> kNormBackward[] = {
    {"GammaTooShort",
     [](auto& c) { c.program.gamma.view[0].columns = 129; },
     {"'gamma'", "130 values [N]", "got 129"}},
    {"GammaMissing",
     [](auto& c) { c.program.gamma = {}; },
     {"'gamma'", "a PerColumn port [N]", "missing"}},
    {"RstdMissing",
     [](auto& c) { c.program.rstd = {}; },
     {"'rstd'", "a PerRowFrom port [parts, M]", "missing"}},
    {"DotsOfOtherRows",
     [](auto& c) { c.program.dots.view[0].columns = 1; },
     {"'dots'", "partials of 70 rows (M)", "got 1"}},
    {"DxInTransposed",
     [](auto& c) { c.program.dx_in = Matrix<const bf16>(c.dx_in.data(), N, M); },
     {"'dx_in'", "[70, 130]", "[130, 70]"}},
    {"DgammaAsOneRow",
     [](auto& c) { c.program.dgamma.view[0].rows = 1; },
     {"'dgamma'", "[2, 130] [⌈M/64⌉, N]", "[1, 130]"}},
    {"ScaledIsDx",
     [](auto& c) { c.program.scaled = c.dx.view(); },
     {"'dx'", "memory apart from 'scaled'", "an overlap"}},
    {"DxInTheOperand",
     [](auto& c) { c.program.dx = Matrix<bf16>(c.a.data(), M, N, N); },
     {"'dx'", "memory apart from 'A'", "an overlap"}},
};

struct WeightGradCall {
  static constexpr const char* kName = "linear_weight_grad";
  Tensor<bf16> a{M, K}, b{N, K}, weight{M, N}, gamma{1, N};
  Tensor<float> c{M, N}, alpha{1, 1}, out{M, N}, squares{3, M}, dgamma{2, N};
  catalogue::LinearWeightGradFolded<float, bf16> program;

  WeightGradCall() {
    for (Tensor<bf16>* input : {&a, &b, &weight, &gamma}) input->fill_integers(1);
    for (Tensor<float>* input : {&c, &alpha}) input->fill_integers(2);
    program = {.alpha = alpha.data(),
               .c = Matrix<const float>(c.view()),
               .weight = Matrix<const bf16>(weight.view()),
               .gamma = {gamma.data(), N},
               .out = out.view(),
               .squares = squares.view(),
               .dgamma = dgamma.view()};
  }
  void run() const { cpu::run(program, Operand(a.view()), Operand(b.view()), {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(out, squares, dgamma); }
  bool inputs_equal(const WeightGradCall& o) const {
    return a.same_bits(o.a) && b.same_bits(o.b) && weight.same_bits(o.weight) &&
           gamma.same_bits(o.gamma) && c.same_bits(o.c) && alpha.same_bits(o.alpha);
  }
};

const BadCase<WeightGradCall> kWeightGrad[] = {
    {"AlphaMissing",
     [](auto& c) { c.program.alpha = {}; },
     {"'alpha'", "a Scalar port []", "missing"}},
    {"AlphaUnaligned",
     [](auto& c) { c.program.alpha.pointer = misaligned(c.alpha.data()); },
     {"'alpha'", "aligned to 4 bytes"}},
    {"AlphaInTheOutput",
     [](auto& c) { c.program.alpha.pointer = c.out.data(); },
     {"'out'", "memory apart from 'alpha'", "an overlap"}},
    {"WeightMissing",
     [](auto& c) { c.program.weight = {}; },
     {"'weight'", "a PerElement port [M, N]", "missing"}},
    {"WeightRows",
     [](auto& c) { c.program.weight.view[0].rows = 71; },
     {"'weight'", "[70, 130]", "[71, 130]"}},
    {"GammaOfRows",
     [](auto& c) { c.program.gamma.view[0].columns = M; },
     {"'gamma'", "130 values [N]", "got 70"}},
    {"SquaresTransposed",
     [](auto& c) { c.program.squares = Matrix<float>(c.squares.data(), M, 3); },
     {"'squares'", "[3, 70]", "[70, 3]"}},
    {"DgammaMissing",
     [](auto& c) { c.program.dgamma = {}; },
     {"'dgamma'", "a ColumnReduce port [⌈M/64⌉, N]", "missing"}},
    {"OutBesideC",
     [](auto& c) { c.program.out = Matrix<float>(c.c.data() + 1, M, N - 1, N + 5); },
     {"'out'", "[70, 130]", "[70, 129]"}},
};

class BadSwigluTest : public testing::TestWithParam<BadCase<SwigluCall>> {};
TEST_P(BadSwigluTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadSwigluTest, testing::ValuesIn(kSwiglu), case_name<SwigluCall>);

class BadSwigluBackwardTest : public testing::TestWithParam<BadCase<SwigluBackwardCall>> {};
TEST_P(BadSwigluBackwardTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadSwigluBackwardTest, testing::ValuesIn(kSwigluBackward),
                         case_name<SwigluBackwardCall>);

class BadNormBackwardTest : public testing::TestWithParam<BadCase<NormBackwardCall>> {};
TEST_P(BadNormBackwardTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadNormBackwardTest, testing::ValuesIn(kNormBackward),
                         case_name<NormBackwardCall>);

class BadWeightGradTest : public testing::TestWithParam<BadCase<WeightGradCall>> {};
TEST_P(BadWeightGradTest, IsRefused) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Cases, BadWeightGradTest, testing::ValuesIn(kWeightGrad),
                         case_name<WeightGradCall>);

TEST(BackwardCallTest, AreAcceptedUnspoiled) {
  EXPECT_NO_THROW(SwigluCall().run());
  EXPECT_NO_THROW(SwigluBackwardCall().run());
  EXPECT_NO_THROW(NormBackwardCall().run());
  EXPECT_NO_THROW(WeightGradCall().run());
}

}  // namespace
}  // namespace coda::cpu
