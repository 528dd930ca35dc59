// What tensor maps are made from, and the manifest of kernels. No GPU is needed.
#include <gtest/gtest.h>

#include "coda/catalogue/linear_kernels.h"
#include "coda/catalogue/linear_norm_backward_kernels.h"
#include "coda/catalogue/linear_residual_norm_kernels.h"
#include "coda/catalogue/linear_swiglu_backward_kernels.h"
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
  const int kernels = count_all<
      Linear<bf16>, Linear<fp16>, Linear<float>, LinearResidualNorm<bf16>, LinearResidualNorm<fp16>,
      LinearResidualNorm<bf16, float>, LinearResidualNormFolded<bf16>,
      LinearResidualNormFolded<fp16>, LinearResidualNormFolded<bf16, float>, LinearSwiglu<bf16>,
      LinearSwiglu<fp16>, LinearSwigluBackward<bf16>, LinearNormBackward<bf16>,
      LinearNormBackwardFolded<bf16>, LinearWeightGrad<bf16>, LinearWeightGrad<fp16>,
      LinearWeightGrad<float>, LinearWeightGradFolded<bf16>, LinearWeightGradFolded<float, bf16>>();
  EXPECT_LE(kernels, 280);
  EXPECT_GE(kernels, 30);
}

TEST(Manifest, FitsSharedMemory) {
  EXPECT_LE(largest_shared(Manifest<catalogue::Linear<bf16>>::Kernels{}), 232448);
  EXPECT_LE(largest_shared(Manifest<catalogue::LinearSwiglu<bf16>>::Kernels{}), 232448);
}

// Shared memory in place: an output takes an input's only where their elements have one size.
TEST(Staging, OutputsOfAnotherSizeLieBehind) {
  using Folded = catalogue::LinearWeightGradFolded<float, bf16>;
  constexpr int kWeight = 2, kOut = 4, kC = 1;
  const auto without = epilogue::stage_ports<Folded>(0, 128, 128, 32, true);
  EXPECT_EQ(without.tile_offset[kWeight], 0);
  EXPECT_EQ(without.tile_offset[kOut], 64 * 32 * 2);
  EXPECT_EQ(without.input_set, 64 * 32 * (2 + 4));
  const auto with = epilogue::stage_ports<Folded>(1 << kC, 128, 128, 32, true);
  EXPECT_EQ(with.tile_offset[kOut], with.tile_offset[kC]);
  EXPECT_EQ(with.input_set, 64 * 32 * (4 + 2));
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
