#include "coda/catalogue/linear_residual_layer_norm.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_residual_layer_norm_reference.h"

namespace coda::catalogue {

const Operation& linear_residual_layer_norm_operation();  // the build collects it in operations()

const Operation& linear_residual_layer_norm_operation() {
  static const Operation operation{
      .name = "linear_residual_layer_norm",
      .formula =
          "out = A Wᵀ + bias + residual; scaled = out⊙γ; moments = (Σ out, Σ out²) per 64 columns",
      .summary =
          "Projection onto the residual stream with the row sums of the LayerNorm that follows.",
      .variants = {variant<LinearResidualLayerNorm<bf16>>("kept-bf16", DType::kBf16,
                                                          on_gpu<LinearResidualLayerNorm<bf16>>()),
                   variant<LinearResidualLayerNorm<fp16>>("kept-fp16", DType::kFp16,
                                                          on_gpu<LinearResidualLayerNorm<fp16>>()),
                   variant<LinearResidualLayerNorm<float>>("kept-fp32", DType::kFp32),
                   variant<LinearResidualLayerNorm<bf16, float>>("kept-bf16-fp32stream",
                                                                 DType::kBf16)},
      .reference = &linear_residual_layer_norm_reference,
      .exact = {"out", "scaled", "moments"}};
  return operation;
}

}  // namespace coda::catalogue
