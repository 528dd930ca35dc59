#include "coda/catalogue/linear.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_reference.h"

namespace coda::catalogue {

const Operation& linear_operation();  // the build collects it in operations()

const Operation& linear_operation() {
  static const Operation operation{
      .name = "linear",
      .formula = "out = α·rstd ⊙ A Bᵀ + β·C + bias, rstd = (Σx²/width + ε)^-½",
      .summary = "Plain GEMM, behind a norm or not; with C in the memory of out it adds to it.",
      .variants = {variant<Linear<bf16>>("bf16", DType::kBf16, on_gpu<Linear<bf16>>()),
                   variant<Linear<fp16>>("fp16", DType::kFp16, on_gpu<Linear<fp16>>()),
                   variant<Linear<float>>("fp32", DType::kFp32),
                   variant<Linear<float>>("bf16-fp32", DType::kBf16, on_gpu<Linear<float>>()),
                   variant<Linear<float>>("fp16-fp32", DType::kFp16)},
      .reference = &linear_reference,
      .exact = {"out"}};
  return operation;
}

}  // namespace coda::catalogue
