#include "coda/rows/adamw.h"

#include <array>
#include <cmath>

#include "coda/catalogue/adamw_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class T>
struct Adamw {
  static constexpr DType kType = dtype_of<T>;

  static ProgramView program() {
    const auto state = [](const char* name) {
      return updated(tensor_out(name, "[N, K]", DType::kFp32));
    };
    return {.name = "adamw",
            .ports = {state("master"), state("m"), state("v"),
                      tensor_in("gradient", "[N, K]", DType::kFp32),
                      tensor_in("rates", "[3]", DType::kFp32),
                      optional(tensor_in("clip", "[1]", DType::kFp32)),
                      optional(updated(tensor_out("weight", "[N, K]", kType))),
                      optional(tensor_in("gamma", "[K]", kType)),
                      optional(updated(tensor_out("folded", "[N, K]", kType)))}};
  }
  static std::vector<std::string> parameters() { return {"beta1", "beta2", "epsilon", "decay"}; }
  static row::AdamwArguments read(const NamedArguments& call) {
    return {call.tensor("master"),   call.tensor("m"),     call.tensor("v"),
            call.tensor("gradient"), call.tensor("rates"), call.maybe("clip"),
            call.maybe("weight"),    call.maybe("gamma"),  call.maybe("folded"),
            call.number("beta1"),    call.number("beta2"), call.number("epsilon"),
            call.number("decay", 0)};
  }
  static void run_cpu(const auto& a, int threads) { cpu::adamw(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::adamw(a, stream); }

  // lr, 1/(1−β1ᵗ), 1/(1−β2ᵗ), of the first steps and of late ones.
  static Values draw_rates(Random& random, double beta1, double beta2) {
    const double step = std::floor(std::exp(std::log(1e5) * random.uniform()));
    const double lr = random.chance(0.1) ? 0 : std::pow(10.0, -5 * random.uniform());
    return Values::numbers({lr, 1 / (1 - std::pow(beta1, step)), 1 / (1 - std::pow(beta2, step))});
  }

  // Means of g²: none is far below the others, else its step alone would be the largest error.
  static Values mean_squares(double scale) {
    return {Values::Kind::kUniform, 0.2 * scale * scale, 2 * scale * scale, true};
  }

  // Of a benchmark: a weight [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const bool bench = request.size != nullptr;
    const bool one = !bench && random.chance(0.1);  // a vector, longer than others
    const int64_t N = bench ? request.size->M : one ? 1 : draw_tokens(random);
    const int64_t K = bench ? request.size->N
                      : one ? random.between(1, 50000)
                            : draw_hidden(random, N);
    DrawnCase drawn;
    const double beta1 = random.pick(std::array{0.9, 0.95, 0.0});
    const double beta2 = random.pick(std::array{0.999, 0.95, 0.99});
    drawn.numbers = {{"beta1", beta1}, {"beta2", beta2}};
    drawn.numbers["epsilon"] = random.pick(std::array{1e-8, 1e-5, 1e-6});
    if (bench || random.chance(0.5)) drawn.numbers["decay"] = 0.1;
    // Integers: a first step, some of whose gradients are 0.
    const double scale = request.integers ? 1 : std::pow(10.0, 1 - 7 * random.uniform());
    const Values zero = Values::integer(0, 0);
    drawn.inputs = {
        {"master", N, K, Values::normal()},
        {"m", N, K, request.integers ? zero : Values::normal(0, scale)},
        {"v", N, K, request.integers ? zero : mean_squares(scale)},
        {"gradient", N, K, request.integers ? Values::integer(-1, 1) : Values::normal(0, scale)},
        {"rates", 1, 3, draw_rates(random, beta1, beta2)}};
    drawn.outputs = {{"master", N, K}, {"m", N, K}, {"v", N, K}};
    drawn.bytes = 28;
    const auto add_weight = [&](const char* name) {  // kept where the clip is not finite
      drawn.inputs.push_back({name, N, K, Values::uniform(-1, 1)});
      drawn.outputs.push_back({name, N, K});
      drawn.bytes += sizeof(T);
    };
    if (bench || random.chance(0.8)) add_weight("weight");
    if (request.wants(0.4)) {
      drawn.inputs.push_back({"gamma", 1, K, Values::normal(1, 0.5)});
      add_weight("folded");
    }
    if (request.wants(0.6)) {
      const bool clips = random.chance(0.7);
      drawn.inputs.push_back(
          {"clip", 1, 1, Values{Values::Kind::kUniform, clips ? 0.01 : 1, 1, true}});
    }
    drawn.bytes *= static_cast<double>(N) * static_cast<double>(K);
    return drawn;
  }
};

}  // namespace

const Operation& adamw_operation();  // the build collects it in operations()

const Operation& adamw_operation() {
  static const Operation operation{
      .name = "adamw",
      .formula =
          "g = clip·gradient; m, v = means of g, g²; master = master·(1 − lr·decay) − "
          "lr·c1·m/(√(c2·v) + ε); weight = master, folded = weight⊙γ",
      .summary = "A parameter's step, rounded and with a norm's weight folded in on the way.",
      .variants = {row_variant<Adamw<bf16>>("bf16", DType::kBf16),
                   row_variant<Adamw<float>>("fp32", DType::kFp32)},
      .reference = &adamw_reference,
      .exact = {},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
