// Extents below zero, of a tensor by itself or of all tensors alike, are refused by every row
// operation before anything is read, as by a GEMM.
#include <gtest/gtest.h>

#include "coda/catalogue/operation.h"
#include "tests/program/expect_error.h"
#include "tests/rows/tensors.h"

namespace coda {
namespace {

struct Named {
  const char* name;
  int64_t rows, columns;
  DType dtype = DType::kFp32;
};

struct Call {
  const char* operation;
  std::vector<Named> tensors;
  std::vector<std::pair<const char*, double>> numbers;
};

// In this order, so that a failure says which one it was.
std::vector<Call> calls() {
  constexpr DType kTokens = DType::kInt64, kState = DType::kState;
  return {
      {"layer_norm",
       {{"x", 2, -1}, {"gamma", 1, -1}, {"beta", 1, -1}, {"out", 2, -1}},
       {{"epsilon", 1e-5}}},
      {"layer_norm_backward",
       {{"dy", 2, -70},
        {"x", 2, -70},
        {"gamma", 1, -70},
        {"dx", 2, -70},
        {"dgamma", 1, -70},
        {"dbeta", 1, -70}},
       {{"epsilon", 1e-5}}},
      {"layer_norm_inputs",
       {{"x", 2, -1}, {"gamma", 1, -1}, {"scaled", 2, -1}, {"moments", 0, 2, kState}},
       {}},
      {"layer_norm_sums",
       {{"dz", -2, 4},
        {"z", -2, 4},
        {"shift", 1, 4},
        {"offset", 1, 4},
        {"dots", 1, -2},
        {"shifts", 1, -2}},
       {}},
      {"norm_inputs", {{"x", -3, 4}, {"squares", 1, -3}}, {}},
      {"embedding_norm",
       {{"table", -5, 4}, {"tokens", 1, 0, kTokens}, {"out", 0, 4}, {"squares", 1, 0}},
       {}},
      {"embedding_positions",
       {{"table", 5, 4},
        {"tokens", 1, -2, kTokens},
        {"positions_table", 3, 4},
        {"positions", 1, -2, kTokens},
        {"out", -2, 4}},
       {}},
      {"embedding_backward",
       {{"dx", 0, 4}, {"tokens", 1, 0, kTokens}, {"out", -4, 4}},
       {{"accumulate", 0}}},
      {"adamw",
       {{"master", -2, 4}, {"m", -2, 4}, {"v", -2, 4}, {"gradient", -2, 4}, {"rates", 1, 3}},
       {{"beta1", 0.9}, {"beta2", 0.9}, {"epsilon", 1e-8}}},
      {"clip_factor", {{"squares", 1, -100000}, {"norm", 1, 1}, {"factor", 1, 1}}, {}},
      {"square_sums", {{"x", -4, 3}, {"sums", 1, -4}}, {}},
      {"scale_gradient", {{"gradient", -4, 3}, {"factor", 1, 1}, {"out", -4, 3}}, {}},
      {"fold_norm_weight", {{"weight", 4, -3}, {"gamma", 1, -3}, {"out", 4, -3}}, {}},
      {"finish_columns", {{"partials", -4, 3}, {"out", 1, 3}}, {{"accumulate", 0}}},
      {"rope_backward",
       {{"dq", 4, -8},
        {"dk", 4, -8},
        {"dv", 4, -8},
        {"q", 4, -8},
        {"k", 4, -8},
        {"v", 4, -8},
        {"dzq", 4, -8},
        {"dzk", 4, -8},
        {"dzv", 4, -8},
        {"positions", 1, 4, kTokens},
        {"inv_freq", 1, 4},
        {"rstd", 1, 4},
        {"sums", -3, 4}},
       {{"head_dim", 8}, {"rstd.width", 8}, {"rstd.epsilon", 0}}},
  };
}

TEST(RowExtents, BelowZeroAreRefused) {
  const auto all = calls();
  for (const auto* operation : catalogue::operations()) {
    if (operation->has_operands) continue;
    SCOPED_TRACE(operation->name);
    const auto found = std::ranges::find(all, operation->name, &Call::operation);
    ASSERT_NE(found, all.end());
    Tensors memory;
    catalogue::Call call;
    for (const Named& tensor : found->tensors) {
      TensorView view = memory.out(1, 64);
      view.dtype = tensor.dtype;
      view.rows = tensor.rows;
      view.columns = tensor.columns;
      view.ld = std::max<int64_t>(tensor.columns, 0);
      if (tensor.dtype != DType::kFp32) view.element_bytes = 8;
      call.arguments.push_back({tensor.name, {view}, 0});
    }
    for (const auto& [name, number] : found->numbers) {
      call.arguments.push_back({name, {}, number});
    }
    expect_error([&] { catalogue::find_variant(*operation, "fp32").run_cpu(call, {}); },
                 {operation->name, "expected extents of at least 0, got [", "-"});
    for (const auto& argument : call.arguments) {
      if (!argument.tensors.empty()) {
        expect_untouched(erase(Matrix(static_cast<const float*>(argument.tensors[0].data), 1, 64)));
      }
    }
  }
}

// Where nothing is in them, no memory bounds extents: loops over such rows would not end.
TEST(RowExtents, OfNothingAreBounded) {
  constexpr int64_t kMany = int64_t{1} << 61;
  const TensorView nothing{nullptr, DType::kFp32, kMany, 0, 0, Major::kRow, 4};
  Tensors memory;
  const catalogue::Call call{
      {},
      {},
      {{"gradient", {nothing}, 0}, {"factor", {memory.matrix(1, 1)}, 0}, {"out", {nothing}, 0}}};
  expect_error(
      [&] {
        const auto& operation = catalogue::find_operation("scale_gradient");
        catalogue::find_variant(operation, "fp32").run_cpu(call, {});
      },
      {"scale_gradient: argument 'gradient'", "at most 2147483647", "[2305843009213693952, 0]"});
}

}  // namespace
}  // namespace coda
