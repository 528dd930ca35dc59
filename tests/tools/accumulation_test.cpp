// The yardstick of a check adds up as the backend does.
#include <gtest/gtest.h>

#include "coda/catalogue/linear_reference.h"
#include "coda/reference/tensor_core.h"
#include "coda/tools/check_backend.h"

namespace coda::tools {
namespace {

using reference::Array;
using reference::Arrays;

struct Seen {
  int fp64 = 0, fp32 = 0, tensor_core = 0;
};
Seen seen;

// The formula of linear, which looks at how its product is added up.
Arrays watched_reference(const Arrays& in, const reference::Rounding& round) {
  const Array &a = in.at("A"), &b = in.at("B");
  const Array product = round.matmul(a, b), exact = matmul(a, b);
  const Array by_fp32 = matmul_fp32(a, b), by_cores = matmul_tensor_core(a, b, DType::kBf16);
  // Of few products all three may be the same.
  if (exact != by_fp32 && exact != by_cores && by_fp32 != by_cores) {
    seen.fp64 += product == exact ? 1 : 0;
    seen.fp32 += product == by_fp32 ? 1 : 0;
    seen.tensor_core += product == by_cores ? 1 : 0;
  }
  return catalogue::linear_reference(in, round);
}

Seen check_linear(reference::Accumulation accumulation) {
  seen = {};
  catalogue::Operation operation = catalogue::find_operation("linear");
  operation.reference = &watched_reference;
  const catalogue::Operation* const operations[] = {&operation};
  const CheckOptions options{.cases = 12, .variant = "bf16"};
  CheckBackend backend = make_backend(options);
  backend.accumulation = accumulation;
  check(operations, options, backend);
  return seen;
}

TEST(Accumulation, IsThatOfTheBackend) {
  const Seen cores = check_linear(reference::Accumulation::kTensorCore);
  EXPECT_GT(cores.fp64, 0);
  EXPECT_GT(cores.tensor_core, 0);
  EXPECT_EQ(cores.fp32, 0);
  const Seen plain = check_linear(reference::Accumulation::kFp32);
  EXPECT_GT(plain.fp64, 0);
  EXPECT_GT(plain.fp32, 0);
  EXPECT_EQ(plain.tensor_core, 0);
}

TEST(Accumulation, OfTheHostIsFp32) {
  EXPECT_EQ(make_backend({.backend = "cpu"}).accumulation, reference::Accumulation::kFp32);
  EXPECT_EQ(make_backend({.backend = "sim"}).accumulation, reference::Accumulation::kFp32);
}

}  // namespace
}  // namespace coda::tools
