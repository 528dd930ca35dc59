// What two clusters hand to each other through global memory: which fences and barriers it takes.
#include <array>

#include "tests/sim/expect_failure.h"

namespace coda::sim_test {
namespace {

using sim::Violation;

// Each of two blocks stores a line; the one that comes last reads both.
struct Meeting {
  bool store = true, sync_before = true, fence_before = true, fence_after = true, sync_after = true;
  bool store_late = false;  // behind the fence
  alignas(16) mutable std::array<std::array<float, 128>, 2> lines{};
  mutable uint32_t counter = 0;  // of both runs and reruns
  mutable float sum = 0;

  void operator()() const {
    float* own = &lines[hw::block_index()][4 * hw::lane()];
    if (store && !store_late) hw::store_global_x4(own, 1, 2, 3, 4);
    if (sync_before) hw::warp_sync();
    uint32_t before = 0;
    if (hw::lane() == 0) {
      if (fence_before) hw::fence_gpu();
      if (store_late) hw::store_global_x4(own, 1, 2, 3, 4);
      before = hw::atomic_add(&counter, 1);
      if (fence_after) hw::fence_gpu();
    }
    before = hw::shuffle(before, 0);
    if (sync_after) hw::warp_sync();
    if (before % 2 == 0 || (store_late && hw::lane() != 0)) return;
    for (const auto& line : lines) {
      float values[4];
      hw::load_global_x4(&line[4 * hw::lane()], values);
      if (hw::lane() == 31) sum = values[0] + values[1] + values[2] + values[3];
    }
  }
};

constexpr Shape kTwoBlocks{.blocks = 2};

TEST(Global, FencesAroundAnAtomicOrder) {
  const Meeting meeting;
  expect_success(kTwoBlocks, meeting);
  EXPECT_EQ(meeting.sum, 10);
  EXPECT_EQ(meeting.counter, 2 * every_way().size());
}

TEST(Global, AndNothingOfThatCanBeLeftOut) {
  const auto says = [](const Meeting& meeting) {
    expect_text(expect_failure({Violation::kRace}, kTwoBlocks, meeting),
                {"load_global_x4", "was stored at tests/sim/global_test.cpp"});
  };
  says({.sync_before = false});
  says({.fence_before = false});
  says({.fence_after = false});
  says({.sync_after = false});
  says({.store_late = true});
}

TEST(Global, WhatNobodyStoredIsNotRead) {
  expect_text(expect_failure({Violation::kUninitialised}, kTwoBlocks, Meeting{.store = false}),
              {"in this launch"});
}

TEST(Global, TakesAlignedAddresses) {
  alignas(16) std::array<float, 8> memory{};
  const auto failure = expect_failure({Violation::kAddress}, {},
                                      [&] { hw::store_global_x4(&memory[1], 1, 2, 3, 4); });
  expect_text(failure, {"not aligned to 16 bytes"});
}

// Within a cluster its barriers do, as they do for shared memory.
TEST(Global, BarriersOrderACluster) {
  alignas(16) std::array<float, 8> memory{};
  const auto kernel = [&](bool wait) {
    return [&memory, wait] {
      if (hw::lane() == 0 && hw::cluster_rank() == 0) {
        hw::store_global_x4(memory.data(), 1, 2, 3, 4);
      }
      hw::warp_sync();
      if (wait) {
        hw::cluster_arrive();
        hw::cluster_wait();
      }
      float values[4];
      if (hw::cluster_rank() == 1) hw::load_global_x4(memory.data(), values);
    };
  };
  const Shape cluster{.blocks = 2, .cluster_size = 2};
  expect_success(cluster, kernel(true));
  expect_failure({Violation::kRace, Violation::kUninitialised}, cluster, kernel(false));
}

}  // namespace
}  // namespace coda::sim_test
