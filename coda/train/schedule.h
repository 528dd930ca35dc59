// The learning rate of a step: rises in a line over the warm-up, then falls along half a cosine to
// a share of its peak, which the last step has.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace coda::train {

struct Schedule {
  double peak = 0;
  int64_t warmup_steps = 0;
  int64_t steps = 0;         // all of them, the warm-up included
  double final_share = 0.1;  // of the peak
};

// step from 0. Step s of W warm-up steps has peak·(s + 1)/W, so no step has rate 0; the step after
// the warm-up has the peak too, the last one peak·final_share, and steps beyond it keep that.
inline double learning_rate(const Schedule& schedule, int64_t step) {
  if (step < schedule.warmup_steps) {
    return schedule.peak * static_cast<double>(step + 1) /
           static_cast<double>(schedule.warmup_steps);
  }
  const int64_t falling = std::max<int64_t>(schedule.steps - 1 - schedule.warmup_steps, 1);
  const double done = std::min(
      1.0, static_cast<double>(step - schedule.warmup_steps) / static_cast<double>(falling));
  const double share = (1 + std::cos(std::numbers::pi * done)) / 2;
  return schedule.peak * (schedule.final_share + (1 - schedule.final_share) * share);
}

}  // namespace coda::train
