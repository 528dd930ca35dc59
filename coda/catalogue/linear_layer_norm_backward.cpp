#include "coda/catalogue/linear_layer_norm_backward.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_layer_norm_backward_reference.h"

namespace coda::catalogue {

const Operation& linear_layer_norm_backward_operation();  // the build collects it in operations()

const Operation& linear_layer_norm_backward_operation() {
  static const Operation operation{
      .name = "linear_layer_norm_backward",
      .formula =
          "dx = dx_in + rstd·(A Bᵀ⊙γ − Σshifts/width − x̂·Σdots/width), x̂ = (x − mean)·rstd; "
          "normed = x̂⊙γ + β; dgamma = Σ A Bᵀ⊙x̂, dbeta = Σ A Bᵀ, dcolumns = Σ dx per 64 rows",
      .summary = "Back through a linear layer and the LayerNorm before it, onto the stream.",
      .variants = {variant<LinearLayerNormBackward<bf16>>("kept-bf16", DType::kBf16,
                                                          on_gpu<LinearLayerNormBackward<bf16>>()),
                   variant<LinearLayerNormBackward<float>>("kept-fp32", DType::kFp32),
                   variant<LinearLayerNormBackward<bf16, float>>("kept-bf16-fp32stream",
                                                                 DType::kBf16)},
      .reference = &linear_layer_norm_backward_reference,
      .exact = {"dx", "normed", "dgamma", "dbeta", "dcolumns"}};
  return operation;
}

}  // namespace coda::catalogue
