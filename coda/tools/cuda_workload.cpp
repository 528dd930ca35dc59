#include "coda/tools/cuda_workload.h"

#include <algorithm>
#include <cmath>

#include "coda/tools/random.h"

namespace coda::tools {
namespace {

using catalogue::Call;

TensorView tensor(void* data, DType type, int64_t rows, int64_t columns) {
  return {data, type, rows, columns, columns, Major::kRow, dtype_bytes(type)};
}

// A row-major matrix [rows, columns] read as [columns, rows].
TensorView transposed(void* data, DType type, int64_t rows, int64_t columns) {
  return {data, type, columns, rows, columns, Major::kColumn, dtype_bytes(type)};
}

OperandView operand(const TensorView& view) {
  OperandView result;
  result.part[0][0] = view;
  return result;
}

// So many normal numbers; what is longer repeats them.
const std::vector<bf16>& normal_numbers() {
  static const std::vector<bf16> numbers = [] {
    constexpr size_t kCount = 8388593;  // prime: lines of a matrix do not repeat in step
    std::vector<bf16> result(kCount);
    Random random(1);
    for (bf16& number : result) number = from_float<bf16>(static_cast<float>(random.normal()));
    return result;
  }();
  return numbers;
}

}  // namespace

const char* regime_name(Regime regime) { return regime == Regime::kRandom ? "random" : "zeros"; }

CudaWorkload::CudaWorkload(const Shape& shape, Regime regime) : shape_(shape) {
  const auto [M, N, K] = shape;
  const Fill fill_a = regime == Regime::kRandom ? Fill::kNormal : Fill::kZero;
  x_ = memory(M * K, DType::kBf16, fill_a);
  dz_ = memory(M * N, DType::kBf16, fill_a);
  w_ = memory(N * K, DType::kBf16, Fill::kNormal);
  residual_ = memory(M * N, DType::kBf16, Fill::kNormal);
  gamma_ = memory(N, DType::kBf16, Fill::kNormal);
  partials_ = memory((K + 63) / 64 * M, DType::kFp32, Fill::kPartials);
  squares_ = memory((N + 63) / 64 * M, DType::kFp32, Fill::kZero);
  target_ = memory(M, DType::kInt64, Fill::kZero);
  sums_ = memory((N + 127) / 128 * M * 4, DType::kFp32, Fill::kZero);
  dw_ = memory(N * K, DType::kFp32, Fill::kZero);
  for (void*& out : out_) {
    out = memory(std::max({M * N, M * K, N * K}), DType::kBf16, Fill::kZero);
  }
  add_forward();
  add_gradients();
}

void* CudaWorkload::memory(int64_t elements, DType type, Fill fill) {
  const CudaBuffer& buffer = memory_.emplace_back(elements * dtype_bytes(type));
  if (fill == Fill::kZero) {
    buffer.fill(0);
  } else if (fill == Fill::kNormal) {
    buffer.fill(normal_numbers().data(), normal_numbers().size() * sizeof(bf16));
  } else {
    const float sum_of_squares = 64;
    buffer.fill(&sum_of_squares, sizeof(sum_of_squares));
  }
  return buffer.data();
}

void CudaWorkload::add(const char* operation, const char* variant, const char* layout,
                       const Call& call, const GemmRequest& baseline) {
  CudaCase added;
  added.operation = &catalogue::find_operation(operation);
  added.variant = &catalogue::find_variant(*added.operation, variant);
  added.layout = layout;
  added.shape = {baseline.M, baseline.N / added.variant->program.accumulators, baseline.K};
  added.call = call;
  added.baseline = baseline;
  for (const PortView& port : added.variant->program.ports) {
    if (port.optional && find_argument(call.arguments, port.name) != nullptr) {
      added.ports.push_back(port.name);
    }
  }
  cases_.push_back(std::move(added));
}

void CudaWorkload::add_forward() {
  const auto [M, N, K] = shape_;
  const OperandView x = operand(tensor(x_, DType::kBf16, M, K));
  const OperandView w = operand(tensor(w_, DType::kBf16, N, K));
  const auto argument = [](const char* name, const TensorView& view) {
    return Argument{name, {view}, 0};
  };
  const auto number = [](const char* name, double value) { return Argument{name, {}, value}; };
  const auto out = [&](int i, int64_t columns) {
    return tensor(out_[i], DType::kBf16, M, columns);
  };
  const GemmRequest baseline{M, N, K, x_, w_, false, false, out_[0], DType::kBf16};
  add("linear", "bf16", "forward", {x, w, {argument("out", out(0, N))}}, baseline);

  const Argument residual = argument("residual", tensor(residual_, DType::kBf16, M, N));
  const Argument squares = argument("squares", tensor(squares_, DType::kFp32, (N + 63) / 64, M));
  add("linear_residual_norm", "kept-bf16", "forward",
      {x,
       w,
       {residual, argument("gamma", tensor(gamma_, DType::kBf16, 1, N)), argument("out", out(0, N)),
        argument("scaled", out(1, N)), squares}},
      baseline);
  add("linear_residual_norm", "folded-bf16", "forward",
      {x, w, {residual, argument("out", out(0, N)), squares}}, baseline);

  const int64_t F = N / 2;  // gate and up are the halves of w
  OperandView pair = operand(tensor(w_, DType::kBf16, F, K));
  pair.accumulators = 2;
  pair.part[1][0] = tensor(static_cast<bf16*>(w_) + F * K, DType::kBf16, F, K);
  add("linear_swiglu", "bf16", "forward",
      {x,
       pair,
       {argument("rstd", tensor(partials_, DType::kFp32, (K + 63) / 64, M)),
        number("rstd.width", static_cast<double>(K)), number("rstd.epsilon", 1e-5),
        argument("gate", out(0, F)), argument("up", out(1, F)), argument("out", out(2, F))}},
      baseline);

  constexpr int64_t kStateBytes = 16;
  const TensorView sums{sums_, DType::kState, (N + 127) / 128, M, M, Major::kRow, kStateBytes};
  add("linear_cross_entropy", "bf16", "forward",
      {x,
       w,
       {argument("rstd", tensor(partials_, DType::kFp32, (K + 63) / 64, M)),
        number("rstd.width", static_cast<double>(K)), number("rstd.epsilon", 1e-5),
        argument("target", tensor(target_, DType::kInt64, 1, M)), argument("sums", sums)}},
      baseline);
}

void CudaWorkload::add_gradients() {
  const auto [M, N, K] = shape_;
  const auto argument = [](const char* name, const TensorView& view) {
    return Argument{name, {view}, 0};
  };
  // dX [M, K] = dZ [M, N] · w
  add("linear", "bf16", "dX",
      {operand(tensor(dz_, DType::kBf16, M, N)),
       operand(transposed(w_, DType::kBf16, N, K)),
       {argument("out", tensor(out_[0], DType::kBf16, M, K))}},
      {M, K, N, dz_, w_, false, true, out_[0], DType::kBf16});

  // dW [N, K] = dZᵀ · x
  const OperandView a = operand(transposed(dz_, DType::kBf16, M, N));
  const OperandView b = operand(transposed(x_, DType::kBf16, M, K));
  const TensorView dw = tensor(dw_, DType::kFp32, N, K);
  const GemmRequest baseline{N, K, M, dz_, x_, true, true, dw_, DType::kFp32};
  add("linear_weight_grad", "bf16-fp32", "dW", {a, b, {argument("out", dw)}}, baseline);
  add("linear_weight_grad", "bf16-fp32", "dW", {a, b, {argument("c", dw), argument("out", dw)}},
      baseline);
  add("linear_weight_grad", "bf16", "dW",
      {a, b, {argument("out", tensor(out_[1], DType::kBf16, N, K))}},
      {N, K, M, dz_, x_, true, true, out_[1], DType::kBf16});
}

}  // namespace coda::tools
