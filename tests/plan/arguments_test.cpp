// What tensor maps are made from, and the manifest of kernels. No GPU is needed.
#include <gtest/gtest.h>

#include "coda/catalogue/linear_kernels.h"
#include "coda/catalogue/linear_residual_norm_kernels.h"
#include "coda/catalogue/linear_swiglu_kernels.h"
#include "coda/catalogue/linear_weight_grad_kernels.h"
#include "coda/plan/map_request.h"

namespace coda::plan {
namespace {

template <class... K>
constexpr int count(KernelList<K...>) {
  return sizeof...(K);
}
template <class... P>
constexpr int count_all() {
  return (count(typename Manifest<P>::Kernels{}) + ...);
}

// Shared memory and threads' registers of a kernel are checked when its traits are made.
template <class... K>
int largest_shared(KernelList<K...>) {
  return std::max({K::kSharedBytes...});
}

TEST(Manifest, StaysSmall) {
  using namespace catalogue;
  const int kernels = count_all<Linear<bf16>, Linear<fp16>, Linear<float>, LinearResidualNorm<bf16>,
                                LinearResidualNormFolded<bf16>, LinearSwiglu<bf16>,
                                LinearWeightGrad<bf16>, LinearWeightGrad<float>>();
  EXPECT_LE(kernels, 280);
  EXPECT_GE(kernels, 30);
}

TEST(Manifest, FitsSharedMemory) {
  EXPECT_LE(largest_shared(Manifest<catalogue::Linear<bf16>>::Kernels{}), 232448);
  EXPECT_LE(largest_shared(Manifest<catalogue::LinearSwiglu<bf16>>::Kernels{}), 232448);
}

TEST(MapRequest, OneLineMayHaveAnyPitch) {
  MapRequest request{nullptr, DType::kBf16, 13, 1, 26, 64, 64};
  EXPECT_EQ(request.map_pitch(), 32);
  request.lines = 2;
  EXPECT_EQ(request.map_pitch(), 26);  // what validate_device() refuses
  EXPECT_FALSE(request.empty());
  request.columns = 0;
  EXPECT_TRUE(request.empty());
}

}  // namespace
}  // namespace coda::plan
