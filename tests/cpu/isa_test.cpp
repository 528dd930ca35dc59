// Which instruction sets there are, by what name, and which one is taken.
#include "coda/cpu/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "coda/core/error.h"

namespace coda::cpu {
namespace {

TEST(IsaTest, PortableIsAlwaysThereAndWiderOnesNeedTheNarrower) {
  EXPECT_TRUE(has_isa(Isa::kPortable));
  EXPECT_TRUE(has_isa(Isa::kAvx2) || !has_isa(Isa::kAvx512));
  EXPECT_TRUE(has_isa(Isa::kAvx512) || !has_bf16_dot());
  EXPECT_FALSE(has_isa(static_cast<Isa>(kIsaCount)));
  EXPECT_FALSE(has_isa(static_cast<Isa>(-1)));
}

TEST(IsaTest, AvailableOnesComeNarrowestFirst) {
  const std::vector<Isa> available = available_isas();
  ASSERT_FALSE(available.empty());
  EXPECT_TRUE(std::ranges::is_sorted(available));
  for (const Isa isa : available) EXPECT_TRUE(has_isa(isa));
  for (int i = 0; i < kIsaCount; ++i) {
    const auto isa = static_cast<Isa>(i);
    EXPECT_EQ(std::ranges::count(available, isa), has_isa(isa) ? 1 : 0);
  }
}

TEST(IsaTest, NamesGoBothWays) {
  for (const Isa isa : available_isas()) EXPECT_EQ(parse_isa(isa_name(isa)), isa);
  EXPECT_STREQ(isa_name(Isa::kPortable), "portable");
  EXPECT_STREQ(isa_name(Isa::kAvx2), "avx2");
  EXPECT_STREQ(isa_name(Isa::kAvx512), "avx512");
}

TEST(IsaTest, UnknownNamesListTheAvailable) {
  for (const char* name : {"", "avx1024", "AVX2"}) {
    try {
      parse_isa(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("'" + std::string(name) + "'"), std::string::npos) << message;
      EXPECT_NE(message.find("portable"), std::string::npos) << message;
    }
  }
}

// default_isa() looks once: each case in a process of its own.
void exit_with_default(const char* name) {
  setenv("CODA_ISA", name, 1);
  try {
    std::exit(static_cast<int>(default_isa()));
  } catch (const Error& error) {
    std::fputs(error.what(), stderr);
    std::exit(100);
  }
}

TEST(IsaDeathTest, EnvironmentChoosesTheDefault) {
  for (const Isa isa : available_isas()) {
    EXPECT_EXIT(exit_with_default(isa_name(isa)), testing::ExitedWithCode(static_cast<int>(isa)),
                "");
  }
  EXPECT_EXIT(exit_with_default(""),
              testing::ExitedWithCode(static_cast<int>(available_isas().back())), "");
  EXPECT_EXIT(exit_with_default("sse"), testing::ExitedWithCode(100), "'sse' is not available");
}

}  // namespace
}  // namespace coda::cpu
