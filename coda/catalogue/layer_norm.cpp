#include "coda/rows/layer_norm.h"

#include "coda/catalogue/layer_norm_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class X, class T>
struct LayerNorm {
  static ProgramView program() {
    return {
        .name = "layer_norm",
        .ports = {tensor_in("x", "[M, h]", dtype_of<X>), tensor_in("gamma", "[h]", dtype_of<T>),
                  tensor_in("beta", "[h]", dtype_of<T>), tensor_out("out", "[M, h]", dtype_of<T>),
                  optional(states_out("moments", "[⌈h/64⌉, M]", sizeof(Moments::State<float>)))}};
  }
  static std::vector<std::string> parameters() { return {"epsilon"}; }
  static row::LayerNormArguments read(const NamedArguments& call) {
    return {call.tensor("x"),       call.tensor("gamma"),
            call.tensor("beta"),    call.tensor("out"),
            call.number("epsilon"), call.maybe_states("moments", sizeof(Moments::State<float>))};
  }
  static void run_cpu(const auto& a, int threads) { cpu::layer_norm(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::layer_norm(a, stream); }

  // Of a benchmark: a stream [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const auto [M, h] = draw_extent(request);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal(0.5);
    DrawnCase drawn;
    drawn.inputs = {{"x", M, h, values}, {"gamma", 1, h, values}, {"beta", 1, h, values}};
    drawn.outputs = {{"out", M, h}};
    drawn.numbers["epsilon"] = static_cast<double>(random.chance(0.5) ? 1e-5f : 1e-2f);
    drawn.terms = h;
    drawn.bytes = static_cast<double>(M * h) * (sizeof(X) + sizeof(T));
    if (request.size == nullptr && random.chance(0.3)) {
      drawn.outputs.push_back({"moments", row::parts_of(h), M});
    }
    if (request.size == nullptr && dtype_of<X> == dtype_of<T> && random.chance(0.2)) {
      drawn.in_place_output = "out";
      drawn.in_place_input = drawn.inputs[0].name;
    }
    return drawn;
  }
};

}  // namespace

const Operation& layer_norm_operation();  // the build collects it in operations()

const Operation& layer_norm_operation() {
  static const Operation operation{
      .name = "layer_norm",
      .formula = "out = (x − μ)·(variance + ε)^-½⊙γ + β; moments = (Σx, Σx²) per 64 columns",
      .summary = "A LayerNorm as it is.",
      .variants = {row_variant<LayerNorm<bf16, bf16>>("bf16", DType::kBf16),
                   row_variant<LayerNorm<float, bf16>>("bf16-fp32stream", DType::kBf16),
                   row_variant<LayerNorm<fp16, fp16>>("fp16", DType::kFp16),
                   row_variant<LayerNorm<float, float>>("fp32", DType::kFp32)},
      .reference = &layer_norm_reference,
      .exact = {"moments"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
