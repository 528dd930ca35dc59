// What the catalogue holds, and how names are looked up.
#include "coda/catalogue/operation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "coda/core/error.h"

namespace coda::catalogue {
namespace {

std::string error_of(auto&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Operation, HasTheFirstStems) {
  for (const char* name : {"linear", "linear_residual_norm", "linear_swiglu"}) {
    EXPECT_EQ(find_operation(name).name, name);
  }
}

TEST(Operation, EntriesAreComplete) {
  std::set<std::string> names;
  for (const Operation* operation : operations()) {
    EXPECT_TRUE(names.insert(operation->name).second) << operation->name;
    EXPECT_FALSE(operation->formula.empty());
    EXPECT_FALSE(operation->summary.empty());
    EXPECT_NE(operation->reference, nullptr);
    std::set<std::string> variants;
    for (const Variant& variant : operation->variants) {
      EXPECT_TRUE(variants.insert(variant.name).second) << variant.name;
      EXPECT_EQ(variant.program.name, operation->name);
      EXPECT_NE(variant.run_cpu, nullptr);
    }
    EXPECT_FALSE(variants.empty());
    for (const std::string& exact : operation->exact) {  // an output of some variant
      EXPECT_TRUE(std::ranges::any_of(operation->variants,
                                      [&](const Variant& variant) {
                                        const auto& ports = variant.program.ports;
                                        const auto port =
                                            std::ranges::find(ports, exact, &PortView::name);
                                        return port != ports.end() && !is_input(port->kind);
                                      }))
          << operation->name << " " << exact;
    }
  }
}

TEST(Operation, VariantsHaveTheirTypes) {
  const Variant& mixed = find_variant(find_operation("linear"), "bf16-fp32");
  EXPECT_EQ(mixed.operand, DType::kBf16);
  EXPECT_EQ(mixed.program.ports.back().dtype, DType::kFp32);
  const Variant& swiglu = find_variant(find_operation("linear_swiglu"), "fp16");
  EXPECT_EQ(swiglu.operand, DType::kFp16);
  EXPECT_EQ(swiglu.parameters, (std::vector<std::string>{"rstd.width", "rstd.epsilon"}));
}

TEST(Operation, UnknownNameSuggestsTheNearest) {
  const std::string typo = error_of([] { find_operation("linear_swigl"); });
  EXPECT_NE(typo.find("no operation 'linear_swigl'; did you mean 'linear_swiglu'?"),
            std::string::npos)
      << typo;
  const std::string far = error_of([] { find_operation("conv"); });
  EXPECT_EQ(far.find("did you mean"), std::string::npos) << far;
  EXPECT_NE(far.find("linear_residual_norm"), std::string::npos) << far;
  const std::string variant = error_of([] { find_variant(find_operation("linear"), "bf61"); });
  EXPECT_NE(variant.find("no variant of linear 'bf61'; did you mean 'bf16'?"), std::string::npos)
      << variant;
}

}  // namespace
}  // namespace coda::catalogue
