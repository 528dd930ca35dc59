#include "coda/rows/layer_norm.h"

#include "coda/cpu/threads.h"
#include "coda/rows/moments_row.h"
#include "coda/rows/thread_room.h"

namespace coda::row {
namespace {

constexpr const char* kName = "layer_norm";

template <class X, class T>
void normalise(const LayerNormArguments& a, int threads) {
  const T *const gamma = data_of<const T>(a.gamma), *const beta = data_of<const T>(a.beta);
  const ThreadRoom room(threads, a.x.columns);
#pragma omp parallel num_threads(threads)
  {
    float* const x = room.mine();
#pragma omp for schedule(static)
    for (int64_t m = 0; m < a.x.rows; ++m) {
      read_row<X>(a.x, m, x);
      if (a.moments) write_moments(*a.moments, m, x, a.x.columns);
      const RowFactors f = row_factors(x, a.x.columns, static_cast<float>(a.epsilon));
      T* const out = data_of<T>(a.out) + m * a.out.ld;
      for (int64_t j = 0; j < a.x.columns; ++j) {
        out[j] = from_float<T>((x[j] - f.mean) * f.rstd * to_float(gamma[j]) + to_float(beta[j]));
      }
    }
  }
}

}  // namespace

ProgramView validate(const LayerNormArguments& a) {
  const int64_t M = a.x.rows, h = a.x.columns;
  TensorCheck check(kName);
  check.input("x", a.x, {M, h}, {DType::kBf16, DType::kFp16, DType::kFp32});
  check.norm_weight("gamma", a.gamma, a.x);
  check.input("beta", a.beta, {1, h}, {a.gamma.dtype});
  check.not_negative("epsilon", a.epsilon);
  check.output("out", a.out, {M, h}, {a.gamma.dtype}, {"x"});
  if (a.moments) check.states("moments", *a.moments, {parts_of(h), M}, sizeof(MomentsState));
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void layer_norm(const row::LayerNormArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count(row::kName, asked_threads);
  row::with_norm_weight(arguments.x.dtype, arguments.gamma.dtype,
                        [&]<class X, class T>() { row::normalise<X, T>(arguments, threads); });
}

}  // namespace coda::cpu
