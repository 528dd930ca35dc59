// The copy engine: swizzles, bounds, groups of stores, and what breaks its rules.
#include <numeric>

#include "tests/sim/expect_failure.h"

namespace coda::sim_test {

namespace {

using sim::Violation;

constexpr uint32_t kBarrier = 8192;  // after the boxes

uint32_t make_barrier() {
  const uint32_t barrier = hw::dynamic_shared() + kBarrier;
  if (hw::thread_index() == 0) {
    hw::mbarrier_init(barrier, 1);
    hw::mbarrier_init_fence();
  }
  hw::block_sync();
  return barrier;
}

// [rows, columns] 16-bit numbers 1, 2, ...
struct Matrix16 {
  uint32_t rows, columns;
  std::vector<uint16_t> storage;
  Matrix16(uint32_t rows, uint32_t columns)
      : rows(rows), columns(columns), storage(rows * columns + 8) {
    std::iota(storage.begin(), storage.end(), uint16_t{1});
  }
  uint16_t* data() {
    return storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / 2;
  }
  uint16_t at(int64_t row, int64_t column) {
    if (row < 0 || column < 0 || row >= rows || column >= columns) return 0;
    return data()[row * columns + column];
  }
};

void check_load(uint32_t swizzle_bytes, uint32_t box_columns, int c0, int c1) {
  constexpr uint32_t kRows = 16;
  Matrix16 matrix(20, 80);
  sim::TensorMap map;
  sim::encode_tensor_map(map, 2, matrix.data(), 80, 20, 160, box_columns, kRows, swizzle_bytes);
  const uint32_t bytes = kRows * box_columns * 2;
  for (const sim::LaunchOptions& options : every_way()) {
    std::vector<uint32_t> words(bytes / 4);
    run(
        {},
        [&] {
          const uint32_t barrier = make_barrier(), to = hw::dynamic_shared();
          if (hw::lane() == 0) {
            hw::mbarrier_arrive_expect(barrier, bytes);
            hw::tma_load(to, &map, barrier, c0, c1);
          }
          hw::mbarrier_wait(barrier, 0);
          for (uint32_t i = hw::lane(); i < words.size(); i += 32) {
            words[i] = hw::load_shared(to + i * 4);
          }
        },
        options);
    // Piece p of 16 bytes of line r stands at p ^ (128-byte line of it, modulo the span).
    const uint32_t span = swizzle_bytes == 0 ? 1 : swizzle_bytes / 16;
    for (uint32_t r = 0; r < kRows; ++r) {
      for (uint32_t c = 0; c < box_columns; ++c) {
        const uint32_t byte = r * box_columns * 2 + c * 2, line = byte / 128;
        const uint32_t piece = byte / 16 ^ line % span;
        const uint32_t word = words[piece * 4 + byte % 16 / 4];
        ASSERT_EQ(word >> (byte % 4 * 8) & 0xffff, matrix.at(c1 + int(r), c0 + int(c)))
            << "swizzle " << swizzle_bytes << " row " << r << " column " << c;
      }
    }
  }
}

TEST(Tma, LoadsEverySwizzle) {
  check_load(128, 64, 0, 0);
  check_load(64, 32, 8, 2);
  check_load(32, 16, 16, 0);
  check_load(0, 64, 0, 0);
  check_load(0, 24, 8, 1);
}

TEST(Tma, OutOfBoundsIsZero) {
  check_load(128, 64, 40, 10);
  check_load(128, 64, -3, -5);
  check_load(64, 32, 79, 19);
  check_load(32, 16, 1000, 0);
  check_load(0, 64, -70, 0);
}

TEST(Tma, StoresWhatIsInside) {
  for (const auto& place : {std::pair{0, 0}, {24, 14}, {-4, -2}, {500, 0}}) {
    const int c0 = place.first, c1 = place.second;
    for (const sim::LaunchOptions& options : every_way()) {
      Matrix16 matrix(20, 40);
      Matrix16 old(20, 40);
      sim::TensorMap map;
      sim::encode_tensor_map(map, 2, matrix.data(), 40, 20, 80, 32, 16, 64);
      run(
          {},
          [&] {
            const uint32_t from = hw::dynamic_shared();
            for (uint32_t i = hw::lane(); i < 256; i += 32) {
              const uint32_t word = i << 17 | 0x10000 | i << 1 | 0x8000;
              hw::store_shared(from + ((i * 4) ^ ((i * 4 >> 7 & 3) << 4)), word | 0x80000000u);
            }
            hw::fence_proxy_async();
            hw::warp_sync();
            if (hw::lane() == 0) {
              hw::tma_store(&map, from, c0, c1);
              hw::bulk_commit();
              hw::bulk_wait();
            }
          },
          options);
      for (int r = 0; r < 20; ++r) {
        for (int c = 0; c < 40; ++c) {
          const int x = c - c0, y = r - c1;
          const bool inside = x >= 0 && y >= 0 && x < 32 && y < 16;
          ASSERT_EQ(matrix.at(r, c), inside ? 0x8000 + y * 32 + x : old.at(r, c));
        }
      }
    }
  }
}

struct Boxes {
  Matrix16 matrix{64, 64};
  sim::TensorMap map;
  Boxes() { sim::encode_tensor_map(map, 2, matrix.data(), 64, 64, 128, 64, 16, 128); }
};

TEST(Tma, LoadRules) {
  Boxes boxes;
  const auto load = [&](uint32_t offset, const sim::TensorMap* map) {
    return [&boxes, offset, map] {
      const uint32_t barrier = make_barrier();
      if (hw::lane() != 0) return;
      hw::mbarrier_arrive_expect(barrier, boxes.map.box_bytes());
      hw::tma_load(hw::dynamic_shared() + offset, map, barrier, 0, 0);
      hw::mbarrier_wait(barrier, 0);
    };
  };
  expect_success({}, load(0, &boxes.map));
  expect_failure({Violation::kAddress}, {}, load(64, &boxes.map));
  expect_failure({Violation::kAddress}, {}, load(15 * 1024, &boxes.map));
  expect_failure({Violation::kBarrier}, {},
                 load(kBarrier - 1024, &boxes.map));  // over the mbarrier
  const sim::TensorMap fresh;
  expect_failure({Violation::kTensorMap}, {}, load(0, &fresh));
}

TEST(Tma, InFlightMemoryIsLocked) {
  Boxes boxes;
  const auto kernel = [&](bool write) {
    return [&boxes, write] {
      const uint32_t barrier = make_barrier(), to = hw::dynamic_shared();
      if (hw::lane() == 0) {
        hw::mbarrier_arrive_expect(barrier, boxes.map.box_bytes());
        hw::tma_load(to, &boxes.map, barrier, 0, 0);
        if (write) {
          hw::store_shared(to + 512, 1);
        } else {
          hw::load_shared(to + 512);
        }
        hw::mbarrier_wait(barrier, 0);
      }
    };
  };
  const auto failure = expect_failure({Violation::kInFlight, Violation::kRace}, {}, kernel(false));
  expect_text(failure, {"load_shared", "the load issued at tests/sim/tma_test.cpp:"});
  expect_failure({Violation::kInFlight, Violation::kRace}, {}, kernel(true));
}

TEST(Tma, WaitOfAnotherThreadIsNotEnough) {
  Boxes boxes;
  expect_failure({Violation::kInFlight, Violation::kRace, Violation::kUninitialised}, {}, [&] {
    const uint32_t barrier = make_barrier(), to = hw::dynamic_shared();
    if (hw::lane() == 0) {
      hw::mbarrier_arrive_expect(barrier, boxes.map.box_bytes());
      hw::tma_load(to, &boxes.map, barrier, 0, 0);
      hw::mbarrier_wait(barrier, 0);
    }
    if (hw::lane() == 1) hw::load_shared(to);
  });
}

TEST(Tma, LoadNobodyWaitsFor) {
  Boxes boxes;
  expect_failure({Violation::kLeftover}, {}, [&] {
    const uint32_t barrier = make_barrier();
    if (hw::lane() == 0) {
      hw::mbarrier_arrive_expect(barrier, boxes.map.box_bytes());
      hw::tma_load(hw::dynamic_shared(), &boxes.map, barrier, 0, 0);
    }
  });
}

// Lane 0 stores what all lanes wrote.
void store_kernel(const Boxes& boxes, bool fence, bool sync, bool commit, bool wait) {
  const uint32_t from = hw::dynamic_shared();
  for (uint32_t i = hw::lane(); i < 512; i += 32) hw::store_shared(from + i * 4, i);
  if (fence) hw::fence_proxy_async();
  if (sync) hw::warp_sync();
  if (hw::lane() == 0) {
    hw::tma_store(&boxes.map, from, 0, 0);
    if (commit) hw::bulk_commit();
    if (wait) hw::bulk_wait_read<0>();
    hw::store_shared(from, 7);
  }
}

TEST(Tma, StoreRules) {
  Boxes boxes;
  expect_success({}, [&] { store_kernel(boxes, true, true, true, true); });
  expect_failure({Violation::kProxy}, {}, [&] { store_kernel(boxes, false, true, true, true); });
  expect_failure({Violation::kRace, Violation::kUninitialised}, {},
                 [&] { store_kernel(boxes, true, false, true, true); });
  expect_failure({Violation::kRace}, {}, [&] { store_kernel(boxes, true, true, true, false); });
  expect_failure({Violation::kRace}, {}, [&] { store_kernel(boxes, true, true, false, true); });
}

// The fence has to come after the write, and before what orders the two threads.
TEST(Tma, FenceInTheWrongPlace) {
  Boxes boxes;
  const auto kernel = [&](bool before, bool by_reader) {
    return [&boxes, before, by_reader] {
      const uint32_t from = hw::dynamic_shared();
      if (before) hw::fence_proxy_async();
      for (uint32_t i = hw::lane(); i < 512; i += 32) hw::store_shared(from + i * 4, i);
      hw::warp_sync();
      if (hw::lane() == 0) {
        if (by_reader) hw::fence_proxy_async();
        hw::tma_store(&boxes.map, from, 0, 0);
        hw::bulk_commit();
        hw::bulk_wait();
      } else {
        hw::fence_proxy_async();
      }
    };
  };
  expect_failure({Violation::kProxy}, {}, kernel(true, false));
  expect_failure({Violation::kProxy}, {}, kernel(false, true));
}

TEST(Tma, OldestGroupsComeFirst) {
  Boxes boxes;
  const auto kernel = [&](bool enough) {
    return [&boxes, enough] {
      if (hw::lane() != 0) return;
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t from = hw::dynamic_shared() + i % 2 * 2048;
        if (i >= 2) {
          if (enough) {
            hw::bulk_wait_read<1>();
          } else {
            hw::bulk_wait_read<2>();
          }
        }
        for (uint32_t j = 0; j < 512; ++j) hw::store_shared(from + j * 4, i);
        hw::fence_proxy_async();
        hw::tma_store(&boxes.map, from, 0, int(i) * 16);
        hw::bulk_commit();
      }
      hw::bulk_wait();
    };
  };
  expect_success({}, kernel(true));
  expect_failure({Violation::kRace}, {}, kernel(false));
}

TEST(Tma, EncodingRules) {
  alignas(16) static uint16_t data[4096];
  sim::TensorMap map;
  const auto encode = [&](uint32_t element, const void* base, uint64_t columns, uint64_t pitch,
                          uint32_t box_columns, uint32_t box_rows, uint32_t swizzle) {
    sim::encode_tensor_map(map, element, base, columns, 16, pitch, box_columns, box_rows, swizzle);
  };
  EXPECT_NO_THROW(encode(2, data, 64, 128, 64, 16, 128));
  EXPECT_THROW(encode(3, data, 64, 128, 64, 16, 128), Error);
  EXPECT_THROW(encode(2, data + 1, 64, 128, 64, 16, 128), Error);
  EXPECT_THROW(encode(2, data, 0, 128, 64, 16, 128), Error);
  EXPECT_THROW(encode(2, data, 60, 120, 64, 16, 128), Error);
  EXPECT_THROW(encode(2, data, 65, 128, 64, 16, 128), Error);
  EXPECT_THROW(encode(2, data, 64, 128, 64, 257, 128), Error);
  EXPECT_THROW(encode(2, data, 64, 128, 63, 16, 128), Error);
  EXPECT_THROW(encode(2, data, 64, 128, 64, 16, 64), Error);
  EXPECT_THROW(encode(2, data, 64, 128, 64, 16, 100), Error);
}

}  // namespace

}  // namespace coda::sim_test
