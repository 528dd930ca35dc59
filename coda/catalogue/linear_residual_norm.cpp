#include "coda/catalogue/linear_residual_norm.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_residual_norm_reference.h"

namespace coda::catalogue {

const Operation& linear_residual_norm_operation();  // the build collects it in operations()

const Operation& linear_residual_norm_operation() {
  static const Operation operation{
      .name = "linear_residual_norm",
      .formula =
          "out = A Wᵀ + bias + residual; squares = Σ out² per 64 columns; kept γ: "
          "scaled = out⊙γ",
      .summary =
          "Projection onto the residual stream with the row sums of the RMSNorm that follows.",
      .variants = {variant<LinearResidualNorm<bf16>>("kept-bf16", DType::kBf16,
                                                     on_gpu<LinearResidualNorm<bf16>>()),
                   variant<LinearResidualNorm<fp16>>("kept-fp16", DType::kFp16,
                                                     on_gpu<LinearResidualNorm<fp16>>()),
                   variant<LinearResidualNorm<float>>("kept-fp32", DType::kFp32),
                   variant<LinearResidualNorm<bf16, float>>(
                       "kept-bf16-fp32stream", DType::kBf16,
                       on_gpu<LinearResidualNorm<bf16, float>>()),
                   variant<LinearResidualNormFolded<bf16>>(
                       "folded-bf16", DType::kBf16, on_gpu<LinearResidualNormFolded<bf16>>()),
                   variant<LinearResidualNormFolded<fp16>>(
                       "folded-fp16", DType::kFp16, on_gpu<LinearResidualNormFolded<fp16>>()),
                   variant<LinearResidualNormFolded<float>>("folded-fp32", DType::kFp32),
                   variant<LinearResidualNormFolded<bf16, float>>(
                       "folded-bf16-fp32stream", DType::kBf16,
                       on_gpu<LinearResidualNormFolded<bf16, float>>())},
      .reference = &linear_residual_norm_reference,
      .exact = {"out", "scaled", "squares"}};
  return operation;
}

}  // namespace coda::catalogue
