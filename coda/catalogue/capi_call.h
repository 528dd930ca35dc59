// What the C interface is called with, as the catalogue takes it. Throws coda::Error naming the
// operation and the argument.
#pragma once
#include "coda/catalogue/operation.h"
#include "coda/coda.h"

namespace coda::catalogue {

struct CApiCall {
  const Operation* operation = nullptr;
  const Variant* variant = nullptr;
  Call call;
};

CApiCall read_call(const char* operation, const char* variant, const coda_operand* a,
                   const coda_operand* b, const coda_argument* arguments, int32_t argument_count);

// Operands and arguments alone, of what goes by this name.
Call read_operands(const std::string& name, const coda_operand* a, const coda_operand* b,
                   const coda_argument* arguments, int32_t argument_count, bool has_operands);

// No structure of any version is larger: a size beyond it was never set.
inline constexpr uint64_t kMaxStructure = 4096;

// A structure that begins with its size, at least `first` bytes of it, into the one that this
// libcoda knows: members that the caller's version does not have become zero, those of a later
// version have to be.
void read_structure(const std::string& operation, const char* argument, const char* type,
                    uint64_t first, const void* from, void* to, uint64_t known);

coda_options read_options(const std::string& operation, const coda_options* options);

TensorView read_tensor(const std::string& operation, const char* argument, const coda_tensor& from);

}  // namespace coda::catalogue
