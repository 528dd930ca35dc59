#include "coda/rows/layer_norm_inputs.h"

#include "coda/cpu/threads.h"
#include "coda/rows/moments_row.h"
#include "coda/rows/thread_room.h"

namespace coda::row {
namespace {

constexpr const char* kName = "layer_norm_inputs";

template <class X, class T>
void read_rows(const LayerNormInputsArguments& a, int threads) {
  const T* const gamma = data_of<const T>(a.gamma);
  const ThreadRoom room(threads, a.x.columns);
#pragma omp parallel num_threads(threads)
  {
    float* const x = room.mine();
#pragma omp for schedule(static)
    for (int64_t m = 0; m < a.x.rows; ++m) {
      read_row<X>(a.x, m, x);
      write_moments(a.moments, m, x, a.x.columns);
      T* const scaled = data_of<T>(a.scaled) + m * a.scaled.ld;
      for (int64_t j = 0; j < a.x.columns; ++j) {
        scaled[j] = from_float<T>(x[j] * to_float(gamma[j]));
      }
    }
  }
}

}  // namespace

ProgramView validate(const LayerNormInputsArguments& a) {
  const int64_t M = a.x.rows, h = a.x.columns;
  TensorCheck check(kName);
  check.input("x", a.x, {M, h}, {DType::kBf16, DType::kFp16, DType::kFp32});
  check.norm_weight("gamma", a.gamma, a.x);
  check.output("scaled", a.scaled, {M, h}, {a.gamma.dtype});
  check.states("moments", a.moments, {parts_of(h), M}, sizeof(MomentsState));
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void layer_norm_inputs(const row::LayerNormInputsArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count(row::kName, asked_threads);
  row::with_norm_weight(arguments.x.dtype, arguments.gamma.dtype,
                        [&]<class X, class T>() { row::read_rows<X, T>(arguments, threads); });
}

}  // namespace coda::cpu
