// Barriers of warps, blocks and clusters, shuffles, and clusters' shared memory.
#include <numeric>

#include "tests/sim/expect_failure.h"

namespace coda::sim_test {

namespace {

using sim::Violation;

TEST(Warp, Shuffles) {
  for (const sim::LaunchOptions& options : every_way()) {
    run(
        {},
        [] {
          const uint32_t l = hw::lane();
          EXPECT_EQ(hw::shuffle(l * 3, 5), 15u);
          EXPECT_EQ(hw::shuffle_xor(float(l), 8), float(l ^ 8));
          EXPECT_EQ(hw::shuffle(int64_t(l) << 40, 31), int64_t(31) << 40);
        },
        options);
  }
}

TEST(Warp, Divergence) {
  const auto failure = expect_failure({Violation::kDivergence}, {}, [] {
    if (hw::lane() < 16) {
      hw::shuffle(1, 0);
    } else {
      hw::warp_sync();
    }
  });
  expect_text(failure, {"lanes of the warp are at"});
  expect_failure({Violation::kDivergence}, {}, [] {
    uint32_t value[4];
    if (hw::lane() < 16) return;
    hw::load_matrix_x4(hw::dynamic_shared(), value);
  });
}

TEST(Warp, LaneThatDoesNotCome) {
  const auto failure = expect_failure({Violation::kDeadlock}, {}, [] {
    if (hw::thread_index() == 0) hw::mbarrier_init(hw::dynamic_shared(), 1);
    hw::warp_sync();
    if (hw::lane() == 9) hw::mbarrier_wait(hw::dynamic_shared(), 0);
    hw::warp_sync();
  });
  expect_text(failure,
              {"lanes 0-8,10-31: warp_sync at", "lanes 9 have not come", "lanes 9: mbarrier"});
}

// Lane 0 waits for something alone; then the warp executes an instruction as one.
template <class Meet, class Together>
void wait_alone(Meet&& meet, Together&& together) {
  const uint32_t barrier = hw::dynamic_shared();
  if (hw::thread_index() == 0) {
    hw::mbarrier_init(barrier, 1);
    hw::mbarrier_arrive(barrier);
    hw::mbarrier_wait(barrier, 0);
  }
  meet();
  together();
}

TEST(Warp, LanesThatPartedMeetBeforeAlignedInstructions) {
  const auto nothing = [] {};
  const auto sync = [] { hw::warp_sync(); };
  const auto exchange = [] { hw::shuffle(1, 0); };
  const auto barrier = [] { hw::block_sync(); };
  const auto matrix = [] {
    const uint32_t value[4] = {};
    hw::store_matrix_x4(hw::dynamic_shared() + 1024 + hw::lane() * 16, value);
  };
  expect_success({}, [&] { wait_alone(sync, barrier); });
  expect_success({}, [&] { wait_alone(sync, matrix); });
  expect_success({}, [&] { wait_alone(exchange, barrier); });  // waits for all lanes as well
  expect_success({}, [&] { wait_alone(nothing, sync); });
  const auto failure =
      expect_failure({Violation::kDivergence}, {}, [&] { wait_alone(nothing, barrier); });
  expect_text(failure, {"block_sync: lane 0 has waited at tests/sim/barriers_test.cpp:",
                        "no warp_sync has brought them together"});
  expect_failure({Violation::kDivergence}, {}, [&] { wait_alone(nothing, matrix); });
}

// Two groups take turns, as the consumers of the pingpong kernel do.
void take_turns(bool sync) {
  const uint32_t group = hw::thread_index() / 64,
                 at = hw::dynamic_shared() + hw::thread_index() % 64 * 4;
  if (group == 1) hw::named_arrive(1, 128);
  for (uint32_t turn = 0; turn < 4; ++turn) {
    if (sync) hw::named_sync(1 + group, 128);
    const bool follows = turn + group > 0;
    if (follows && sync) {
      EXPECT_EQ(hw::load_shared(at), 2 * turn + group - 1);
    }
    if (follows && !sync) hw::load_shared(at);
    hw::store_shared(at, 2 * turn + group);
    if (2 * turn + group < 7) hw::named_arrive(1 + (group ^ 1), 128);
  }
}

TEST(NamedBarrier, Turns) {
  expect_success({.threads = 128}, [] { take_turns(true); });
  expect_failure({Violation::kRace, Violation::kUninitialised, Violation::kArrivals},
                 {.threads = 128}, [] { take_turns(false); });
}

TEST(NamedBarrier, Rules) {
  const Shape shape{.threads = 64};
  expect_failure({Violation::kBarrier}, shape, [] { hw::named_sync(16, 64); });
  expect_failure({Violation::kBarrier}, shape, [] { hw::named_sync(1, 48); });
  expect_failure({Violation::kBarrier}, shape, [] { hw::named_sync(1, 96); });
  expect_failure({Violation::kBarrier, Violation::kDeadlock}, shape,
                 [] { hw::named_sync(1, hw::thread_index() < 32 ? 64 : 32); });
  expect_failure({Violation::kArrivals}, shape, [] {
    if (hw::thread_index() >= 32) return;
    hw::named_arrive(1, 64);
    hw::named_arrive(1, 64);
  });
  const auto left = expect_failure({Violation::kLeftover}, shape, [] {
    if (hw::thread_index() < 32) hw::named_arrive(3, 64);
  });
  expect_text(left, {"named barrier 3 is left with 32 of 64 threads"});
  const auto deadlock = expect_failure({Violation::kDeadlock}, {.threads = 96}, [] {
    if (hw::thread_index() < 32) hw::named_sync(2, 96);
    if (hw::thread_index() >= 64) hw::named_sync(2, 96);
  });
  expect_text(deadlock, {"named barrier 2: 64 of 96 threads have come"});
}

TEST(BlockSync, SomeThreadsHaveLeft) {
  expect_success({.threads = 96}, [] {
    if (hw::thread_index() >= 64) return;
    hw::block_sync();
  });
}

void cluster_sync() {
  hw::cluster_arrive();
  hw::cluster_wait();
}

struct ClusterKernel {
  bool init_fence = true, init_sync = true, last_sync = true, wait = true;

  // Each block tells the next one, which waits.
  void operator()() const {
    const uint32_t barrier = hw::dynamic_shared();
    if (hw::thread_index() == 0) {
      hw::mbarrier_init(barrier, 32);
      if (init_fence) hw::mbarrier_init_fence();
    }
    if (init_sync) {
      cluster_sync();
    } else {
      hw::block_sync();
    }
    if (hw::thread_index() < 32) {
      hw::mbarrier_arrive_cluster(hw::cluster_address(barrier, (hw::cluster_rank() + 1) % 4));
    }
    if (wait) hw::mbarrier_wait(barrier, 0);
    if (last_sync) cluster_sync();
  }
};

TEST(Cluster, RemoteArrivals) {
  const Shape shape{.blocks = 8, .cluster_size = 4, .threads = 64};
  expect_success(shape, ClusterKernel{});
  expect_success(shape, ClusterKernel{.last_sync = false});  // all that comes has been waited for
  expect_failure({Violation::kBarrier}, shape, ClusterKernel{.init_fence = false});
  expect_failure({Violation::kBarrier}, shape, ClusterKernel{.init_sync = false});
  // Found whether or not the block had left when the arrival came.
  expect_failure({Violation::kExited, Violation::kLeftover}, shape,
                 ClusterKernel{.last_sync = false, .wait = false});
}

TEST(Cluster, BarrierRules) {
  const Shape shape{.blocks = 2, .cluster_size = 2, .threads = 64};
  expect_failure({Violation::kBarrier}, shape, [] { hw::cluster_wait(); });
  expect_failure({Violation::kBarrier}, shape, [] {
    hw::cluster_arrive();
    hw::cluster_arrive();
  });
  expect_failure({Violation::kLeftover}, shape, [] { hw::cluster_arrive(); });
  expect_failure({Violation::kAddress}, shape,
                 [] { hw::cluster_address(hw::dynamic_shared(), 2); });
  expect_failure({Violation::kAddress}, shape,
                 [] { hw::store_shared(hw::cluster_address(hw::dynamic_shared(), 0), 1); });
  const auto deadlock = expect_failure({Violation::kDeadlock}, shape, [] {
    if (hw::cluster_rank() == 0) {
      cluster_sync();
    } else {
      hw::named_sync(1, 64);
      if (hw::thread_index() < 32) hw::named_sync(1, 64);
    }
  });
  expect_text(deadlock, {"cluster barrier: "});
}

// Two blocks load half of a box each and send it to both.
void multicast(const sim::TensorMap& map, std::vector<uint32_t>& out, uint32_t expected,
               bool sync) {
  const uint32_t rank = hw::cluster_rank(), to = hw::dynamic_shared(), barrier = to + 4096;
  if (hw::thread_index() == 0) {
    hw::mbarrier_init(barrier, 1);
    hw::mbarrier_init_fence();
  }
  cluster_sync();
  if (hw::thread_index() == 0) {
    hw::mbarrier_arrive_expect(barrier, expected);
    hw::tma_load_multicast(to + rank * 2048, &map, barrier, 0, int(rank) * 16, 3);
  }
  hw::mbarrier_wait(barrier, 0);
  for (uint32_t i = hw::lane(); i < 1024; i += 32) {
    out[rank * 1024 + i] = hw::load_shared(sim::swizzle(to + i * 4, 128));
  }
  if (sync) cluster_sync();
}

TEST(Cluster, Multicast) {
  alignas(16) static uint32_t data[1024];
  std::iota(std::begin(data), std::end(data), 0);
  sim::TensorMap map;
  sim::encode_tensor_map(map, 4, data, 32, 32, 128, 32, 16, 128);
  const Shape shape{.blocks = 2, .cluster_size = 2};
  for (const sim::LaunchOptions& options : every_way()) {
    std::vector<uint32_t> out(2048);
    const sim::Report report = run(shape, [&] { multicast(map, out, 4096, true); }, options);
    for (uint32_t i = 0; i < 2048; ++i) ASSERT_EQ(out[i], i % 1024);
    EXPECT_EQ(report.loads, 4u);
    EXPECT_EQ(report.bytes_loaded, 8192u);
  }
  std::vector<uint32_t> out(2048);
  expect_success(shape, [&] { multicast(map, out, 4096, false); });
  expect_failure({Violation::kInFlight, Violation::kRace, Violation::kTransactions,
                  Violation::kExited, Violation::kLeftover, Violation::kUninitialised},
                 shape, [&] { multicast(map, out, 2048, true); });
  expect_failure({Violation::kBarrier}, shape, [&] {
    hw::mbarrier_init(hw::dynamic_shared() + 4096 + hw::lane() * 8, 1);
    hw::mbarrier_init_fence();
    cluster_sync();
    hw::tma_load_multicast(hw::dynamic_shared(), &map, hw::dynamic_shared() + 4096, 0, 0, 7);
  });
}

}  // namespace

}  // namespace coda::sim_test
