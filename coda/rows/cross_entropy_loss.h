// The loss of every row from what linear_cross_entropy left of its logits, and the loss of all:
//   lse = log Σexp(ẑ),  loss = lse - (1-α)·ẑ_target - α/V·Σẑ + λ·lse².
// A row of the ignored target has loss 0. A target out of range: on the CPU an error before
// anything is written; on the GPU lse and loss of the row are NaN and the error flag is set. Host
// only.
#pragma once
#include "coda/core/view.h"
#include "coda/program/cross_entropy_sums.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::cpu {
struct Options;  // coda/cpu/run.h
}

namespace coda::row {

struct CrossEntropyLossArguments {
  Matrix<const CrossEntropySums::State<float>> sums;  // [⌈V/128⌉, M]
  const int64_t* target = nullptr;                    // [M]
  int64_t vocabulary = 1;                             // V
  int64_t ignore_index = -100;
  float z_loss = 0, smoothing = 0;  // λ, α
  float* lse = nullptr;             // [M]
  float* loss = nullptr;            // [M]
  int32_t* error = nullptr;         // [1]; set to 1, else left alone (GPU); may be null
};

struct CrossEntropyTotalArguments {
  const int64_t* target = nullptr;  // [M]
  int64_t rows = 0;                 // M
  int64_t ignore_index = -100;
  bool mean = true;              // over the rows that are not ignored; else the sum
  const float* loss = nullptr;   // [M], for
  float* total = nullptr;        // [1]; the mean of no rows is NaN; may be null
  const float* dloss = nullptr;  // [1], of the total; 1 where it is null. For
  float* scale = nullptr;        // [1]: its gradient by the loss of a row; may be null
};

// Throws where a target of these rows is neither a column nor ignored. On the host.
void check_targets(const int64_t* target, int64_t rows, int64_t vocabulary, int64_t ignore_index);

}  // namespace coda::row

namespace coda::cpu {
void cross_entropy_loss(const row::CrossEntropyLossArguments& arguments, const Options& options);
void cross_entropy_total(const row::CrossEntropyTotalArguments& arguments, const Options& options);
}  // namespace coda::cpu

// Defined where there is nvcc; on the current device.
namespace coda::cuda {
void cross_entropy_loss(const row::CrossEntropyLossArguments& arguments, CUstream_st* stream);
void cross_entropy_total(const row::CrossEntropyTotalArguments& arguments, CUstream_st* stream);
}  // namespace coda::cuda
