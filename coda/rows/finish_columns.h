// out (+)= Σ_parts partials: what a program's ColumnReduce left, added up in a fixed order. Host
// only.
#pragma once
#include "coda/rows/tensor_check.h"

struct CUstream_st;  // what a cudaStream_t points at

namespace coda::row {

struct FinishColumnsArguments {
  TensorView partials;      // [parts, N], fp32
  TensorView out;           // [N], one row; fp32 or bf16
  bool accumulate = false;  // added to what is in out
};

ProgramView validate(const FinishColumnsArguments& arguments);

}  // namespace coda::row

namespace coda::cpu {
void finish_columns(const row::FinishColumnsArguments& arguments, int threads = 0);
}

// Defined where there is nvcc.
namespace coda::cuda {
void finish_columns(const row::FinishColumnsArguments& arguments, CUstream_st* stream);
}
