#include "coda/rows/norm_inputs.h"

#include "coda/rows/norm_row.h"
#include "coda/rows/threads.h"

namespace coda::row {
namespace {

constexpr const char* kName = "norm_inputs";

template <class X, class T>
void read_rows(const NormInputsArguments& a, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t m = 0; m < a.x.rows; ++m) {
    const X* const x = data_of<const X>(a.x) + m * a.x.ld;
    const NormRow<T> row{data_of<const T>(a.gamma),
                         a.scaled ? data_of<T>(a.scaled) + m * a.scaled->ld : nullptr,
                         data_of<float>(a.squares) + m, a.squares.ld};
    norm_row(row, a.x.columns, [&](int64_t j) { return to_float(x[j]); });
  }
}

}  // namespace

ProgramView validate(const NormInputsArguments& a) {
  const int64_t M = a.x.rows, h = a.x.columns;
  TensorCheck check(kName);
  check.input("x", a.x, {M, h}, {DType::kBf16, DType::kFp16, DType::kFp32});
  check.together("gamma", a.gamma.has_value(), "scaled", a.scaled.has_value());
  if (a.gamma) {
    if (a.x.dtype == DType::kFp32) {
      check.input("gamma", *a.gamma, {1, h}, {DType::kFp32, DType::kBf16});
    } else {
      check.input("gamma", *a.gamma, {1, h}, {a.x.dtype});
    }
    check.output("scaled", *a.scaled, {M, h}, {a.gamma->dtype});
  }
  check.output("squares", a.squares, {parts_of(h), M}, {DType::kFp32});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void norm_inputs(const row::NormInputsArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = row::thread_count(row::kName, asked_threads);
  row::with_element(arguments.x.dtype, [&]<class X>() {
    if (arguments.gamma && arguments.gamma->dtype != arguments.x.dtype) {
      row::read_rows<X, bf16>(arguments, threads);
    } else {
      row::read_rows<X, X>(arguments, threads);
    }
  });
}

}  // namespace coda::cpu
