#include "coda/rows/layer_norm_backward.h"

#include "coda/catalogue/layer_norm_backward_reference.h"
#include "coda/catalogue/row_operation.h"

namespace coda::catalogue {
namespace {

template <class T, class Stream>
struct LayerNormBackward {
  static ProgramView program() {
    return {.name = "layer_norm_backward",
            .ports = {tensor_in("dy", "[M, h]", dtype_of<T>),
                      tensor_in("x", "[M, h]", dtype_of<Stream>),
                      tensor_in("gamma", "[h]", dtype_of<T>),
                      optional(tensor_in("dx_in", "[M, h]", dtype_of<Stream>)),
                      tensor_out("dx", "[M, h]", dtype_of<Stream>),
                      tensor_out("dgamma", "[⌈M/64⌉, h]", DType::kFp32),
                      tensor_out("dbeta", "[⌈M/64⌉, h]", DType::kFp32),
                      optional(tensor_out("dcolumns", "[⌈M/64⌉, h]", DType::kFp32))}};
  }
  static std::vector<std::string> parameters() { return {"epsilon"}; }
  static row::LayerNormBackwardArguments read(const NamedArguments& call) {
    return {call.tensor("dy"),      call.tensor("x"),      call.tensor("gamma"),
            call.tensor("dx"),      call.tensor("dgamma"), call.tensor("dbeta"),
            call.number("epsilon"), call.maybe("dx_in"),   call.maybe("dcolumns")};
  }
  static void run_cpu(const auto& a, int threads) { cpu::layer_norm_backward(a, threads); }
  static void run_cuda(const auto& a, CUstream_st* stream) { cuda::layer_norm_backward(a, stream); }

  // Of a benchmark: a stream [M, N].
  static DrawnCase draw(const DrawRequest& request) {
    Random& random = request.random;
    const auto [M, h] = draw_extent(request);
    const Values values = request.integers ? Values::integer(-15, 15) : Values::normal(0.5);
    DrawnCase drawn;
    drawn.inputs = {{"dy", M, h, values}, {"x", M, h, values}, {"gamma", 1, h, values}};
    drawn.outputs = {{"dx", M, h}, {"dgamma", row::parts_of(M), h}, {"dbeta", row::parts_of(M), h}};
    drawn.numbers["epsilon"] = static_cast<double>(random.chance(0.5) ? 1e-5f : 1e-2f);
    drawn.terms = std::max<int64_t>(h, kPartialWidth);
    const auto elements = static_cast<double>(M * h);
    drawn.bytes = elements * (sizeof(T) + 2 * sizeof(Stream) + 8.0 / kPartialWidth);
    if (request.wants(0.5)) {
      drawn.inputs.push_back({"dx_in", M, h, values});
      drawn.bytes += elements * sizeof(Stream);
      if (request.size == nullptr && random.chance(0.3)) {
        drawn.in_place_output = "dx";
        drawn.in_place_input = "dx_in";
      }
    }
    if (request.wants(0.5)) {
      drawn.outputs.push_back({"dcolumns", row::parts_of(M), h});
      drawn.bytes += elements * 4.0 / kPartialWidth;
    }
    return drawn;
  }
};

}  // namespace

const Operation& layer_norm_backward_operation();  // the build collects it in operations()

const Operation& layer_norm_backward_operation() {
  static const Operation operation{
      .name = "layer_norm_backward",
      .formula =
          "dx = dx_in + r·(dy⊙γ − Σ dy·γ/h − x̂·Σ dy·γ·x̂/h), x̂ = (x − μ)·r; dgamma = Σ dy·x̂, "
          "dbeta = Σ dy, dcolumns = Σ dx per 64 rows",
      .summary = "Back through a LayerNorm and the residual stream beside it.",
      .variants = {row_variant<LayerNormBackward<bf16, bf16>>("bf16", DType::kBf16),
                   row_variant<LayerNormBackward<bf16, float>>("bf16-fp32stream", DType::kBf16),
                   row_variant<LayerNormBackward<float, float>>("fp32", DType::kFp32)},
      .reference = &layer_norm_backward_reference,
      .exact = {"dbeta"},
      .has_operands = false};
  return operation;
}

}  // namespace coda::catalogue
