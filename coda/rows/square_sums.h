// Σx² of every row, added up in fp64 in a fixed order and rounded once: of gradients whose last
// writer leaves no partials. A long vector is quicker as several rows. Host only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct SquareSumsArguments {
  TensorView x;     // [N, K], fp32
  TensorView sums;  // [N], one row, fp32
};

ProgramView validate(const SquareSumsArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void square_sums(const row::SquareSumsArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void square_sums(const row::SquareSumsArguments& arguments, CUstream_st* stream);
}
