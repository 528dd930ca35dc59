// Warpgroup multiplication: all widths, majors and types on small integers, exactly; its rules.
#include "tests/sim/expect_failure.h"

namespace coda::sim_test {

namespace {

using hw::Contiguous;
using sim::Violation;

constexpr uint32_t kBytesA = 64 * 128, kOffsetB = kBytesA, kBytesB = 256 * 128;

int small_integer(uint32_t seed) { return int((seed * 2654435761u) >> 24) % 9 - 4; }
int value_a(uint32_t row, uint32_t k) { return small_integer(row * 64 + k + 1); }
int value_b(uint32_t row, uint32_t k) { return small_integer(row * 64 + k + 100000); }

// All threads write an operand of rows × 64 as TMA boxes would leave it.
template <class T, Contiguous kContiguous, class Value>
void write_operand(uint32_t at, uint32_t rows, Value value) {
  for (uint32_t i = hw::thread_index(); i < rows * 32; i += 128) {
    if constexpr (kContiguous == Contiguous::kContraction) {
      const uint32_t row = i / 32, k = i % 32 * 2, address = at + row * 128 + k * 2;
      hw::store_shared(sim::swizzle(address, 128),
                       hw::pack<T>(float(value(row, k)), float(value(row, k + 1))));
    } else {
      const uint32_t row = i % (rows / 2) * 2, k = i / (rows / 2);
      const uint32_t address = at + row / 64 * hw::kRowsBoxBytes + k * 128 + row % 64 * 2;
      hw::store_shared(sim::swizzle(address, 128),
                       hw::pack<T>(float(value(row, k)), float(value(row + 1, k))));
    }
  }
}

template <class T, int kColumns, Contiguous kA, Contiguous kB>
void check(const sim::LaunchOptions& options) {
  constexpr uint32_t kRowsB = kB == Contiguous::kRows ? (kColumns + 63) / 64 * 64 : kColumns;
  std::vector<float> out(64 * kColumns);
  run(
      {.threads = 128, .shared_bytes = kBytesA + kBytesB},
      [&] {
        const uint32_t a = hw::dynamic_shared(), b = a + kOffsetB;
        write_operand<T, kA>(a, 64, value_a);
        write_operand<T, kB>(b, kRowsB, value_b);
        hw::fence_proxy_async();
        hw::block_sync();
        constexpr uint32_t kStepA = kA == Contiguous::kContraction ? 32 : 16 * 128;
        constexpr uint32_t kStepB = kB == Contiguous::kContraction ? 32 : 16 * 128;
        float d[kColumns / 2];
        for (float& value : d) value = 1000;
        hw::wgmma_fence();
        for (uint32_t k = 0; k < 4; ++k) {
          hw::template wgmma<T, kColumns, kA, kB>(d, hw::wgmma_descriptor<kA>(a + k * kStepA),
                                                  hw::wgmma_descriptor<kB>(b + k * kStepB), k > 0);
        }
        hw::wgmma_commit();
        for (float value : d) EXPECT_TRUE(std::isnan(value));  // in flight
        hw::wgmma_wait<0>();
        const uint32_t t = hw::thread_index();
        for (uint32_t i = 0; i < kColumns / 2; ++i) {
          const uint32_t row = t / 32 * 16 + t % 32 / 4 + (i & 2) * 4;
          out[row * kColumns + i / 4 * 8 + t % 4 * 2 + (i & 1)] = d[i];
        }
      },
      options);
  for (uint32_t i = 0; i < 64; ++i) {
    for (uint32_t j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (uint32_t k = 0; k < 64; ++k) sum += double(value_a(i, k)) * value_b(j, k);
      ASSERT_EQ(out[i * kColumns + j], sum) << kColumns << " columns, row " << i << " column " << j;
    }
  }
}

template <class T, int kColumns>
void check_majors() {
  constexpr auto kK = Contiguous::kContraction, kR = Contiguous::kRows;
  check<T, kColumns, kK, kK>({.seed = 1});
  check<T, kColumns, kK, kR>({.seed = 2});
  check<T, kColumns, kR, kK>({.policy = sim::Policy::kLazy});
  check<T, kColumns, kR, kR>({.seed = 3});
}

TEST(Wgmma, EveryWidthMajorAndType) {
  [&]<int... kEighths>(std::integer_sequence<int, kEighths...>) {
    (check<bf16, (kEighths + 1) * 8, Contiguous::kContraction, Contiguous::kContraction>({}), ...);
  }(std::make_integer_sequence<int, 32>{});
  check_majors<bf16, 64>();
  check_majors<bf16, 96>();
  check_majors<bf16, 256>();
  check_majors<fp16, 80>();
  check_majors<fp16, 128>();
}

struct Rules {
  bool proxy_fence = true, fence = true, commit = true, wait = true, skip_one_warp = false,
       overwrite = false, other_operand = false;
};

void multiply_once(const Rules& rules) {
  const uint32_t a = hw::dynamic_shared(), b = a + kOffsetB;
  constexpr auto kK = Contiguous::kContraction;
  write_operand<bf16, kK>(a, 64, value_a);
  write_operand<bf16, kK>(b, 64, value_b);
  if (rules.proxy_fence) hw::fence_proxy_async();
  hw::block_sync();
  float d[32];
  if (rules.fence) hw::wgmma_fence();
  const uint32_t warp = hw::thread_index() / 32;
  if (!rules.skip_one_warp || warp != 2) {
    const uint32_t more = rules.other_operand && warp == 1 ? 32 : 0;
    hw::wgmma<bf16, 64, kK, kK>(d, hw::wgmma_descriptor<kK>(a + more), hw::wgmma_descriptor<kK>(b),
                                false);
  }
  if (rules.commit) hw::wgmma_commit();
  if (rules.overwrite) hw::store_shared(a + hw::thread_index() * 4, 0);
  if (rules.wait) hw::wgmma_wait<0>();
}

TEST(Wgmma, Rules) {
  const Shape shape{.threads = 128, .shared_bytes = kBytesA + kBytesB};
  const auto with = [](Rules rules) { return [rules] { multiply_once(rules); }; };
  expect_success(shape, with({}));
  expect_failure({Violation::kProxy}, shape, with({.proxy_fence = false}));
  expect_failure({Violation::kMultiply}, shape, with({.fence = false}));
  expect_failure({Violation::kLeftover}, shape, with({.commit = false}));
  expect_failure({Violation::kLeftover}, shape, with({.wait = false}));
  expect_failure({Violation::kDeadlock, Violation::kLeftover}, shape,
                 with({.skip_one_warp = true}));
  expect_failure({Violation::kRace}, shape, with({.overwrite = true}));
  expect_failure({Violation::kDivergence}, shape, with({.other_operand = true}));
}

TEST(Wgmma, OperandsHaveToBeThere) {
  constexpr auto kK = Contiguous::kContraction;
  const Shape shape{.threads = 128, .shared_bytes = kBytesA + kBytesB};
  const auto multiply = [](uint64_t a, uint64_t b) {
    float d[32];
    hw::wgmma_fence();
    hw::wgmma<bf16, 64, kK, kK>(d, a, b, false);
    hw::wgmma_commit();
    hw::wgmma_wait<0>();
  };
  expect_failure({Violation::kUninitialised}, shape, [&] {
    const uint64_t a = hw::wgmma_descriptor<kK>(hw::dynamic_shared());
    multiply(a, a);
  });
  expect_failure({Violation::kAddress}, shape, [&] {
    const uint64_t a = hw::wgmma_descriptor<kK>(hw::dynamic_shared() + kBytesA + kBytesB);
    multiply(a, a);
  });
  expect_failure({Violation::kMultiply}, shape, [&] { multiply(0, 0); });
}

// Two groups in flight on the same accumulators: the registers come back with the last one.
TEST(Wgmma, GroupsChain) {
  for (const sim::LaunchOptions& options : every_way()) {
    run(
        {.threads = 128, .shared_bytes = kBytesA + kBytesB},
        [] {
          const uint32_t a = hw::dynamic_shared(), b = a + kOffsetB;
          constexpr auto kK = Contiguous::kContraction;
          write_operand<bf16, kK>(a, 64, value_a);
          write_operand<bf16, kK>(b, 64, value_b);
          hw::fence_proxy_async();
          hw::block_sync();
          float d[32];
          hw::wgmma_fence();
          for (uint32_t k = 0; k < 4; ++k) {
            hw::wgmma<bf16, 64, kK, kK>(d, hw::wgmma_descriptor<kK>(a + k * 32),
                                        hw::wgmma_descriptor<kK>(b + k * 32), k > 0);
            hw::wgmma_commit();
            hw::wgmma_wait<1>();
            EXPECT_TRUE(std::isnan(d[0]));
          }
          hw::wgmma_wait<0>();
          const uint32_t t = hw::thread_index(), row = t / 32 * 16 + t % 32 / 4;
          double sum = 0;
          for (uint32_t k = 0; k < 64; ++k) sum += value_a(row, k) * value_b(t % 4 * 2, k);
          EXPECT_EQ(d[0], sum);
        },
        options);
  }
}

}  // namespace

}  // namespace coda::sim_test
