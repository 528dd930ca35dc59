// Tensors with guard bands: values go in and out, and every byte beside them is watched.
#include "coda/tools/guarded_tensor.h"

#include <gtest/gtest.h>

#include <cstring>

namespace coda::tools {
namespace {

using reference::Array;

TensorView view_of(DType type, int64_t rows, int64_t columns, int64_t ld, Major major) {
  const int64_t bytes = type == DType::kState ? 8 : dtype_bytes(type);
  return {nullptr, type, rows, columns, ld, major, bytes};
}

std::byte* memory_of(const GuardedTensor& tensor) {
  return static_cast<std::byte*>(const_cast<void*>(tensor.view().data));
}

TEST(GuardedTensor, HoldsEveryType) {
  for (const DType type :
       {DType::kBf16, DType::kFp16, DType::kFp32, DType::kInt32, DType::kInt64}) {
    for (const Major major : {Major::kRow, Major::kColumn}) {
      GuardedTensor tensor(view_of(type, 2, 3, 5, major), 3);
      tensor.copy_from(Array{{9, 9, 9, 9}, {9, 1, 2, -3}, {9, 4, 5, 6}}, 1, 1);
      EXPECT_EQ(tensor.damage(), "");
      EXPECT_EQ(tensor.get(0, 2), -3);
      Array out(2, 4);
      tensor.copy_to(out, 0, 1);
      EXPECT_EQ(out, (Array{{0, 1, 2, -3}, {0, 4, 5, 6}}));
    }
  }
}

TEST(GuardedTensor, LaysElementsOutAsItsViewSays) {
  GuardedTensor tensor(view_of(DType::kFp32, 2, 3, 4, Major::kColumn), 0);
  tensor.copy_from(Array{{1, 2, 3}, {4, 5, 6}}, 0, 0);
  const auto* data = static_cast<const float*>(tensor.view().data);
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(data[1], 4);
  EXPECT_EQ(data[9], 6);
}

TEST(GuardedTensor, NansGetTheSameBits) {
  for (const DType type : {DType::kBf16, DType::kFp16, DType::kFp32}) {
    GuardedTensor one(view_of(type, 1, 3, 3, Major::kRow), 0);
    GuardedTensor other(view_of(type, 1, 3, 3, Major::kRow), 0);
    for (GuardedTensor* tensor : {&one, &other}) tensor->set(0, 1, 7);
    const auto bytes = static_cast<size_t>(dtype_bytes(type));
    for (GuardedTensor* tensor : {&one, &other}) std::memset(memory_of(*tensor), 0xff, bytes);
    memory_of(other)[bytes - 1] = std::byte{0x7f};  // another sign
    for (GuardedTensor* tensor : {&one, &other}) tensor->unify_nans();
    EXPECT_EQ(std::memcmp(memory_of(one), memory_of(other), 2 * bytes), 0);
    EXPECT_EQ(one.get(0, 1), 7);
    EXPECT_TRUE(one.is_poison(0, 2));  // never written
  }
}

TEST(GuardedTensor, StatesHaveMembers) {
  GuardedTensor tensor(view_of(DType::kState, 1, 2, 2, Major::kRow), 0);
  EXPECT_EQ(tensor.members(), 2);
  tensor.set(0, 1, 5, 1);
  EXPECT_EQ(tensor.get(0, 1, 1), 5);
  EXPECT_FALSE(tensor.is_poison(0, 1));
  EXPECT_TRUE(tensor.is_poison(0, 0));
}

TEST(GuardedTensor, MisalignmentMovesTheFirstElement) {
  for (const int64_t misalignment : {0, 1, 7}) {
    const GuardedTensor tensor(view_of(DType::kBf16, 1, 8, 8, Major::kRow), misalignment);
    const auto address = reinterpret_cast<uintptr_t>(tensor.view().data);
    EXPECT_EQ(address % 64, static_cast<uintptr_t>(2 * misalignment));
  }
}

TEST(GuardedTensor, EmptyHasNoData) {
  const GuardedTensor tensor(view_of(DType::kFp32, 0, 3, 3, Major::kRow), 0);
  EXPECT_EQ(tensor.view().data, nullptr);
  EXPECT_EQ(tensor.damage(), "");
}

TEST(GuardedTensor, UnwrittenElementsAreKnown) {
  for (const DType type : {DType::kBf16, DType::kFp16, DType::kFp32}) {
    GuardedTensor tensor(view_of(type, 2, 2, 2, Major::kRow), 1);
    EXPECT_TRUE(tensor.is_poison(1, 1));
    EXPECT_TRUE(std::isnan(tensor.get(1, 1)));
    tensor.set(1, 1, std::nan(""));  // a computed NaN is something written
    EXPECT_FALSE(tensor.is_poison(1, 1));
    tensor.poison();
    EXPECT_TRUE(tensor.is_poison(1, 1));
  }
}

TEST(GuardedTensor, DamageBesideItIsFound) {
  const TensorView view = view_of(DType::kBf16, 2, 3, 5, Major::kRow);
  const auto damaged = [&](int64_t element) {
    GuardedTensor tensor(view, 2);
    tensor.copy_from(Array(2, 3, 1.0), 0, 0);
    std::memset(memory_of(tensor) + 2 * element, 0, 1);  // a single byte
    return tensor.damage();
  };
  EXPECT_EQ(damaged(0), "");
  EXPECT_EQ(damaged(7), "");
  EXPECT_EQ(damaged(-1), "1 element(s) before it overwritten");
  EXPECT_EQ(damaged(-64), "64 element(s) before it overwritten");
  EXPECT_EQ(damaged(3), "padding overwritten, 1 element(s) behind line 0");
  EXPECT_EQ(damaged(4), "padding overwritten, 2 element(s) behind line 0");
  EXPECT_EQ(damaged(8), "1 element(s) behind it overwritten");
  EXPECT_EQ(damaged(71), "64 element(s) behind it overwritten");
}

}  // namespace
}  // namespace coda::tools
