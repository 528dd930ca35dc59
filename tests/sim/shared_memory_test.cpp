// Plain accesses: uninitialised reads, races between threads, bounds, matrices.
#include "tests/sim/expect_failure.h"

namespace coda::sim_test {

namespace {

using sim::Violation;

TEST(SharedMemory, ThreadsHandOverThroughBarriers) {
  for (const sim::LaunchOptions& options : every_way()) {
    std::vector<uint32_t> out(64);
    run(
        {.threads = 64},
        [&] {
          const uint32_t at = hw::dynamic_shared(), t = hw::thread_index();
          hw::store_shared(at + t * 4, t * t);
          hw::block_sync();
          out[t] = hw::load_shared(at + (63 - t) * 4);
        },
        options);
    for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], (63 - t) * (63 - t));
  }
}

TEST(SharedMemory, PairsOfWords) {
  run({}, [] {
    const uint32_t at = hw::dynamic_shared() + hw::lane() * 8;
    hw::store_shared_x2(at, hw::lane(), 7);
    uint32_t a = 0, b = 0;
    hw::load_shared_x2(at, a, b);
    EXPECT_EQ(a, hw::lane());
    EXPECT_EQ(b, 7u);
  });
}

TEST(SharedMemory, UninitialisedRead) {
  const auto failure = expect_failure({Violation::kUninitialised}, {}, [] {
    hw::store_shared(hw::dynamic_shared() + hw::lane() * 4, 1);
    hw::load_shared(hw::dynamic_shared() + 128 + hw::lane() * 4);
  });
  expect_text(failure, {"tests/sim/shared_memory_test.cpp:", "block 0 warp 0 lane", "load_shared",
                        "which nothing has written"});
}

TEST(SharedMemory, ReadAfterWriteOfAnotherThread) {
  const auto failure = expect_failure({Violation::kRace, Violation::kUninitialised}, {}, [] {
    if (hw::lane() == 3) hw::store_shared(hw::dynamic_shared(), 1);
    if (hw::lane() == 4) hw::load_shared(hw::dynamic_shared());
  });
  EXPECT_EQ(failure.actor.block, 0);
}

TEST(SharedMemory, WriteAfterReadOfAnotherThread) {
  expect_failure({Violation::kRace}, {}, [] {
    const uint32_t at = hw::dynamic_shared();
    if (hw::lane() == 0) hw::store_shared(at, 1);
    hw::warp_sync();
    hw::load_shared(at);  // many readers
    if (hw::lane() == 31) hw::store_shared(at, 2);
  });
  expect_success({}, [] {
    const uint32_t at = hw::dynamic_shared();
    if (hw::lane() == 0) hw::store_shared(at, 1);
    hw::warp_sync();
    hw::load_shared(at);
    hw::warp_sync();
    if (hw::lane() == 31) hw::store_shared(at, 2);
  });
}

TEST(SharedMemory, ShufflesOrderNothing) {
  expect_failure({Violation::kRace, Violation::kUninitialised}, {}, [] {
    hw::store_shared(hw::dynamic_shared() + hw::lane() * 4, 1);
    hw::shuffle(1, 0);
    hw::load_shared(hw::dynamic_shared() + (hw::lane() ^ 1) * 4);
  });
}

TEST(SharedMemory, Bounds) {
  expect_failure({Violation::kAddress}, {.shared_bytes = 256},
                 [] { hw::store_shared(hw::dynamic_shared() + 256, 1); });
  expect_failure({Violation::kAddress}, {}, [] { hw::store_shared(0, 1); });
  expect_failure({Violation::kAddress}, {},
                 [] { hw::store_shared_x2(hw::dynamic_shared() + 4, 1, 2); });
}

void read_words(uint32_t from, std::vector<uint32_t>& words) {
  for (uint32_t& word : words) {
    word = hw::load_shared(from);
    from += 4;
  }
}

TEST(SharedMemory, MatrixRoundTrip) {
  for (const sim::LaunchOptions& options : every_way()) {
    std::vector<uint32_t> seen(16 * 8);  // [16, 16] 16-bit elements
    run(
        {},
        [&] {
          const uint32_t at = hw::dynamic_shared(), l = hw::lane();
          const uint32_t row = at + l % 16 * 32 + l / 16 * 16;
          uint32_t value[4], back[4];
          for (uint32_t i = 0; i < 4; ++i) value[i] = i << 16 | l;
          hw::store_matrix_x4(row, value);
          hw::warp_sync();
          hw::load_matrix_x4(row, back);
          for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(back[i], value[i]);
          if (l == 0) read_words(at, seen);
        },
        options);
    // Matrix i stands at rows 8·(i % 2), columns 8·(i / 2).
    for (uint32_t r = 0; r < 16; ++r) {
      for (uint32_t w = 0; w < 8; ++w) {
        EXPECT_EQ(seen[r * 8 + w], (w / 4 * 2 + r / 8) << 16 | (r % 8 * 4 + w % 4));
      }
    }
  }
}

// Two matrices, one below the other: only the first 16 lanes' addresses count.
TEST(SharedMemory, TwoMatricesRoundTrip) {
  for (const sim::LaunchOptions& options : every_way()) {
    std::vector<uint32_t> seen(16 * 4);  // [16, 8] 16-bit elements
    run(
        {},
        [&] {
          const uint32_t at = hw::dynamic_shared(), l = hw::lane();
          const uint32_t row = l < 16 ? at + l * 16 : 3;
          const uint32_t value[2] = {l, 1 << 16 | l};
          uint32_t back[2];
          hw::store_matrix_x2(row, value);
          hw::warp_sync();
          hw::load_matrix_x2(row, back);
          for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(back[i], value[i]);
          if (l == 0) read_words(at, seen);
        },
        options);
    for (uint32_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i / 32 << 16 | i % 32);
  }
}

TEST(SharedMemory, MatrixRowsAligned) {
  expect_failure({Violation::kAddress}, {}, [] {
    const uint32_t value[4] = {};
    hw::store_matrix_x4(hw::dynamic_shared() + hw::lane() * 16 + 8, value);
  });
  expect_failure({Violation::kAddress}, {}, [] {
    uint32_t value[2];
    hw::load_matrix_x2(hw::dynamic_shared() + hw::lane() * 16 + 4, value);
  });
}

}  // namespace

}  // namespace coda::sim_test
