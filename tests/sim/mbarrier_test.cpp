// Mbarriers: phases, counts, misuse, and how a deadlock reads.
#include "tests/sim/expect_failure.h"

namespace coda::sim_test {

namespace {

using sim::Violation;

// Thread 0 initialises barriers of these counts, 8 bytes each from the start of shared memory.
uint32_t make_barriers(std::initializer_list<uint32_t> counts) {
  const uint32_t first = hw::dynamic_shared();
  if (hw::thread_index() == 0) {
    uint32_t at = first;
    for (uint32_t count : counts) {
      hw::mbarrier_init(at, count);
      at += 8;
    }
    hw::mbarrier_init_fence();
  }
  hw::block_sync();
  return first;
}

TEST(Mbarrier, PhasesHandValuesBackAndForth) {
  for (const sim::LaunchOptions& options : every_way(12)) {
    SCOPED_TRACE(describe(options));
    uint32_t sum = 0;
    run(
        {.threads = 64},
        [&] {
          const uint32_t full = make_barriers({32, 1}), empty = full + 8, box = full + 64;
          if (hw::thread_index() < 32) {
            for (uint32_t i = 0; i < 9; ++i) {
              hw::mbarrier_wait(empty, (i & 1) ^ 1);
              hw::store_shared(box + hw::lane() * 4, i * 100 + hw::lane());
              hw::mbarrier_arrive(full);
            }
          } else if (hw::lane() == 7) {
            for (uint32_t i = 0; i < 9; ++i) {
              hw::mbarrier_wait(full, i & 1);
              for (uint32_t j = 0; j < 32; ++j) sum += hw::load_shared(box + j * 4);
              hw::mbarrier_arrive(empty);
            }
          }
        },
        options);
    EXPECT_EQ(sum, 36u * 100 * 32 + 9 * 496);
  }
}

TEST(Mbarrier, TryWaitPolls) {
  for (const sim::LaunchOptions& options : every_way(12)) {
    run(
        {},
        [] {
          const uint32_t barrier = make_barriers({1, 1});
          if (hw::lane() == 0) {
            // Polls two barriers in turn; only the second one completes.
            bool first = false, second = false;
            while (!second) {
              first = hw::mbarrier_try_wait(barrier, 0);
              second = hw::mbarrier_try_wait(barrier + 8, 0);
            }
            EXPECT_FALSE(first);
          }
          if (hw::lane() == 1) hw::mbarrier_arrive(barrier + 8);
        },
        options);
  }
  const auto failure = expect_failure({Violation::kDeadlock}, {}, [] {
    const uint32_t barrier = make_barriers({1});
    if (hw::lane() == 0) {
      while (!hw::mbarrier_try_wait(barrier, 0)) {
      }
    }
  });
  expect_text(failure, {"mbarrier_try_wait"});
}

TEST(Mbarrier, DroppedWaitIsARace) {
  expect_failure({Violation::kRace, Violation::kUninitialised}, {}, [] {
    const uint32_t barrier = make_barriers({1});
    if (hw::lane() == 0) {
      hw::store_shared(barrier + 64, 1);
      hw::mbarrier_arrive(barrier);
    }
    if (hw::lane() == 1) hw::load_shared(barrier + 64);
  });
}

TEST(Mbarrier, UseBeforeInitialisation) {
  expect_failure({Violation::kBarrier}, {}, [] { hw::mbarrier_arrive(hw::dynamic_shared()); });
  // Only the order of the lanes decides whether lane 1 finds it.
  expect_failure({Violation::kBarrier}, {}, [] {
    if (hw::lane() == 0) hw::mbarrier_init(hw::dynamic_shared(), 1);
    if (hw::lane() == 1) hw::mbarrier_wait(hw::dynamic_shared(), 1);
  });
}

TEST(Mbarrier, InitialisationRules) {
  expect_failure({Violation::kAddress}, {}, [] {
    if (hw::lane() == 0) hw::mbarrier_init(hw::dynamic_shared() + 4, 1);
  });
  expect_failure({Violation::kBarrier}, {}, [] {
    if (hw::lane() == 0) hw::mbarrier_init(hw::dynamic_shared(), 0);
  });
  expect_failure({Violation::kBarrier}, {}, [] {
    if (hw::lane() != 0) return;
    hw::mbarrier_init(hw::dynamic_shared(), 1);
    hw::mbarrier_init(hw::dynamic_shared(), 1);
  });
  expect_failure({Violation::kBarrier}, {}, [] {
    make_barriers({1});
    if (hw::lane() == 0) hw::store_shared(hw::dynamic_shared(), 1);
  });
}

TEST(Mbarrier, TooManyArrivals) {
  const auto failure = expect_failure({Violation::kArrivals}, {}, [] {
    const uint32_t barrier = make_barriers({1});
    if (hw::lane() == 0) {
      hw::mbarrier_arrive_expect(barrier, 64);
      hw::mbarrier_arrive(barrier);
    }
  });
  expect_text(failure, {"all its 1 arrivals", "64 bytes"});
}

TEST(Mbarrier, TooManyBytesExpected) {
  expect_failure({Violation::kTransactions}, {}, [] {
    const uint32_t barrier = make_barriers({2});
    if (hw::lane() == 0) hw::mbarrier_arrive_expect(barrier, 1 << 20);
  });
}

TEST(Mbarrier, LeftInsideAPhase) {
  const auto failure = expect_failure({Violation::kLeftover}, {}, [] {
    const uint32_t barrier = make_barriers({2});
    if (hw::lane() == 0) hw::mbarrier_arrive(barrier);
  });
  expect_text(failure, {"left inside phase 0", "1 of 2 arrivals"});
}

TEST(Mbarrier, Parity) {
  expect_failure({Violation::kBarrier}, {}, [] {
    const uint32_t barrier = make_barriers({1});
    if (hw::lane() == 0) hw::mbarrier_wait(barrier, 2);
  });
}

// The last thread to be woken may find that another phase has gone by. That takes an unlucky
// order: 12 random seeds are enough.
TEST(Mbarrier, PhaseThatNothingHoldsBack) {
  constexpr uint64_t kSeeds = 12;
  int found = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    try {
      run({.threads = 64},
          [] {
            const uint32_t barrier = make_barriers({1, 32});
            if (hw::thread_index() < 32) {
              hw::mbarrier_wait(barrier, 0);
              hw::mbarrier_wait(barrier, 1);
            } else if (hw::lane() == 0) {
              hw::mbarrier_arrive(barrier);
              hw::mbarrier_arrive(barrier);
            }
          },
          {.seed = seed});
    } catch (const sim::Failure& failure) {
      EXPECT_TRUE(failure.violation == Violation::kPhase ||
                  failure.violation == Violation::kDeadlock)
          << failure.what();
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

TEST(Mbarrier, DeadlockSaysWhoWaitsForWhat) {
  const auto failure = expect_failure({Violation::kDeadlock}, {.threads = 64}, [] {
    const uint32_t barrier = make_barriers({3});
    if (hw::thread_index() == 40) hw::mbarrier_arrive(barrier);
    if (hw::thread_index() < 32) hw::mbarrier_wait(barrier, 0);
  });
  expect_text(failure,
              {"nothing can run", "block 0 warp 0 lanes 0-31", "mbarrier_wait at tests/sim/",
               "mbarrier shared + 0x0, parity 0", "waits for 2 of 3 arrivals"});
}

}  // namespace

}  // namespace coda::sim_test
