#include "coda/rows/fold_norm_weight.h"

#include "coda/cpu/threads.h"
#include "coda/rows/widest.h"

namespace coda::row {
namespace {

template <class T>
CODA_WIDEST void multiply(const T* from, const T* factors, int64_t count, T* to) {
  for (int64_t j = 0; j < count; ++j) {
    to[j] = from_float<T>(to_float(from[j]) * to_float(factors[j]));
  }
}

}  // namespace

ProgramView validate(const FoldNormWeightArguments& arguments) {
  const TensorView& weight = arguments.weight;
  TensorCheck check("fold_norm_weight");
  check.input("weight", weight, {weight.rows, weight.columns},
              {DType::kBf16, DType::kFp16, DType::kFp32});
  check.input("gamma", arguments.gamma, {1, weight.columns}, {weight.dtype});
  check.output("out", arguments.out, {weight.rows, weight.columns}, {weight.dtype}, {"weight"});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void fold_norm_weight(const row::FoldNormWeightArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count("fold_norm_weight", asked_threads);
  // No structured binding: OpenMP regions of clang do not capture one.
  const TensorView& weight = arguments.weight;
  const TensorView& gamma = arguments.gamma;
  const TensorView& out = arguments.out;
  row::with_element(weight.dtype, [&]<class T>() {
    const T* const factors = row::data_of<const T>(gamma);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < weight.rows; ++i) {
      row::multiply(row::data_of<const T>(weight) + i * weight.ld, factors, weight.columns,
                    row::data_of<T>(out) + i * out.ld);
    }
  });
}

}  // namespace coda::cpu
