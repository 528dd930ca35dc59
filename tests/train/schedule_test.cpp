// Learning rates at the points that the formula names, and between them.
#include "coda/train/schedule.h"

#include <gtest/gtest.h>

namespace coda::train {
namespace {

TEST(Schedule, RisesInALine) {
  const Schedule schedule{.peak = 0.5, .warmup_steps = 4, .steps = 15};
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_DOUBLE_EQ(learning_rate(schedule, step), 0.125 * static_cast<double>(step + 1));
  }
}

TEST(Schedule, FallsAlongACosine) {
  // Steps 4 to 16 fall; cos of 0, 60, 90, 120 and 180 degrees is 1, 1/2, 0, −1/2, −1.
  const Schedule schedule{.peak = 0.8, .warmup_steps = 4, .steps = 17, .final_share = 0.25};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4), 0.8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 8), 0.2 + 0.6 * 0.75);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 10), 0.2 + 0.6 * 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 12), 0.2 + 0.6 * 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 16), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 17), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1000), 0.2);
  for (int64_t step = 5; step < 17; ++step) {
    EXPECT_LT(learning_rate(schedule, step), learning_rate(schedule, step - 1));
  }
}

TEST(Schedule, NeedsNeitherPart) {
  const Schedule only_cosine{.peak = 1, .warmup_steps = 0, .steps = 3, .final_share = 0};
  EXPECT_DOUBLE_EQ(learning_rate(only_cosine, 0), 1);
  EXPECT_DOUBLE_EQ(learning_rate(only_cosine, 1), 0.5);
  EXPECT_NEAR(learning_rate(only_cosine, 2), 0, 1e-16);
  const Schedule one_step{.peak = 1, .warmup_steps = 0, .steps = 1};
  EXPECT_DOUBLE_EQ(learning_rate(one_step, 0), 1);
  const Schedule only_warmup{.peak = 1, .warmup_steps = 10, .steps = 5};
  EXPECT_DOUBLE_EQ(learning_rate(only_warmup, 4), 0.5);
  const Schedule level{.peak = 0.3, .warmup_steps = 0, .steps = 100, .final_share = 1};
  for (int64_t step = 0; step < 100; ++step) EXPECT_DOUBLE_EQ(learning_rate(level, step), 0.3);
}

}  // namespace
}  // namespace coda::train
