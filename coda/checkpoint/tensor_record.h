// A tensor of a checkpoint: what it is called, what it looks like and where its bytes are.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coda/core/types.h"

namespace coda::checkpoint {

struct TensorRecord {
  std::string name;
  DType dtype = DType::kBf16;
  std::vector<int64_t> shape;
  const void* data =
      nullptr;        // of a file: in its mapping, and not aligned in files of some writers
  int64_t bytes = 0;  // the product of shape times the size of an element
};

// A tensor in memory, to be written.
TensorRecord tensor_record(std::string name, DType dtype, std::vector<int64_t> shape,
                           const void* data);

// The elements as another type, rounded to nearest even; `to` has as many. For bf16, fp16 and fp32.
void copy_elements(const TensorRecord& tensor, std::span<float> to);
void copy_elements(const TensorRecord& tensor, std::span<bf16> to);

}  // namespace coda::checkpoint
