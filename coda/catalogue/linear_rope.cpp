#include "coda/catalogue/linear_rope.h"

#include "coda/catalogue/gpu.h"
#include "coda/catalogue/linear_rope_reference.h"
#include "coda/rows/tokens.h"

namespace coda::catalogue {

namespace {

// The program makes NaN of a position that is no row of the tables, which attention may lose again;
// the CPU can say so.
template <class P>
Variant rope_variant(std::string name, DType operand, const GpuProgram& gpu = {}) {
  Variant result = variant<P>(std::move(name), operand, gpu);
  result.run_cpu = [](const Call& call, const cpu::Options& options) {
    const P program = coda::bind<P>(call.arguments);
    const Problem problem = validate(describe(program), call.a, call.b);
    if (program.cos_sin.given) {
      row::check_tokens<int64_t>(P::name, erase(program.positions.view[0]),
                                 program.cos_sin.view[0].rows, "positions");
    }
    cpu::execute(problem, call.a, call.b, cpu::program_run(program), options);
  };
  return result;
}

}  // namespace

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
      .variants = {rope_variant<LinearRope<bf16>>("bf16", DType::kBf16, on_gpu<LinearRope<bf16>>()),
                   rope_variant<LinearRope<fp16>>("fp16", DType::kFp16, on_gpu<LinearRope<fp16>>()),
                   rope_variant<LinearRope<float>>("fp32", DType::kFp32),
                   rope_variant<LinearRopeNorm<bf16>>("bf16-norm", DType::kBf16,
                                                      on_gpu<LinearRopeNorm<bf16>>()),
                   rope_variant<LinearRopeNorm<fp16>>("fp16-norm", DType::kFp16,
                                                      on_gpu<LinearRopeNorm<fp16>>()),
                   rope_variant<LinearRopeNorm<float>>("fp32-norm", DType::kFp32)},
      .reference = &linear_rope_reference,
      .exact = {"z"}};
  return operation;
}

}  // namespace coda::catalogue
