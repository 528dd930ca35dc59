// What is said where cuDNN, or what it takes, is missing.
#include <gtest/gtest.h>

#include "coda/core/error.h"
#if defined(CODA_HAS_CUDNN)
#include "coda/attention/cuda_cudnn_library.h"
#endif

namespace coda::attention {
namespace {

TEST(CudnnLibrary, SaysWhereItLookedAndHowToGetIt) {
#if defined(CODA_HAS_CUDNN)
  try {
    load_cudnn({"libcudnn-that-is-nowhere.so", "/nowhere/libcudnn.so.9"});
    FAIL() << "expected an error";
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    for (const char* part : {"libcudnn-that-is-nowhere.so", "/nowhere/libcudnn.so.9",
                             "pip install nvidia-cudnn-cu", "LD_LIBRARY_PATH"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
#else
  GTEST_SKIP() << "built without cuDNN's headers";
#endif
}

}  // namespace
}  // namespace coda::attention
