#include "coda/tools/cuda_workload.h"

#include <algorithm>
#include <numeric>

#include "coda/block/call.h"
#include "coda/core/random.h"

namespace coda::tools {
namespace {

using block::number;
using block::operand;
using block::port;
using catalogue::Call;

// A row-major matrix [rows, columns] read as [columns, rows].
TensorView transposed(void* data, DType type, int64_t rows, int64_t columns) {
  return block::transpose(tensor(data, type, rows, columns));
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
  const int64_t widest = std::max(N, K), row_parts = (widest + 63) / 64;
  residual_ = memory(M * widest, DType::kBf16, Fill::kNormal);
  up_ = memory(M * K, DType::kBf16, Fill::kNormal);
  gamma_ = memory(widest, DType::kBf16, Fill::kNormal);
  partials_ = memory(row_parts * M, DType::kFp32, Fill::kPartials);
  squares_ = memory(row_parts * std::max(M, N), DType::kFp32, Fill::kZero);
  dgamma_ = memory((std::max(M, N) + 63) / 64 * K, DType::kFp32, Fill::kZero);
  target_ = memory(M, DType::kInt64, Fill::kZero);
  sums_ = memory((N + 127) / 128 * M * 4, DType::kFp32, Fill::kZero);
  dw_ = memory(N * K, DType::kFp32, Fill::kZero);
  for (void*& out : out_) {
    out = memory(std::max({M * N, M * K, N * K}), DType::kBf16, Fill::kZero);
  }
  positions_ = memory(M, DType::kInt64, Fill::kPositions);
  add_forward();
  add_rope();
  add_gradients();
}

void* CudaWorkload::memory(int64_t elements, DType type, Fill fill) {
  const CudaBuffer& buffer = memory_.emplace_back(elements * dtype_bytes(type));
  if (fill == Fill::kZero) {
    buffer.fill(0);
  } else if (fill == Fill::kNormal) {
    buffer.fill(normal_numbers().data(), normal_numbers().size() * sizeof(bf16));
  } else if (fill == Fill::kPositions) {
    std::vector<int64_t> positions(static_cast<size_t>(elements));
    std::iota(positions.begin(), positions.end(), 0);
    buffer.fill(positions.data(), positions.size() * sizeof(int64_t));
  } else {
    const float sum_of_squares = 64;
    buffer.fill(&sum_of_squares, sizeof(sum_of_squares));
  }
  return buffer.data();
}

void CudaWorkload::add(const char* operation, const char* variant, const char* layout,
                       const Call& call, const GemmRequest& baseline) {
  const catalogue::Operation& found = catalogue::find_operation(operation);
  add(found, catalogue::find_variant(found, variant), layout, call, baseline);
}

void CudaWorkload::add(const catalogue::Operation& operation, const catalogue::Variant& variant,
                       const char* layout, const Call& call, const GemmRequest& baseline) {
  CudaCase added;
  added.operation = &operation;
  added.variant = &variant;
  added.layout = layout;
  added.shape = {baseline.M, baseline.N / added.variant->program.accumulators, baseline.K};
  added.call = call;
  added.baseline = baseline;
  added.ports = given_optional_ports(variant.program, call);
  cases_.push_back(std::move(added));
}

void CudaWorkload::add_forward() {
  const auto [M, N, K] = shape_;
  const OperandView x = operand(tensor(x_, DType::kBf16, M, K));
  const OperandView w = operand(tensor(w_, DType::kBf16, N, K));
  const auto out = [&](int i, int64_t columns) {
    return tensor(out_[i], DType::kBf16, M, columns);
  };
  const GemmRequest baseline{M, N, K, x_, w_, false, false, out_[0], DType::kBf16};
  add("linear", "bf16", "forward", {x, w, {port("out", out(0, N))}}, baseline);

  const Argument residual = port("residual", tensor(residual_, DType::kBf16, M, N));
  const Argument squares = port("squares", tensor(squares_, DType::kFp32, (N + 63) / 64, M));
  add("linear_residual_norm", "kept-bf16", "forward",
      {x,
       w,
       {residual, port("gamma", tensor(gamma_, DType::kBf16, 1, N)), port("out", out(0, N)),
        port("scaled", out(1, N)), squares}},
      baseline);
  add("linear_residual_norm", "folded-bf16", "forward",
      {x, w, {residual, port("out", out(0, N)), squares}}, baseline);

  const int64_t F = N / 2;  // gate and up are the halves of w
  const OperandView pair = block::pair_of(
      tensor(w_, DType::kBf16, F, K), tensor(static_cast<bf16*>(w_) + F * K, DType::kBf16, F, K));
  add("linear_swiglu", "bf16", "forward",
      {x,
       pair,
       {port("rstd", tensor(partials_, DType::kFp32, (K + 63) / 64, M)),
        number("rstd.width", static_cast<double>(K)), number("rstd.epsilon", 1e-5),
        port("gate", out(0, F)), port("up", out(1, F)), port("out", out(2, F))}},
      baseline);

  constexpr int64_t kStateBytes = 16;
  const TensorView sums{sums_, DType::kState, (N + 127) / 128, M, M, Major::kRow, kStateBytes};
  add("linear_cross_entropy", "bf16", "forward",
      {x,
       w,
       {port("rstd", tensor(partials_, DType::kFp32, (K + 63) / 64, M)),
        number("rstd.width", static_cast<double>(K)), number("rstd.epsilon", 1e-5),
        port("target", tensor(target_, DType::kInt64, 1, M)), port("sums", sums)}},
      baseline);
}

// q, k and v, a third of the columns each, in heads of 128; where there are so many.
void CudaWorkload::add_rope() {
  constexpr int64_t kHeadDim = 128;
  const auto [M, N, K] = shape_;
  if (N % (3 * kHeadDim) != 0) return;
  const int64_t columns = N / 3;
  std::vector<TensorView> weights;
  Argument out{"out", {}, 0};
  for (int i = 0; i < 3; ++i) {
    weights.push_back(tensor(static_cast<bf16*>(w_) + i * columns * K, DType::kBf16, columns, K));
    out.tensors.push_back(tensor(out_[i], DType::kBf16, M, columns));
  }
  void* inv_freq = memory(kHeadDim / 2, DType::kFp32, Fill::kPartials);  // any numbers will do
  add("linear_rope", "bf16", "forward",
      {operand(tensor(x_, DType::kBf16, M, K)),
       block::halves_of(kHeadDim, weights),
       {port("rstd", tensor(partials_, DType::kFp32, (K + 63) / 64, M)),
        number("rstd.width", static_cast<double>(K)), number("rstd.epsilon", 1e-5),
        port("positions", tensor(positions_, DType::kInt64, 1, M)),
        port("inv_freq", tensor(inv_freq, DType::kFp32, 1, kHeadDim / 2)), out}},
      {M, N, K, x_, w_, false, false, out_[0], DType::kBf16});
}

void CudaWorkload::add_gradients() {
  add_input_gradients();
  add_weight_gradients();
}

// dX [M, K] = dZ [M, N] · w
void CudaWorkload::add_input_gradients() {
  const auto [M, N, K] = shape_;
  const OperandView dz = operand(tensor(dz_, DType::kBf16, M, N));
  const OperandView w = operand(transposed(w_, DType::kBf16, N, K));
  const auto tile = [&](void* data) { return tensor(data, DType::kBf16, M, K); };
  const GemmRequest baseline{M, K, N, dz_, w_, false, true, out_[0], DType::kBf16};
  add("linear", "bf16", "dX", {dz, w, {port("out", tile(out_[0]))}}, baseline);

  // w is a down projection, [h, F], or square.
  if (K >= N) {
    const Argument rstd = port("rstd", tensor(partials_, DType::kFp32, (N + 63) / 64, M));
    std::vector<Argument> arguments = {
        port("gate", tile(residual_)),
        port("up", tile(up_)),
        rstd,
        number("rstd.width", static_cast<double>(N)),
        number("rstd.epsilon", 1e-5),
        port("dgate", tile(out_[0])),
        port("dup", tile(out_[1])),
        port("dots", tensor(squares_, DType::kFp32, (K + 63) / 64, M))};
    add("linear_swiglu_backward", "bf16", "dX", {dz, w, arguments}, baseline);
    arguments.push_back(port("out", tile(out_[2])));
    add("linear_swiglu_backward", "bf16", "dX", {dz, w, arguments}, baseline);
  }

  // w is what a norm precedes, two weights one after the other, or square.
  if (N >= K) {
    const int64_t F = N / 2;
    const OperandView halves =
        operand(Cut::kContraction, {tensor(dz_, DType::kBf16, M, F),
                                    tensor(static_cast<bf16*>(dz_) + M * F, DType::kBf16, M, F)});
    const OperandView weights = operand(
        Cut::kContraction, {transposed(w_, DType::kBf16, F, K),
                            transposed(static_cast<bf16*>(w_) + F * K, DType::kBf16, F, K)});
    std::vector<Argument> arguments = {
        port("x", tile(up_)),
        port("dx_in", tile(residual_)),
        port("rstd", tensor(partials_, DType::kFp32, (K + 63) / 64, M)),
        number("rstd.width", static_cast<double>(K)),
        number("rstd.epsilon", 1e-5),
        port("dots", tensor(partials_, DType::kFp32, (N + 63) / 64, M)),
        number("dots.width", static_cast<double>(K)),
        port("dx", tile(out_[0]))};
    add("linear_norm_backward", "folded-bf16", "dX", {halves, weights, arguments}, baseline);
    arguments.push_back(port("gamma", tensor(gamma_, DType::kBf16, 1, K)));
    arguments.push_back(port("dgamma", tensor(dgamma_, DType::kFp32, (M + 63) / 64, K)));
    add("linear_norm_backward", "kept-bf16", "dX", {halves, weights, arguments}, baseline);
    arguments.push_back(port("scaled", tile(out_[1])));
    add("linear_norm_backward", "kept-bf16", "dX", {halves, weights, arguments}, baseline);
  }
}

// dW [N, K] = dZᵀ · x
void CudaWorkload::add_weight_gradients() {
  const auto [M, N, K] = shape_;
  const OperandView a = operand(transposed(dz_, DType::kBf16, M, N));
  const OperandView b = operand(transposed(x_, DType::kBf16, M, K));
  const Argument out = port("out", tensor(dw_, DType::kFp32, N, K));
  const Argument c = port("c", out.tensors[0]);
  const GemmRequest baseline{N, K, M, dz_, x_, true, true, dw_, DType::kFp32};
  add("linear_weight_grad", "bf16-fp32", "dW", {a, b, {out}}, baseline);
  add("linear_weight_grad", "bf16-fp32", "dW", {a, b, {c, out}}, baseline);
  const Argument squares = port("squares", tensor(squares_, DType::kFp32, (K + 63) / 64, N));
  add("linear_weight_grad", "bf16-fp32", "dW", {a, b, {c, out, squares}}, baseline);
  add("linear_weight_grad", "folded-bf16-fp32", "dW",
      {a,
       b,
       {c, port("weight", tensor(w_, DType::kBf16, N, K)),
        port("gamma", tensor(gamma_, DType::kBf16, 1, K)), out,
        port("dgamma", tensor(dgamma_, DType::kFp32, (N + 63) / 64, K))}},
      baseline);
  add("linear_weight_grad", "bf16", "dW",
      {a, b, {port("out", tensor(out_[1], DType::kBf16, N, K))}},
      {N, K, M, dz_, x_, true, true, out_[1], DType::kBf16});
}

}  // namespace coda::tools
