// An author's program without anything that runs it: its graphs, and the kernels a GPU would have.
// Included by sources that compile_host.cpp writes for `coda explain` and `coda derive`.
#pragma once
#include "coda/author/kernels.h"
#include "coda/author/registration.h"

namespace coda::author {

namespace detail {
template <class... K>
std::span<const plan::KernelEntry> planned_entries(plan::KernelList<K...>) {
  static const plan::KernelEntry list[] = {plan::make_entry<K>(nullptr)...};
  return list;
}

template <class P, class T>
std::span<const plan::KernelEntry> planned_kernels() {
  require_kernels<P>();
  if constexpr (has_kernels<P>()) {
    return planned_entries(all_kernels<P, T>());
  } else {
    return {};
  }
}

template <class P, class T>
catalogue::Variant planned_variant() {
  catalogue::Variant result;
  result.name = dtype_name(dtype_of<T>);
  result.operand = dtype_of<T>;
  result.program = describe(P{});
  result.type = typeid(P);
  if constexpr (!std::is_same_v<T, float>) result.cuda_kernels = &planned_kernels<P, T>;
  result.trace = &trace::run_instance<P>;
  return result;
}
}  // namespace detail

// As operation() of registration.h.
template <class Bf16, class Fp16, class Fp32>
catalogue::Operation planned_operation(const char* name, const char* file) {
  return {.name = name,
          .formula = "",
          .summary = "",
          .variants = {detail::planned_variant<Bf16, bf16>(), detail::planned_variant<Fp16, fp16>(),
                       detail::planned_variant<Fp32, float>()},
          .reference = nullptr,
          .exact = {},
          .file = file};
}

}  // namespace coda::author
