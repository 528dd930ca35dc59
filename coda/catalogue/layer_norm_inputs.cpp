#include "coda/rows/layer_norm_inputs.h"

#include "coda/catalogue/layer_norm_inputs_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class X, class T>
struct LayerNormInputs {
  static ProgramView program() {
    return {.name = "layer_norm_inputs",
            .ports = {tensor_in("x", "[M, h]", dtype_of<X>), tensor_in("gamma", "[h]", dtype_of<T>),
                      tensor_out("scaled", "[M, h]", dtype_of<T>),
                      states_out("moments", "[⌈h/64⌉, M]", sizeof(Moments::State<float>))}};
  }
  static std::vector<std::string> parameters() { return {}; }
  static row::LayerNormInputsArguments read(const NamedArguments& call) {
    return {call.tensor("x"), call.tensor("gamma"), call.tensor("scaled"),
            call.states("moments", sizeof(Moments::State<float>))};
  }
  static void run_cpu(const auto& a, int threads) { cpu::layer_norm_inputs(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::layer_norm_inputs(a, stream); }

  // Of a benchmark: a stream [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    const auto [M, h] = draw_extent(request);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal(0.5);
    DrawnCase drawn;
    drawn.inputs = {{"x", M, h, values}, {"gamma", 1, h, values}};
    drawn.outputs = {{"scaled", M, h}, {"moments", row::parts_of(h), M}};
    drawn.terms = kPartialWidth;
    drawn.bytes = static_cast<double>(M * h) * (sizeof(X) + sizeof(T) + 8.0 / kPartialWidth);
    return drawn;
  }
};

}  // namespace

const Operation& layer_norm_inputs_operation();  // the build collects it in operations()

const Operation& layer_norm_inputs_operation() {
  static const Operation operation{
      .name = "layer_norm_inputs",
      .formula = "moments = (Σx, Σx²) per 64 columns; scaled = x⊙γ",
      .summary = "What the GEMM behind a LayerNorm needs of a stream that no operation wrote.",
      .variants = {row_variant<LayerNormInputs<bf16, bf16>>("bf16", DType::kBf16),
                   row_variant<LayerNormInputs<float, bf16>>("bf16-fp32stream", DType::kBf16),
                   row_variant<LayerNormInputs<fp16, fp16>>("fp16", DType::kFp16),
                   row_variant<LayerNormInputs<float, float>>("fp32", DType::kFp32)},
      .reference = &layer_norm_inputs_reference,
      .exact = {"scaled", "moments"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
