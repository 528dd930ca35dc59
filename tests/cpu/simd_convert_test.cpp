// SIMD conversions of bf16 and fp16 give the bits of the scalar ones, NaN included.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/cpu/simd_math_table.h"

namespace coda::cpu {
namespace {

constexpr int64_t kPatterns = 0x10000;

class SimdConvertTest : public testing::TestWithParam<Isa> {
 protected:
  SimdMathFunctions math = simd_math(GetParam());

  template <class T, class Load>
  static void expect_loads_equal(Load load) {
    std::vector<T> patterns(kPatterns);
    std::vector<float> values(kPatterns);
    for (int64_t i = 0; i < kPatterns; ++i) patterns[i] = {static_cast<uint16_t>(i)};
    load(patterns.data(), values.data(), kPatterns);
    for (int64_t i = 0; i < kPatterns; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(to_float(patterns[i])))
          << "pattern " << i;
    }
  }
  template <class T, class Store>
  static void expect_stores_equal(const std::vector<float>& values, Store store) {
    std::vector<T> results(values.size());
    store(values.data(), results.data(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(results[i].bits, from_float<T>(values[i]).bits)
          << "float " << std::bit_cast<uint32_t>(values[i]);
    }
  }
};

// Every 16-bit value, the midpoint above it and the floats beside that, both signs.
template <class T>
std::vector<float> around_midpoints() {
  std::vector<float> result;
  for (uint32_t i = 0; i + 1 < 0x8000u; ++i) {
    const float here = to_float(T{static_cast<uint16_t>(i)});
    const float next = to_float(T{static_cast<uint16_t>(i + 1)});
    const auto middle = static_cast<float>((double{here} + next) / 2);
    for (const float value :
         {here, middle, std::nextafter(middle, here), std::nextafter(middle, next)}) {
      result.push_back(value);
      result.push_back(-value);
    }
  }
  return result;
}

// All exponents and NaN payloads: 2^32 / 1009 patterns.
std::vector<float> all_patterns() {
  std::vector<float> result;
  for (uint64_t bits = 0; bits < 0x100000000u; bits += 1009) {
    result.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (const uint32_t bits : {0x7f800000u, 0xff800000u, 0x7f800001u, 0xff800001u, 0x7fffffffu,
                              0x7fc00000u, 0x477fefffu, 0x477ff000u, 0x7f7fffffu, 0x1u}) {
    result.push_back(std::bit_cast<float>(bits));
  }
  return result;
}

TEST_P(SimdConvertTest, LoadsOfEveryPattern) {
  expect_loads_equal<bf16>(math.load_bf16);
  expect_loads_equal<fp16>(math.load_fp16);
}

TEST_P(SimdConvertTest, StoresAroundEveryMidpoint) {
  expect_stores_equal<bf16>(around_midpoints<bf16>(), math.store_bf16);
  expect_stores_equal<fp16>(around_midpoints<fp16>(), math.store_fp16);
}

TEST_P(SimdConvertTest, StoresOfAllMagnitudesAndNans) {
  const std::vector<float> values = all_patterns();
  expect_stores_equal<bf16>(values, math.store_bf16);
  expect_stores_equal<fp16>(values, math.store_fp16);
}

std::string isa_of(const testing::TestParamInfo<Isa>& info) { return isa_name(info.param); }
INSTANTIATE_TEST_SUITE_P(EveryIsa, SimdConvertTest, testing::ValuesIn(available_isas()), isa_of);

}  // namespace
}  // namespace coda::cpu
