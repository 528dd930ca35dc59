// What authors' programs are compiled to: a shared object with a function for each, which gives the
// operation. Included by the sources that compile.h writes.
#pragma once
#include "coda/author/cases.h"
#include "coda/catalogue/operation.h"

namespace coda::catalogue {
struct SimulatedProgram;  // simulated.h
}

namespace coda::author {

struct Registration {
  // Of the headers that the object was compiled with; the process may have been built from others.
  size_t operation_bytes = sizeof(catalogue::Operation);
  size_t variant_bytes = sizeof(catalogue::Variant);
  const catalogue::Operation* operation = nullptr;
  std::span<const catalogue::SimulatedProgram> simulated = {};
};

inline constexpr const char* kRegistrationPrefix = "coda_author_";  // and the program's name

namespace detail {
template <class P, class T>
catalogue::Variant variant_of(const Cases& cases, const catalogue::GpuProgram& gpu = {}) {
  catalogue::Variant result = catalogue::variant<P>(dtype_name(dtype_of<T>), dtype_of<T>, gpu);
  result.values = cases.values;
  return result;
}
}  // namespace detail

// A variant for every type of operands: of a program that is a template over it, or of one program
// with all of them. formula: nullptr where there is none.
template <class Bf16, class Fp16, class Fp32>
catalogue::Operation operation(const char* name, const char* file, reference::Formula formula,
                               const Cases& cases, const catalogue::GpuProgram& gpu_bf16 = {},
                               const catalogue::GpuProgram& gpu_fp16 = {}) {
  return {.name = name,
          .formula = "",
          .summary = "",
          .variants = {detail::variant_of<Bf16, bf16>(cases, gpu_bf16),
                       detail::variant_of<Fp16, fp16>(cases, gpu_fp16),
                       detail::variant_of<Fp32, float>(cases)},
          .reference = formula,
          .exact = cases.exact,
          .file = file};
}

}  // namespace coda::author
