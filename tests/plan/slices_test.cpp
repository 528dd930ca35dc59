// When a contraction is cut into slices, into how many, and what is said about a workspace that
// does not do.
#include "coda/plan/slices.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "coda/catalogue/linear_weight_grad_kernels.h"
#include "coda/core/error.h"
#include "coda/plan/tuning.h"
#include "coda/program/workspace.h"

namespace coda::plan {
namespace {

using Program = catalogue::LinearWeightGrad<float>;

template <class... K>
std::vector<KernelEntry> entries(KernelList<K...>) {
  const auto entry = []<class One>(One*) {
    KernelEntry result;
    result.operand = dtype_of<typename One::Element>;
    result.config = One::kTile;
    result.a = One::kA;
    result.b = One::kB;
    result.given = One::kGiven;
    result.any_columns = One::kAnyColumns;
    result.slice_space = slice_space_of<One>();
    return result;
  };
  return {entry(static_cast<K*>(nullptr))...};
}
const std::vector<KernelEntry> kKernels = entries(Manifest<Program>::Kernels{});

// Addresses matter for overlaps only.
template <class T>
T* somewhere(uintptr_t number) {
  return reinterpret_cast<T*>(number << 40);
}

struct Question {
  Program program;
  ProgramView view;
  Problem problem;
  OperandView a, b;

  Question(int64_t M, int64_t N, int64_t K)
      : a(Operand<bf16>(Matrix<const bf16>(somewhere<bf16>(1), M, K, M, Major::kColumn))),
        b(Operand<bf16>(Matrix<const bf16>(somewhere<bf16>(2), N, K, N, Major::kColumn))) {
    program.out = Matrix<float>(somewhere<float>(3), M, N);
    view = describe(program);
    problem.rows = {1, {0, M}};
    problem.columns = {1, {0, N}};
    problem.contraction = {1, {0, K}};
  }
  LaunchRequest request() const { return {&program, &problem, &a, &b}; }
  SlicedChoice choose(const SlicesRequest& asked = {}, int processors = 132) const {
    return choose_sliced(asked, kKernels, view, request(), Device{processors});
  }
};

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Weight gradients of keys and values, and of a router: 16384 tokens.
TEST(Slices, FillTheGpuWhereThereAreFewTiles) {
  for (const auto& [M, N] : {std::pair{512, 2048}, {1024, 1024}, {512, 512}, {128, 2048}}) {
    const SlicedChoice choice = Question(M, N, 16384).choose();
    const int cluster = choice.kernel->config.cluster_rows * choice.kernel->config.cluster_columns;
    const kernel::Grid grid =
        make_grid(Question(M, N, 16384).problem, choice.kernel->config, 1, 132, choice.slicing);
    EXPECT_GT(choice.slicing.slices, 1) << M << " x " << N;
    EXPECT_EQ(grid.uncut, 0) << M << " x " << N;
    EXPECT_LE(grid.units * static_cast<uint32_t>(cluster), 2 * 132u) << M << " x " << N;
    EXPECT_GT(2 * grid.units * static_cast<uint32_t>(cluster), 132u) << M << " x " << N;
  }
}

TEST(Slices, LeaveWholeWhatFillsTheGpuOrIsShort) {
  EXPECT_EQ(Question(4096, 4096, 16384).choose().slicing.slices, 1);
  EXPECT_EQ(Question(22016, 4096, 16384).choose().slicing.slices, 1);
  EXPECT_EQ(Question(512, 512, 512).choose().slicing.slices, 1);
  EXPECT_EQ(Question(512, 512, 0).choose().slicing.slices, 1);
}

// 128 × 256, in pairs along N: 352 tiles of clusters are five rounds of 66, and 22.
TEST(Slices, ShareOutTheTilesOfTheLastRound) {
  const Question q(11264, 2048, 16384);
  const KernelEntry* wide = &kKernels[1];
  const SlicedChoice choice = q.choose({.kernel = wide});
  EXPECT_EQ(sliced_name(*choice.kernel, choice.slicing.slices), "co128x256_s4_c1x2_n32_k3");
  EXPECT_EQ(choice.slicing.tiles, 22);
  const kernel::Grid grid = make_grid(q.problem, choice.kernel->config, 1, 66, choice.slicing);
  EXPECT_EQ(grid.uncut, 330);
  EXPECT_EQ(grid.units, 330 + 66);
}

RC_GTEST_PROP(Slices, KeepEnoughBlocksAndPayOff, ()) {
  const Question q(*rc::gen::inRange<int64_t>(1, 4096), *rc::gen::inRange<int64_t>(1, 4096),
                   *rc::gen::inRange<int64_t>(0, 1 << 17));
  const int processors = *rc::gen::inRange(1, 200);
  const SlicedChoice choice = q.choose({}, processors);
  const int slices = choice.slicing.slices;
  const kernel::Grid grid = make_grid(q.problem, choice.kernel->config, 1, 1, choice.slicing);
  const Device device{processors};
  RC_ASSERT(slices >= 1 && slices <= kMaxSlices);
  if (slices > 1) {
    RC_ASSERT(grid.depth_blocks - grid.slice_blocks * (slices - 1) >= kMinSliceBlocks);
    const int cluster = choice.kernel->config.cluster_rows * choice.kernel->config.cluster_columns;
    RC_ASSERT(grid.uncut % static_cast<uint32_t>(std::max(processors / cluster, 1)) == 0);
    RC_ASSERT(predict_sliced_clocks(*choice.kernel, q.view, q.problem, device, choice.slicing) <
              predict_clocks(*choice.kernel, q.view, q.problem, device));
  } else {
    const KernelEntry& whole = choose(kKernels, q.view, q.problem, q.a, q.b, device);
    RC_ASSERT(choice.kernel == &whole);
  }
  const SlicedChoice again = q.choose({}, processors);
  RC_ASSERT(again.kernel == choice.kernel && again.slicing == choice.slicing);
}

TEST(Slices, TakeAWorkspaceOfPartialsAndCounters) {
  const Question q(512, 300, 16384);  // 2 × 3 tiles of clusters of 256 × 128
  EXPECT_EQ(workspace_bytes(kKernels[0], q.problem, {}), 0);
  EXPECT_EQ(workspace_bytes(kKernels[0], q.problem, {5}), 4 * (5 * 6 * 256 * 128 + 6 * 2 * 4));
  EXPECT_EQ(workspace_bytes(kKernels[0], q.problem, {5, 2}), 4 * (5 * 2 * 256 * 128 + 2 * 2 * 4));
  const WorkspaceLayout layout = workspace_layout(
      kKernels[0].slice_space, make_grid(q.problem, kKernels[0].config, 1, 1, {5}));
  const kernel::Workspace at = layout.at(somewhere<void>(4));
  EXPECT_EQ(at.partials, somewhere<float>(4));
  EXPECT_EQ(reinterpret_cast<float*>(at.counters), at.partials + 5 * 6 * 256 * 128);
}

TEST(Slices, AreThoseAskedFor) {
  const Question q(512, 512, 16384);
  const SlicedChoice choice = q.choose({&kKernels[1], 7});
  EXPECT_EQ(choice.kernel, &kKernels[1]);
  EXPECT_EQ(choice.slicing, Slicing{7});
  EXPECT_EQ(q.choose({nullptr, 1}).slicing.slices, 1);
  EXPECT_EQ(q.choose({&kKernels[2]}).kernel, &kKernels[2]);
  EXPECT_EQ(refusal([&] { q.choose({&kKernels[0], 17}); }),
            "linear_weight_grad: argument 'slices': expected 1 to 16 for configuration "
            "pp128x128_s6_c2x1_n32, got 17");
  KernelEntry whole_only = kKernels[0];
  whole_only.slice_space = {};
  EXPECT_NE(refusal([&] { q.choose({&whole_only, 2}); }).find("expected 1 to 1"),
            std::string::npos);
  EXPECT_EQ(q.choose({&whole_only}).slicing.slices, 1);
}

// A tuned kernel is taken where the contraction stays whole, and changes no number of slices.
TEST(Slices, AreNotTuned) {
  for (const int64_t K : {int64_t{16384}, int64_t{512}}) {
    const Question q(512, 512, K);
    const SlicedChoice before = q.choose();
    const bool whole = before.slicing.slices == 1;
    EXPECT_EQ(whole, K == 512);
    for (const KernelEntry& kernel : kKernels) {
      if (!fits(kernel, q.view, q.a, q.b)) continue;
      TuningCache cache;
      cache.set(tuning_key(Device{132}, q.view, DType::kBf16, kernel.a, kernel.b, 512, 512, K),
                config_name(kernel.config));
      use_tuning(cache);
      const SlicedChoice after = q.choose();
      EXPECT_EQ(after.slicing, before.slicing);
      EXPECT_EQ(after.kernel, whole ? &kernel : before.kernel);
    }
    use_tuning({});
  }
}

TEST(Slices, RefuseABadWorkspace) {
  const Question q(512, 512, 16384);
  const auto says = [&](void* workspace, int64_t bytes) {
    return refusal([&] {
      validate_workspace(q.view, *q.request().a, *q.request().b, {workspace, bytes},
                         int64_t{1} << 20);
    });
  };
  auto* good = somewhere<std::byte>(4);
  EXPECT_EQ(says(good, 1 << 20), "");
  EXPECT_EQ(says(good, 1 << 21), "");
  EXPECT_EQ(says(good, (1 << 20) - 1),
            "linear_weight_grad: argument 'workspace': expected at least 1048576 bytes, got "
            "1048575");
  EXPECT_EQ(says(nullptr, 1 << 20),
            "linear_weight_grad: argument 'workspace': expected at least 1048576 bytes, got a "
            "null pointer");
  EXPECT_EQ(says(good + 16, 1 << 20),
            "linear_weight_grad: argument 'workspace': expected memory aligned to 256 bytes, got "
            "address 0x40000000010");
  EXPECT_EQ(says(somewhere<std::byte>(1), 1 << 20),
            "linear_weight_grad: argument 'workspace': expected memory apart from 'A', got an "
            "overlap");
  EXPECT_EQ(says(somewhere<std::byte>(3), 1 << 20),
            "linear_weight_grad: argument 'out': expected memory apart from 'workspace', got an "
            "overlap");
}

}  // namespace
}  // namespace coda::plan
