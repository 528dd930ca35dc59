// Rows that the embedding operations look up, on the CPU. Host only.
#pragma once
#include <string>

#include "coda/core/error.h"
#include "coda/rows/tensor_check.h"

namespace coda::row {

// Throws where a token, or another index of that name, is no row of the table.
template <class Token>
void check_tokens(const char* operation, const TensorView& tokens, int64_t rows,
                  const char* name = "tokens") {
  const Token* data = data_of<const Token>(tokens);
  for (int64_t i = 0; i < tokens.columns; ++i) {
    if (data[i] >= 0 && data[i] < rows) continue;
    fail_argument(operation, name,
                  name + (" from 0 to " + std::to_string(rows - 1)) + " at all places",
                  std::to_string(data[i]) + " at " + std::to_string(i));
  }
}

}  // namespace coda::row
