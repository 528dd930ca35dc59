#include "coda/rows/norm_inputs.h"

#include "coda/cpu/threads.h"
#include "coda/rows/norm_row.h"

namespace coda::row {
namespace {

constexpr const char* kName = "norm_inputs";

template <class X, class T>
void read_rows(const NormInputsArguments& a, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t m = 0; m < a.x.rows; ++m) {
    const X* const x = data_of<const X>(a.x) + m * a.x.ld;
    norm_row(norm_row_of<T>(m, a.gamma, a.scaled, a.squares), a.x.columns,
             [&](int64_t j) { return to_float(x[j]); });
  }
}

}  // namespace

ProgramView validate(const NormInputsArguments& a) {
  const int64_t M = a.x.rows, h = a.x.columns;
  TensorCheck check(kName);
  check.input("x", a.x, {M, h}, {DType::kBf16, DType::kFp16, DType::kFp32});
  check.together("gamma", a.gamma.has_value(), "scaled", a.scaled.has_value());
  if (a.gamma) {
    check.norm_weight("gamma", *a.gamma, a.x);
    check.output("scaled", *a.scaled, {M, h}, {a.gamma->dtype});
  }
  check.output("squares", a.squares, {parts_of(h), M}, {DType::kFp32});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void norm_inputs(const row::NormInputsArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count(row::kName, asked_threads);
  const DType x = arguments.x.dtype, gamma = arguments.gamma ? arguments.gamma->dtype : x;
  row::with_norm_weight(x, gamma,
                        [&]<class X, class T>() { row::read_rows<X, T>(arguments, threads); });
}

}  // namespace coda::cpu
