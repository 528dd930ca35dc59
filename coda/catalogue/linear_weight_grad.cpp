#include "coda/catalogue/linear_weight_grad.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_weight_grad_reference.h"

namespace coda::catalogue {

const Operation& linear_weight_grad_operation();  // the build collects it in operations()

const Operation& linear_weight_grad_operation() {
  static const Operation operation{
      .name = "linear_weight_grad",
      .formula =
          "out = α·A Bᵀ + c, A = dZᵀ, B = Xᵀ; squares = Σ out² per 64 columns; folded γ: "
          "out = α·A Bᵀ⊙γ + c, dgamma = Σ α·A Bᵀ⊙W per 64 rows",
      .summary = "Gradient of a weight; with c in the memory of out it adds to an existing one.",
      .variants =
          {variant<LinearWeightGrad<bf16>>("bf16", DType::kBf16, on_gpu<LinearWeightGrad<bf16>>()),
           variant<LinearWeightGrad<float>>("bf16-fp32", DType::kBf16,
                                            on_gpu<LinearWeightGrad<float>>()),
           variant<LinearWeightGrad<fp16>>("fp16", DType::kFp16, on_gpu<LinearWeightGrad<fp16>>()),
           variant<LinearWeightGrad<float>>("fp16-fp32", DType::kFp16,
                                            on_gpu<LinearWeightGrad<float>>()),
           variant<LinearWeightGrad<float>>("fp32", DType::kFp32),
           variant<LinearWeightGradFolded<bf16>>("folded-bf16", DType::kBf16,
                                                 on_gpu<LinearWeightGradFolded<bf16>>()),
           variant<LinearWeightGradFolded<float, bf16>>(
               "folded-bf16-fp32", DType::kBf16, on_gpu<LinearWeightGradFolded<float, bf16>>()),
           variant<LinearWeightGradFolded<float>>("folded-fp32", DType::kFp32)},
      .reference = &linear_weight_grad_reference,
      .exact = {"out", "dgamma"}};
  return operation;
}

}  // namespace coda::catalogue
