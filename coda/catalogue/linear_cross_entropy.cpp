#include "coda/catalogue/linear_cross_entropy.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_cross_entropy_reference.h"

namespace coda::catalogue {

const Operation& linear_cross_entropy_operation();  // the build collects it in operations()

const Operation& linear_cross_entropy_operation() {
  static const Operation operation{
      .name = "linear_cross_entropy",
      .formula =
          "z = rstd ⊙ A Wᵀ, ẑ = c·tanh(z/c); per 128 columns (max, Σexp(ẑ - max), Σẑ, ẑ_target)",
      .summary = "The head of a language model with all that its loss is finished from.",
      .variants = {variant<LinearCrossEntropy<bf16>>("bf16", DType::kBf16,
                                                     on_gpu<LinearCrossEntropy<bf16>>()),
                   variant<LinearCrossEntropy<fp16>>("fp16", DType::kFp16,
                                                     on_gpu<LinearCrossEntropy<fp16>>()),
                   variant<LinearCrossEntropy<float>>("fp32", DType::kFp32)},
      .reference = &linear_cross_entropy_reference,
      .exact = {}};
  return operation;
}

}  // namespace coda::catalogue
