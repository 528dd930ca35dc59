#include "coda/rows/rope_backward.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "coda/core/error.h"
#include "coda/cpu/threads.h"
#include "coda/rows/lane_sum.h"
#include "coda/rows/thread_room.h"
#include "coda/rows/tokens.h"
#include "coda/rows/widest.h"

namespace coda::row {
namespace {

// One row: its factor r, and the cosines and sines of its position.
struct Row {
  int64_t m = 0;
  float r = 1;
  const float *cosines = nullptr, *sines = nullptr;  // [d/2]
};

template <class T>
class Segment {
 public:
  Segment(const RopeBackwardSegment& segment, const RopeBackwardArguments& a, bool rotated)
      : s_(segment),
        d_(a.head_dim),
        heads_(segment.dy.columns / a.head_dim),
        epsilon_(static_cast<float>(a.norm_epsilon)),
        rotated_(rotated) {}

  int64_t heads() const { return heads_; }

  // The partials of 64 rows begin.
  void begin_part(int64_t part) const {
    for (const auto& partials : {s_.dbias, s_.dnorm}) {
      if (partials) std::fill_n(data_of<float>(partials) + part * partials->ld, heads_ * d_, 0.0f);
    }
  }

  // One head of one row; returns its share of Σ z·dz. dn: room for a head.
  CODA_WIDEST float head(const Row& row, int64_t head, float* dn) const {
    const int64_t column = head * d_;
    const T* const dy = data_of<const T>(s_.dy) + row.m * s_.dy.ld + column;
    const T* const y = data_of<const T>(s_.y) + row.m * s_.y.ld + column;
    T* const out = data_of<T>(s_.dz) + row.m * s_.dz.ld + column;
    rotate_back(row, dy, dn);
    float share = 0;
    if (s_.norm) {
      share = norm_backward(row, column, y, dn);
    } else {
      share = lane_sum(d_, [&](int64_t i) { return to_float(y[i]) * to_float(dy[i]); });
    }
    if (s_.bias) {
      const T* const bias = data_of<const T>(s_.bias) + column;
      share -= lane_sum(d_, [&](int64_t i) { return to_float(bias[i]) * dn[i]; });
    }
    if (s_.dbias) {
      float* const to = partials(*s_.dbias, row, column);
      for (int64_t i = 0; i < d_; ++i) to[i] += dn[i];
    }
    for (int64_t i = 0; i < d_; ++i) out[i] = from_float<T>(dn[i] * row.r);
    return share;
  }

 private:
  static float* partials(const TensorView& view, const Row& row, int64_t column) {
    return data_of<float>(view) + row.m / kPartialWidth * view.ld + column;
  }

  void rotate_back(const Row& row, const T* dy, float* dn) const {
    if (!rotated_) {
      for (int64_t i = 0; i < d_; ++i) dn[i] = to_float(dy[i]);
      return;
    }
    const int64_t half = d_ / 2;
    for (int64_t i = 0; i < half; ++i) {
      const float c = to_float(dy[i]), s = to_float(dy[half + i]);
      dn[i] = c * row.cosines[i] + s * row.sines[i];
      dn[half + i] = s * row.cosines[i] - c * row.sines[i];
    }
  }

  // dn becomes dz.
  float norm_backward(const Row& row, int64_t column, const T* z, float* dn) const {
    const T* const gamma = data_of<const T>(s_.norm);
    const auto width = static_cast<float>(d_);
    const float squares = lane_sum(d_, [&](int64_t i) { return to_float(z[i]) * to_float(z[i]); });
    const float s = 1 / std::sqrt(squares / width + epsilon_);
    const float along =
        lane_sum(d_, [&](int64_t i) { return to_float(gamma[i]) * dn[i] * to_float(z[i]); });
    if (s_.dnorm) {
      float* const to = partials(*s_.dnorm, row, column);
      for (int64_t i = 0; i < d_; ++i) to[i] += dn[i] * to_float(z[i]) * s;
    }
    const float back = s * s * s * along / width;
    for (int64_t i = 0; i < d_; ++i) {
      dn[i] = s * to_float(gamma[i]) * dn[i] - to_float(z[i]) * back;
    }
    return epsilon_ * s * s * s * along;
  }

  const RopeBackwardSegment& s_;
  int64_t d_, heads_;
  float epsilon_;
  bool rotated_;
};

// In fp64: a row's angles are used by all of its heads.
template <class Position>
void fill_rotation(const RopeBackwardArguments& a, int64_t m, float* cosines, float* sines) {
  const int64_t half = a.head_dim / 2;
  const Position position = data_of<const Position>(a.positions)[m];
  if (a.inv_freq) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * data_of<const float>(a.inv_freq)[i];
      cosines[i] = static_cast<float>(std::cos(angle) * a.scale);
      sines[i] = static_cast<float>(std::sin(angle) * a.scale);
    }
    return;
  }
  const auto scale = static_cast<float>(a.scale);
  with_element(a.cosines->dtype, [&]<class Table>() {
    const auto at = static_cast<int64_t>(position);
    const Table* const c = data_of<const Table>(a.cosines) + at * a.cosines->ld;
    const Table* const s = data_of<const Table>(a.sines) + at * a.sines->ld;
    for (int64_t i = 0; i < half; ++i) {
      cosines[i] = to_float(c[i]) * scale;
      sines[i] = to_float(s[i]) * scale;
    }
  });
}

float finish_rstd(const RopeBackwardArguments& a, int64_t m) {
  float sum = 0;
  for (int64_t part = 0; part < a.rstd.rows; ++part) {
    sum += data_of<const float>(a.rstd)[part * a.rstd.ld + m];
  }
  const auto width = static_cast<float>(a.rstd_width);
  return 1 / std::sqrt(sum / width + static_cast<float>(a.rstd_epsilon));
}

template <class T, class Position>
void run(const RopeBackwardArguments& a, int threads) {
  if (a.cosines) {
    check_tokens<Position>("rope_backward", a.positions, a.cosines->rows, "positions");
  }
  const Segment<T> segments[] = {{a.q, a, true}, {a.k, a, true}, {a.v, a, false}};
  const int64_t M = a.q.dy.rows, half = a.head_dim / 2;
  const ThreadRoom room(threads, 4 * half);
  // 64 rows at a time, those of a partial.
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t part = 0; part < parts_of(M); ++part) {
    float *const cosines = room.mine(), *const sines = cosines + half, *const dn = sines + half;
    for (const auto& segment : segments) segment.begin_part(part);
    for (int64_t m = part * kPartialWidth; m < std::min(M, (part + 1) * kPartialWidth); ++m) {
      fill_rotation<Position>(a, m, cosines, sines);
      const Row row{m, finish_rstd(a, m), cosines, sines};
      float* sum = data_of<float>(a.sums) + m;
      for (const auto& segment : segments) {
        for (int64_t head = 0; head < segment.heads(); ++head, sum += a.sums.ld) {
          *sum = segment.head(row, head, dn);
        }
      }
    }
  }
}

}  // namespace
}  // namespace coda::row

namespace coda::cpu {

void rope_backward(const row::RopeBackwardArguments& arguments, int asked_threads) {
  row::validate(arguments);
  const int threads = cpu::thread_count("rope_backward", asked_threads);
  row::with_integer(arguments.positions.dtype, [&]<class Position>() {
    if (arguments.q.dy.dtype == DType::kBf16) {
      row::run<bf16, Position>(arguments, threads);
    } else {
      row::run<float, Position>(arguments, threads);
    }
  });
}

}  // namespace coda::cpu
