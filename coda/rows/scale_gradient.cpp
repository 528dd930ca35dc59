#include "coda/rows/scale_gradient.h"

#include "coda/cpu/threads.h"
#include "coda/rows/widest.h"

namespace coda::row {
namespace {

template <class From, class To>
CODA_WIDEST void multiply(const From* from, float factor, int64_t count, To* to) {
  for (int64_t j = 0; j < count; ++j) to[j] = from_float<To>(to_float(from[j]) * factor);
}

}  // namespace

ProgramView validate(const ScaleGradientArguments& arguments) {
  const TensorView& gradient = arguments.gradient;
  const Extent extent{gradient.rows, gradient.columns};
  TensorCheck check("scale_gradient");
  check.input("gradient", gradient, extent, {DType::kBf16, DType::kFp32});
  check.input("factor", arguments.factor, {1, 1}, {DType::kFp32});
  if (gradient.dtype == DType::kBf16) {
    check.output("out", arguments.out, extent, {DType::kBf16}, {"gradient"});
  } else {
    check.output("out", arguments.out, extent, {DType::kBf16, DType::kFp32}, {"gradient"});
  }
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void scale_gradient(const row::ScaleGradientArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count("scale_gradient", asked_threads);
  const TensorView& gradient = arguments.gradient;
  const TensorView& out = arguments.out;
  const float factor = *row::data_of<const float>(arguments.factor);
  row::with_types_of(arguments, [&]<class From, class To>() {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < gradient.rows; ++i) {
      row::multiply(row::data_of<const From>(gradient) + i * gradient.ld, factor, gradient.columns,
                    row::data_of<To>(out) + i * out.ld);
    }
  });
}

}  // namespace coda::cpu
