#include "coda/catalogue/linear_rope.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_rope_reference.h"

namespace coda::catalogue {

const Operation& linear_rope_operation();  // the build collects it in operations()

const Operation& linear_rope_operation() {
  static const Operation operation{
      .name = "linear_rope",
      .formula =
          "q, k, v = rstd ⊙ A [Wq; Wk; Wv]ᵀ + bias; of the halves (c, s) of a head of q and k: "
          "(c·cosθ - s·sinθ, s·cosθ + c·sinθ)·scale, θ = position·inv_freq",
      .summary =
          "Queries, keys and values on a normalised input, rotated, from stock weights; "
          "heads may be normalised before (-norm).",
      .variants = {variant<LinearRope<bf16>>("bf16", DType::kBf16, on_gpu<LinearRope<bf16>>()),
                   variant<LinearRope<fp16>>("fp16", DType::kFp16, on_gpu<LinearRope<fp16>>()),
                   variant<LinearRope<float>>("fp32", DType::kFp32),
                   variant<LinearRopeNorm<bf16>>("bf16-norm", DType::kBf16,
                                                 on_gpu<LinearRopeNorm<bf16>>()),
                   variant<LinearRopeNorm<fp16>>("fp16-norm", DType::kFp16,
                                                 on_gpu<LinearRopeNorm<fp16>>()),
                   variant<LinearRopeNorm<float>>("fp32-norm", DType::kFp32)},
      .reference = &linear_rope_reference,
      .exact = {"z"}};
  return operation;
}

}  // namespace coda::catalogue
