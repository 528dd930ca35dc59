#include "coda/tools/cuda_huge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "coda/plan/cuda.h"
#include "coda/tools/call_kernels.h"
#include "coda/tools/cuda_buffer.h"
#include "coda/tools/workload.h"

namespace coda::tools {
namespace {

constexpr int64_t kPeriod = 5;  // rows of A, and so those of the output, repeat
constexpr uint16_t kUntouched = 0xffff;

// Small integers: every sum is exact.
int value_a(int64_t row, int64_t k) {
  return static_cast<int>((row % kPeriod * 7 + k * 3) % 5) - 2;
}
int value_b(int64_t row, int64_t k) { return static_cast<int>((row * 5 + k * 11) % 7) - 3; }

std::vector<bf16> matrix(int64_t rows, int64_t columns, int (*value)(int64_t, int64_t)) {
  std::vector<bf16> result(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows * columns; ++i) {
    result[static_cast<size_t>(i)] =
        from_float<bf16>(static_cast<float>(value(i / columns, i % columns)));
  }
  return result;
}

// The rows that the output consists of, with the padding behind them.
std::vector<bf16> wanted_rows(const Shape& shape, int64_t ld) {
  std::vector<bf16> result(static_cast<size_t>(kPeriod * ld), bf16{kUntouched});
  for (int64_t i = 0; i < kPeriod; ++i) {
    for (int64_t j = 0; j < shape.N; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < shape.K; ++k) sum += value_a(i, k) * value_b(j, k);
      result[static_cast<size_t>(i * ld + j)] = from_float<bf16>(static_cast<float>(sum));
    }
  }
  return result;
}

class HugeGemm {
 public:
  explicit HugeGemm(const Shape& shape)
      : shape_(shape),
        ld_((shape.N + 7) / 8 * 8),
        a_(shape.M * shape.K * 2),
        b_(shape.N * shape.K * 2),
        out_(shape.M * ld_ * 2),
        wanted_(wanted_rows(shape, ld_)) {
    const auto fill = [](const CudaBuffer& to, const std::vector<bf16>& from) {
      to.fill(from.data(), from.size() * sizeof(bf16));
    };
    fill(a_, matrix(kPeriod, shape.K, value_a));
    fill(b_, matrix(shape.N, shape.K, value_b));
    const auto view = [](const CudaBuffer& of, int64_t rows, int64_t columns, int64_t ld) {
      return TensorView{of.data(), DType::kBf16, rows, columns, ld, Major::kRow, 2};
    };
    call_.a.part[0][0] = view(a_, shape.M, shape.K, shape.K);
    call_.b.part[0][0] = view(b_, shape.N, shape.K, shape.K);
    call_.arguments = {{"out", {view(out_, shape.M, shape.N, ld_)}, 0}};
  }

  const catalogue::Call& call() const { return call_; }

  std::string run(const catalogue::Variant& variant, const plan::KernelEntry* kernel) const {
    out_.fill(kUntouched & 0xff);
    variant.run_cuda(call_, cuda::Target{0, nullptr, kernel});
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    constexpr int64_t kChunk = 1000 * kPeriod;
    std::vector<bf16> got(static_cast<size_t>(kChunk * ld_));
    for (int64_t begin = 0; begin < shape_.M; begin += kChunk) {
      const int64_t rows = std::min(kChunk, shape_.M - begin);
      out_.copy_to_host(got.data(), begin * ld_ * 2, rows * ld_ * 2);
      for (int64_t i = 0; i < rows; ++i) {
        const bf16* want = wanted_.data() + i % kPeriod * ld_;
        if (std::memcmp(got.data() + i * ld_, want, static_cast<size_t>(ld_) * 2) != 0) {
          return fmt::format("row {} of the output is wrong", begin + i);
        }
      }
    }
    return "";
  }

 private:
  Shape shape_;
  int64_t ld_;
  CudaBuffer a_, b_, out_;
  std::vector<bf16> wanted_;
  catalogue::Call call_;
};

}  // namespace

CheckResult check_huge() {
  const catalogue::Variant& variant =
      catalogue::find_variant(catalogue::find_operation("linear"), "bf16");
  CheckResult result;
  for (const Shape& shape :
       {Shape{65536, 40960, 64}, Shape{65536, 40957, 64}, Shape{int64_t{1} << 20, 64, 4096}}) {
    const HugeGemm gemm(shape);
    for (const plan::KernelEntry* kernel :
         fitting_kernels(variant.cuda_kernels(), variant, gemm.call())) {
      const std::string finding = gemm.run(variant, kernel);
      ++(finding.empty() ? result.passed : result.failed);
      if (finding.empty()) continue;
      result.failures.push_back(
          fmt::format("coda check --backend cuda --huge   M={} N={} K={}, {}: {}", shape.M, shape.N,
                      shape.K, plan::config_name(kernel->config), finding));
    }
  }
  return result;
}

}  // namespace coda::tools
