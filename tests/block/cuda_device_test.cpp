// Models on the GPU, as far as one can see without having one. tests/tools/model_check_test.cpp
// runs them where there is one.
#include <gtest/gtest.h>

#include "coda/block/model.h"
#include "coda/core/error.h"
#include "tests/block/small_model.h"

namespace coda::block {
namespace {

TEST(CudaDevice, SaysWhatIsMissing) {
  try {
    const auto device = make_cuda_device();
    GTEST_SKIP() << "there is a GPU: " << device->name();
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("cuda: ", 0), 0u) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
#if !defined(CODA_HAS_CUDA)
    const char* remedy = "nvcc";
#elif !defined(CODA_HAS_CUDNN)
    const char* remedy = "scripts/setup.sh";
#else
    const char* remedy = "device cpu";  // or a GPU, or cuDNN, whichever is missing
#endif
    EXPECT_NE(text.find(remedy), std::string::npos) << text;
  }
}

#if defined(CODA_HAS_CUDA)
// Every call that a bf16 model makes has kernels, for every family and policy.
TEST(CudaDevice, HasKernelsForEveryNode) {
  using checkpoint::Family;
  for (const Family family : {Family::kLlama, Family::kQwen2, Family::kQwen3, Family::kGpt2}) {
    for (const Fold fold : {Fold::kKept, Fold::kFolded}) {
      if (family == Family::kGpt2 && fold == Fold::kFolded) continue;
      for (const Recompute recompute :
           {Recompute::kNothing, Recompute::kActivation, Recompute::kBlock}) {
        const auto device = make_cpu_device();
        ModelOptions options;
        options.sequence = 4;
        options.parts = 2;
        options.fold = fold;
        options.recompute = recompute;
        checkpoint::ModelConfig config = small_config(family);
        config.tie_word_embeddings = fold == Fold::kKept;
        Model model(config, options, *device);
        int64_t calls = 0;
        model.before_node = [&](const Node& node) {
          const auto* call = std::get_if<CallNode>(&node.work);
          if (call == nullptr) return;
          ++calls;
          EXPECT_NE(call->variant->run_cuda, nullptr)
              << call->operation->name << " " << call->variant->name;
          EXPECT_NE(call->variant->cuda_workspace_bytes, nullptr) << call->operation->name;
        };
        model.finish_weights();
        const std::vector<int64_t> ids = {1, 2, 3, 4};
        for (const int64_t part : {0, 1}) model.forward_backward(part, ids, ids);
        model.update(1e-3, 1);
        model.forward(ids, ids);
        EXPECT_GT(calls, 20);
      }
    }
  }
}
#endif

}  // namespace
}  // namespace coda::block
