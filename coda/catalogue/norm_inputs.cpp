#include "coda/rows/norm_inputs.h"

#include "coda/catalogue/norm_inputs_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class X, class T>
struct NormInputs {
  static ProgramView program() {
    return {.name = "norm_inputs",
            .ports = {tensor_in("x", "[M, h]", dtype_of<X>),
                      optional(tensor_in("gamma", "[h]", dtype_of<T>)),
                      optional(tensor_out("scaled", "[M, h]", dtype_of<T>)),
                      tensor_out("squares", "[⌈h/64⌉, M]", DType::kFp32)}};
  }
  static std::vector<std::string> parameters() { return {}; }
  static row::NormInputsArguments read(const NamedArguments& call) {
    return {call.tensor("x"), call.tensor("squares"), call.maybe("gamma"), call.maybe("scaled")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::norm_inputs(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::norm_inputs(a, stream); }

  // Of a benchmark: a stream [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    const auto [M, h] = draw_extent(request);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal();
    DrawnCase drawn;
    drawn.inputs = {{"x", M, h, values}};
    drawn.outputs = {{"squares", row::parts_of(h), M}};
    drawn.terms = kPartialWidth;
    const auto elements = static_cast<double>(M * h);
    drawn.bytes = elements * (sizeof(X) + 4.0 / kPartialWidth);
    if (request.wants(0.5)) {
      drawn.inputs.push_back({"gamma", 1, h, values});
      drawn.outputs.push_back({"scaled", M, h});
      drawn.bytes += elements * sizeof(T);
    }
    return drawn;
  }
};

}  // namespace

const Operation& norm_inputs_operation();  // the build collects it in operations()

const Operation& norm_inputs_operation() {
  static const Operation operation{
      .name = "norm_inputs",
      .formula = "squares = Σ x² per 64 columns; kept γ: scaled = x⊙γ",
      .summary = "What the GEMM behind an RMSNorm needs of a stream that no operation wrote.",
      .variants = {row_variant<NormInputs<bf16, bf16>>("bf16", DType::kBf16),
                   row_variant<NormInputs<float, bf16>>("bf16-fp32stream", DType::kBf16),
                   row_variant<NormInputs<fp16, fp16>>("fp16", DType::kFp16),
                   row_variant<NormInputs<float, float>>("fp32", DType::kFp32)},
      .reference = &norm_inputs_reference,
      .exact = {"scaled", "squares"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
