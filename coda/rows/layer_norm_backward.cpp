#include "coda/rows/layer_norm_backward.h"

#include <algorithm>

#include "coda/cpu/threads.h"
#include "coda/rows/moments_row.h"
#include "coda/rows/thread_room.h"

namespace coda::row {
namespace {

constexpr const char* kName = "layer_norm_backward";

template <class T, class Stream>
class Backward {
 public:
  static constexpr int64_t kRows = 3;  // of floats, that it has room for

  Backward(const LayerNormBackwardArguments& arguments, float* room)
      : a_(arguments), h_(arguments.x.columns), room_(room) {}

  // The 64 rows of a partial.
  void run_part(int64_t part) {
    for (const TensorView* partials : {&a_.dgamma, &a_.dbeta}) clear(*partials, part);
    if (a_.dcolumns) clear(*a_.dcolumns, part);
    const int64_t end = std::min(a_.x.rows, (part + 1) * kPartialWidth);
    for (int64_t m = part * kPartialWidth; m < end; ++m) run_row(part, m);
  }

 private:
  void clear(const TensorView& partials, int64_t part) const {
    std::fill_n(line(partials, part), h_, 0.0f);
  }
  static float* line(const TensorView& partials, int64_t part) {
    return data_of<float>(partials) + part * partials.ld;
  }

  void run_row(int64_t part, int64_t m) {
    float *const unit = room_, *const dy = unit + h_, *const g = dy + h_;
    const T* const gamma = data_of<const T>(a_.gamma);
    read_row<Stream>(a_.x, m, unit);
    read_row<T>(a_.dy, m, dy);
    const RowFactors f = row_factors(unit, h_, static_cast<float>(a_.epsilon));
    for (int64_t j = 0; j < h_; ++j) {
      unit[j] = (unit[j] - f.mean) * f.rstd;
      g[j] = dy[j] * to_float(gamma[j]);
    }
    const auto width = static_cast<float>(h_);
    const float m1 = lane_sum(h_, [&](int64_t j) { return g[j]; }) / width;
    const float m2 = lane_sum(h_, [&](int64_t j) { return g[j] * unit[j]; }) / width;
    float *const dgamma = line(a_.dgamma, part), *const dbeta = line(a_.dbeta, part);
    for (int64_t j = 0; j < h_; ++j) {
      dgamma[j] += dy[j] * unit[j];
      dbeta[j] += dy[j];
      g[j] = f.rstd * (g[j] - m1 - unit[j] * m2);
    }
    if (a_.dx_in) {
      const Stream* const along = data_of<const Stream>(a_.dx_in) + m * a_.dx_in->ld;
      for (int64_t j = 0; j < h_; ++j) g[j] += to_float(along[j]);
    }
    if (a_.dcolumns) {
      float* const sums = line(*a_.dcolumns, part);
      for (int64_t j = 0; j < h_; ++j) sums[j] += g[j];
    }
    Stream* const dx = data_of<Stream>(a_.dx) + m * a_.dx.ld;
    for (int64_t j = 0; j < h_; ++j) dx[j] = from_float<Stream>(g[j]);
  }

  const LayerNormBackwardArguments& a_;
  int64_t h_;
  float* room_;
};

template <class T, class Stream>
void run(const LayerNormBackwardArguments& a, int threads) {
  const ThreadRoom room(threads, Backward<T, Stream>::kRows * a.x.columns);
#pragma omp parallel num_threads(threads)
  {
    Backward<T, Stream> backward(a, room.mine());
#pragma omp for schedule(static)
    for (int64_t part = 0; part < parts_of(a.x.rows); ++part) backward.run_part(part);
  }
}

}  // namespace

ProgramView validate(const LayerNormBackwardArguments& a) {
  const int64_t M = a.dy.rows, h = a.dy.columns;
  TensorCheck check(kName);
  check.input("dy", a.dy, {M, h}, {DType::kBf16, DType::kFp16, DType::kFp32});
  check.input("x", a.x, {M, h}, {a.dy.dtype, DType::kFp32});
  check.input("gamma", a.gamma, {1, h}, {a.dy.dtype});
  check.not_negative("epsilon", a.epsilon);
  if (a.dx_in) check.input("dx_in", *a.dx_in, {M, h}, {a.x.dtype});
  check.output("dx", a.dx, {M, h}, {a.x.dtype}, {"dy", "dx_in"});
  check.output("dgamma", a.dgamma, {parts_of(M), h}, {DType::kFp32});
  check.output("dbeta", a.dbeta, {parts_of(M), h}, {DType::kFp32});
  if (a.dcolumns) check.output("dcolumns", *a.dcolumns, {parts_of(M), h}, {DType::kFp32});
  return check.finish();
}

}  // namespace coda::row

namespace coda::cpu {

void layer_norm_backward(const row::LayerNormBackwardArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count(row::kName, asked_threads);
  row::with_stream(arguments.dy.dtype, arguments.x.dtype,
                   [&]<class T, class Stream>() { row::run<T, Stream>(arguments, threads); });
}

}  // namespace coda::cpu
