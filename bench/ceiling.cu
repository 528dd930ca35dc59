// What a Hopper GPU leaves to a GEMM: a stream of wgmma on operands that lie in shared memory, with
// nothing else going on; the same with both operands copied from L2 for every block of 64 of the
// contraction, as a GEMM has to; and beside them cuBLAS's GEMM. Each alone, long enough for the
// power limit to show.
//
//   bench/gpu.sh FOLDER ceiling      builds and runs it; writes FOLDER/ceiling.json
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/ceiling_stream.cuh"

namespace ceiling {
namespace {

constexpr double kSeconds = 0.8;  // of a turn, the second half of which counts
constexpr int kRounds = 3;

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
  std::exit(1);
}

// Normally distributed bf16, or zeros.
__global__ void fill(uint16_t* data, int64_t count, uint64_t seed, bool zeros) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    uint64_t x = (static_cast<uint64_t>(i) + seed) * 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 31) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    const float u = static_cast<float>((x & 0xffffff) + 1) / 16777217.0f;
    const float angle = static_cast<float>(x >> 24 & 0xffffff) / 16777216.0f;
    data[i] = zeros ? 0 : __float_as_uint(sqrtf(-2 * logf(u)) * cospif(2 * angle)) >> 16;
  }
}

// Clock and power of the first GPU, from NVML.
class Meter {
 public:
  Meter() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto find = [&]<class F>(F& f, const char* name) {
      f = reinterpret_cast<F>(dlsym(library, name));
    };
    int (*init)() = nullptr;
    int (*get)(unsigned, void**) = nullptr;
    find(init, "nvmlInit_v2");
    find(get, "nvmlDeviceGetHandleByIndex_v2");
    find(power_, "nvmlDeviceGetPowerUsage");
    find(clock_, "nvmlDeviceGetClockInfo");
    if (init() != 0 || get(0, &device_) != 0) device_ = nullptr;
  }
  void read() {
    unsigned milliwatts = 0, mhz = 0;
    if (device_ == nullptr || power_(device_, &milliwatts) != 0) return;
    constexpr int kMultiprocessors = 1;
    if (clock_(device_, kMultiprocessors, &mhz) != 0) return;
    watts += milliwatts * 1e-3;
    megahertz += mhz;
    ++readings;
  }
  double watts = 0, megahertz = 0;
  int readings = 0;

 private:
  void* device_ = nullptr;
  int (*power_)(void*, unsigned*) = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
};

struct Contender {
  std::string name, tile, data;
  double flops;  // of a launch
  std::function<void()> launch;
  std::vector<double> tflops = {};
  Meter meter = {};
};

void take_turn(Contender& c) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  float ms = 0;
  const auto time = [&](int launches) {
    check(cudaEventRecord(begin), "cudaEventRecord");
    for (int i = 0; i < launches; ++i) c.launch();
    check(cudaEventRecord(end), "cudaEventRecord");
  };
  time(2);
  check(cudaEventSynchronize(end), "cudaEventSynchronize");
  check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
  const int half = std::max(1, static_cast<int>(kSeconds * 500 * 2 / ms));
  for (int i = 0; i < half; ++i) c.launch();
  time(half);
  while (cudaEventQuery(begin) == cudaErrorNotReady) std::this_thread::yield();
  while (cudaEventQuery(end) == cudaErrorNotReady) {
    c.meter.read();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  check(cudaEventSynchronize(end), "cudaEventSynchronize");
  check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
  c.tflops.push_back(c.flops * half / ms * 1e-9);
}

// kLines lines of 64 elements, in boxes of so many.
ptx::TensorMap map_of(const char* data, int box_lines) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const auto encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                           cudaEnableDefault, &result),
          "cudaGetDriverEntryPointByVersion");
    return reinterpret_cast<Encode>(found);
  }();
  const cuuint64_t extents[] = {kDepth, kLines}, pitch[] = {kDepth * 2};
  const cuuint32_t box[] = {kDepth, static_cast<cuuint32_t>(box_lines)}, steps[] = {1, 1};
  ptx::TensorMap map;
  const CUresult status =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<char*>(data), extents, pitch,
             box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(status == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue, "cuTensorMapEncodeTiled");
  return map;
}

template <class T>
std::function<void()> launcher(const Arguments& arguments, int multiprocessors) {
  check(cudaFuncSetAttribute(stream<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, T::kShared),
        "cudaFuncSetAttribute");
  return [=] {
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {2, 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(multiprocessors);
    config.blockDim = dim3(kThreads);
    config.dynamicSmemBytes = T::kShared;
    config.attrs = &cluster;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, stream<T>, arguments), "cudaLaunchKernelEx");
  };
}

template <class T>
void add_stream(std::vector<Contender>& to, Arguments arguments, const char* data,
                int multiprocessors) {
  const double flops = 2.0 * T::kRows * T::kColumns * kDepth * kBlocks * multiprocessors;
  const std::string tile = std::to_string(T::kRows) + "x" + std::to_string(T::kColumns);
  arguments.map_a = map_of(arguments.a, T::kRows);
  arguments.map_b = map_of(arguments.b, T::kColumns / 2);
  for (bool copies : {false, true}) {
    arguments.copies = copies;
    to.push_back({copies ? "wgmma, operands from L2" : "wgmma alone", tile, data, flops,
                  launcher<T>(arguments, multiprocessors)});
  }
}

// C [M, N] = A [M, K] B [N, K]ᵀ, as torch.mm calls it.
void add_cublas(std::vector<Contender>& to, const char* data, const void* a, const void* b, void* c,
                int M, int N, int K) {
  static void* library = dlopen("libcublas.so.13", RTLD_NOW);
  if (library == nullptr) return;
  static void* handle = [] {
    void* made = nullptr;
    reinterpret_cast<int (*)(void**)>(dlsym(library, "cublasCreate_v2"))(&made);
    return made;
  }();
  using GemmEx = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int,
                         const void*, int, int, const void*, void*, int, int, int, int);
  const auto gemm = reinterpret_cast<GemmEx>(dlsym(library, "cublasGemmEx"));
  constexpr int kTransposed = 1, kPlain = 0, kBf16 = 14, kCompute32 = 68, kUsual = -1;
  to.push_back({"cuBLAS", "", data, 2.0 * M * N * K, [=] {
                  const float one = 1, zero = 0;
                  gemm(handle, kTransposed, kPlain, N, M, K, &one, b, kBf16, K, a, kBf16, K, &zero,
                       c, kBf16, N, kCompute32, kUsual);
                }});
}

void measure(const char* commit, const char* date) {
  cudaDeviceProp facts{};
  check(cudaGetDeviceProperties(&facts, 0), "cudaGetDeviceProperties");
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const int multiprocessors = facts.multiProcessorCount / 2 * 2;
  constexpr int kM = 16384, kN = 8192, kK = 8192;
  uint16_t *a[2], *b, *c;
  for (auto& operand : a) check(cudaMalloc(&operand, int64_t{kM} * kK * 2), "cudaMalloc");
  check(cudaMalloc(&b, int64_t{kN} * kK * 2), "cudaMalloc");
  check(cudaMalloc(&c, int64_t{kM} * kN * 2), "cudaMalloc");
  for (bool zeros : {false, true}) fill<<<1024, 256>>>(a[zeros], int64_t{kM} * kK, 1, zeros);
  fill<<<1024, 256>>>(b, int64_t{kN} * kK, 1 << 30, false);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  std::vector<Contender> contenders;
  for (bool zeros : {false, true}) {
    const char* data = zeros ? "zeros" : "random";
    Arguments arguments{};
    arguments.a = reinterpret_cast<char*>(a[zeros]);
    arguments.b = reinterpret_cast<char*>(b);
    arguments.never = reinterpret_cast<float*>(c);
    add_stream<Tile<128, 192, true, 5>>(contenders, arguments, data, multiprocessors);
    add_stream<Tile<256, 128, false, 4>>(contenders, arguments, data, multiprocessors);
    add_stream<Tile<256, 192, false, 3>>(contenders, arguments, data, multiprocessors);
    add_cublas(contenders, data, a[zeros], b, c, kM, kN, kK);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Contender& contender : contenders) take_turn(contender);
  }
  std::printf(
      "{\n  \"kind\": \"ceiling\",\n  \"commit\": \"%s\",\n  \"date\": \"%s\",\n  \"gpu\": \"%s, "
      "%d "
      "multiprocessors, driver for CUDA %d.%d\",\n",
      commit, date, facts.name, facts.multiProcessorCount, driver / 1000, driver % 1000 / 10);
  std::printf("  \"results\": [");
  for (size_t i = 0; i < contenders.size(); ++i) {
    Contender& one = contenders[i];
    std::sort(one.tflops.begin(), one.tflops.end());
    const int readings = std::max(one.meter.readings, 1);
    std::printf(
        "%s\n    {\"contender\": \"%s\", \"tile\": \"%s\", \"regime\": \"%s\", \"rounds\": %d, "
        "\"tflops\": %.1f, \"clock_mhz\": %.0f, \"power_w\": %.0f}",
        i > 0 ? "," : "", one.name.c_str(), one.tile.c_str(), one.data.c_str(), kRounds,
        one.tflops[kRounds / 2], one.meter.megahertz / readings, one.meter.watts / readings);
  }
  std::printf("\n  ]\n}\n");
}

}  // namespace
}  // namespace ceiling

int main(int count, char** values) {
  ceiling::measure(count > 1 ? values[1] : "unknown", count > 2 ? values[2] : "unknown");
  return 0;
}
