#include "coda/rows/layer_norm_sums.h"

#include <algorithm>

#include "coda/cpu/threads.h"
#include "coda/rows/lane_sum.h"

namespace coda::row {
namespace {

constexpr const char* kName = "layer_norm_sums";

// 64 columns of one row; added: offset + bias of theirs.
template <class T>
void sum_row(const LayerNormSumsArguments& a, int64_t m, int64_t column, const float* added) {
  const int64_t count = std::min<int64_t>(kPartialWidth, a.z.columns - column);
  const T* const dz = data_of<const T>(a.dz) + m * a.dz.ld + column;
  const T* const z = data_of<const T>(a.z) + m * a.z.ld + column;
  const float* const shift = data_of<const float>(a.shift) + column;
  const int64_t part = column / kPartialWidth;
  data_of<float>(a.dots)[part * a.dots.ld + m] =
      lane_sum(count, [&](int64_t j) { return to_float(dz[j]) * (to_float(z[j]) - added[j]); });
  data_of<float>(a.shifts)[part * a.shifts.ld + m] =
      lane_sum(count, [&](int64_t j) { return to_float(dz[j]) * shift[j]; });
}

// 64 rows and all columns.
template <class T>
void sum_part(const LayerNormSumsArguments& a, int64_t part) {
  const int64_t begin = part * kPartialWidth, end = std::min(a.z.rows, begin + kPartialWidth);
  for (int64_t column = 0; column < a.z.columns; column += kPartialWidth) {
    const int64_t count = std::min<int64_t>(kPartialWidth, a.z.columns - column);
    float added[kPartialWidth], sums[kPartialWidth] = {};
    for (int64_t j = 0; j < count; ++j) {
      added[j] = data_of<const float>(a.offset)[column + j];
      if (a.bias) added[j] += to_float(data_of<const T>(a.bias)[column + j]);
    }
    for (int64_t m = begin; m < end; ++m) {
      sum_row<T>(a, m, column, added);
      const T* const dz = data_of<const T>(a.dz) + m * a.dz.ld + column;
      for (int64_t j = 0; j < count; ++j) sums[j] += to_float(dz[j]);
    }
    if (a.dbias) std::copy_n(sums, count, data_of<float>(a.dbias) + part * a.dbias->ld + column);
  }
}

}  // namespace

ProgramView validate(const LayerNormSumsArguments& a) {
  const int64_t M = a.dz.rows, N = a.dz.columns;
  TensorCheck check(kName);
  check.input("dz", a.dz, {M, N}, {DType::kBf16, DType::kFp32});
  check.input("z", a.z, {M, N}, {a.dz.dtype});
  check.input("shift", a.shift, {1, N}, {DType::kFp32});
  check.input("offset", a.offset, {1, N}, {DType::kFp32});
  if (a.bias) check.input("bias", *a.bias, {1, N}, {a.dz.dtype});
  check.output("dots", a.dots, {parts_of(N), M}, {DType::kFp32});
  check.output("shifts", a.shifts, {parts_of(N), M}, {DType::kFp32});
  if (a.dbias) check.output("dbias", *a.dbias, {parts_of(M), N}, {DType::kFp32});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void layer_norm_sums(const row::LayerNormSumsArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count(row::kName, asked_threads);
  const int64_t parts = row::parts_of(arguments.z.rows);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t part = 0; part < parts; ++part) {
    if (arguments.z.dtype == DType::kBf16) {
      row::sum_part<bf16>(arguments, part);
    } else {
      row::sum_part<float>(arguments, part);
    }
  }
}

}  // namespace coda::cpu
