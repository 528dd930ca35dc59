// Launches: residency, dependent launches that overlap, registers, limits, several host threads.
#include <algorithm>
#include <array>
#include <thread>

#include "tests/sim/expect_failure.h"

namespace coda::sim_test {

namespace {

using sim::Violation;

TEST(Launch, EveryBlockRunsOnce) {
  for (int multiprocessors : {1, 2, 5}) {
    std::vector<int> runs(24);
    int resident = 0, most = 0;
    run({.blocks = 24, .cluster_size = 2, .threads = 64},
        [&] {
          if (hw::thread_index() == 0) most = std::max(most, ++resident);
          hw::block_sync();
          if (hw::thread_index() == 0) {
            ++runs[hw::block_index()];
            EXPECT_EQ(hw::cluster_rank(), hw::block_index() % 2);
            --resident;
          }
        },
        {.seed = 3, .multiprocessors = multiprocessors});
    EXPECT_EQ(std::count(runs.begin(), runs.end(), 1), 24);
    EXPECT_LE(most, std::max(2, multiprocessors));
  }
}

// The second launch reads what the first one writes; both use the same places.
struct Dependent {
  bool wait = true;
  std::array<int, 8> first{}, second{};
  int early_blocks = 0, first_done = 0;

  void run(const sim::LaunchOptions& options) {
    first.fill(-1);
    second.fill(-1);
    const auto write = [this](int) {
      hw::dependents_launch();
      hw::block_sync();
      if (hw::thread_index() == 0) {
        first[hw::block_index()] = int(hw::block_index()) * 10;
        ++first_done;
      }
    };
    const auto read = [this](int) {
      if (hw::thread_index() == 0 && first_done < 8) ++early_blocks;
      if (wait) hw::dependency_wait();
      if (hw::thread_index() == 0) second[hw::block_index()] = first[7 - hw::block_index()] + 1;
    };
    const int none = 0;
    const sim::Launch launches[] = {sim::make_launch(8, 1, 64, 0, write, none),
                                    sim::make_launch(8, 1, 64, 0, read, none, true)};
    sim::run_stream(launches, options);
  }
  bool right() const {
    for (int i = 0; i < 8; ++i) {
      if (second[i] != (7 - i) * 10 + 1) return false;
    }
    return true;
  }
};

TEST(Launch, DependentLaunchesOverlap) {
  int overlapping = 0;
  for (const sim::LaunchOptions& options : every_way(12)) {
    Dependent pair;
    pair.run(options);
    EXPECT_TRUE(pair.right());
    overlapping += pair.early_blocks > 0 ? 1 : 0;
  }
  EXPECT_GT(overlapping, 0);
}

// A missing dependency_wait shows as a wrong result within 12 random seeds.
TEST(Launch, MissingDependencyWaitShows) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Dependent pair;
    pair.wait = false;
    pair.run({.seed = seed});
    wrong += pair.right() ? 0 : 1;
  }
  EXPECT_GT(wrong, 0);
}

// A mutation may be meant for one launch of a stream only.
TEST(Launch, MutationOfOneLaunch) {
  const auto kernel = [](int) { hw::block_sync(); };
  const int none = 0;
  const sim::Launch launches[] = {sim::make_launch(1, 1, 64, 0, kernel, none),
                                  sim::make_launch(1, 1, 64, 0, kernel, none)};
  const auto switches = [&](std::optional<sim::Mutation> mutation) {
    return sim::run_stream(launches, {.policy = sim::Policy::kEager, .mutation = mutation})
        .switches;
  };
  const sim::Report report = sim::run_stream(launches, {});
  ASSERT_EQ(report.sites.size(), 1u);
  const sim::Site& site = report.sites[0].site;
  const uint64_t with = switches({}), without = switches(sim::Mutation{site});
  EXPECT_GT(with, without);
  for (const int launch : {0, 1}) {
    const uint64_t one = switches(sim::Mutation{site, sim::MutationKind::kDrop, launch});
    EXPECT_EQ(2 * one, with + without);
  }
}

TEST(Launch, WithoutTheAttributeLaunchesAreSerial) {
  for (const sim::LaunchOptions& options : every_way()) {
    int done = 0;
    const auto first = [&](int) {
      hw::dependents_launch();
      hw::block_sync();
      done += hw::thread_index() == 0 ? 1 : 0;
    };
    const auto second = [&](int) { EXPECT_EQ(done, 6); };
    const int none = 0;
    const sim::Launch launches[] = {sim::make_launch(6, 1, 64, 0, first, none),
                                    sim::make_launch(6, 1, 64, 0, second, none)};
    sim::run_stream(launches, options);
  }
}

TEST(Launch, Registers) {
  const Shape shape{.threads = 384};
  const auto change = []<int kFeeders, int kConsumers>(std::integral_constant<int, kFeeders>,
                                                       std::integral_constant<int, kConsumers>) {
    return [] {
      if (hw::thread_index() < 128) {
        hw::registers_decrease<kFeeders>();
      } else {
        hw::registers_increase<kConsumers>();
      }
    };
  };
  constexpr std::integral_constant<int, 24> k24;
  constexpr std::integral_constant<int, 40> k40;
  constexpr std::integral_constant<int, 232> k232;
  constexpr std::integral_constant<int, 240> k240;
  expect_success(shape, change(k40, k232));
  expect_success(shape, change(k24, k240));
  const auto deadlock = expect_failure({Violation::kDeadlock}, shape, change(k40, k240));
  expect_text(deadlock, {"240 registers per thread"});
  expect_failure({Violation::kRegisters}, shape, [] { hw::registers_increase<40>(); });
  expect_failure({Violation::kRegisters}, shape, [] { hw::registers_decrease<232>(); });
  expect_failure({Violation::kRegisters}, shape, [] { hw::registers_decrease<41>(); });
  expect_failure({Violation::kRegisters}, shape, [] {
    if (hw::thread_index() < 32) hw::registers_decrease<40>();
  });
}

TEST(Launch, TrapAndExceptions) {
  const auto failure = expect_failure({Violation::kTrap}, {.threads = 64}, [] {
    if (hw::thread_index() == 37) hw::trap();
  });
  EXPECT_EQ(failure.actor.warp, 1);
  EXPECT_EQ(failure.actor.lane, 5);
  EXPECT_THROW(run({}, [] { throw Error("from the kernel"); }), Error);
}

TEST(Launch, EndlessKernel) {
  EXPECT_THROW(run({},
                   [] {
                     for (;;) hw::warp_sync();
                   },
                   {.max_switches = 10000}),
               sim::Failure);
}

TEST(Launch, Arguments) {
  const auto nothing = [] {};
  EXPECT_THROW(run({.blocks = 3, .cluster_size = 2}, nothing), Error);
  EXPECT_THROW(run({.cluster_size = 9}, nothing), Error);
  EXPECT_THROW(run({.threads = 33}, nothing), Error);
  EXPECT_THROW(run({.shared_bytes = 232449}, nothing), Error);
  EXPECT_THROW(hw::thread_index(), Error);
}

TEST(Launch, SeveralHostThreads) {
  std::vector<std::thread> threads;
  std::array<uint64_t, 4> switches{};
  for (size_t i = 0; i < switches.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto kernel = [] {
        hw::store_shared(hw::dynamic_shared() + hw::thread_index() * 4, 1);
        hw::block_sync();
      };
      for (int times = 0; times < 10; ++times) {
        switches[i] = run({.blocks = 4, .threads = 128}, kernel, {.seed = 9}).switches;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t count : switches) EXPECT_EQ(count, switches[0]);
}

}  // namespace

}  // namespace coda::sim_test
