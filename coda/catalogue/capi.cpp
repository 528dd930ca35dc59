#include <fmt/format.h>

#include "coda/catalogue/capi_call.h"
#include "coda/catalogue/capi_guard.h"
#include "coda/catalogue/capi_port.h"
#include "coda/catalogue/capi_target.h"
#include "coda/core/error.h"
#include "coda/version.h"

namespace coda::catalogue {
namespace {

// Before a call on the GPU: the build has it, and the variant runs there.
void check_cuda(const CApiCall& call) {
#if defined(CODA_HAS_CUDA)
  if (call.variant->run_cuda != nullptr) return;
  throw DeviceError(fmt::format("{}: variant '{}' has no kernels for CUDA (see coda list)",
                                call.operation->name, call.variant->name));
#else
  throw DeviceError(
      fmt::format("{}: options.device: expected CODA_CPU, got CODA_CUDA: this libcoda was built "
                  "without CUDA",
                  call.operation->name));
#endif
}

void run(const CApiCall& call, const coda_options& options) {
  if (options.device == CODA_CUDA) {
    check_cuda(call);
#if defined(CODA_HAS_CUDA)
    call.variant->run_cuda(call.call, target_of(options));
#endif
    return;
  }
  cpu::Options cpu_options;
  cpu_options.threads = options.threads;
  if (options.isa != nullptr) cpu_options.isa = cpu::parse_isa(options.isa);
  call.variant->run_cpu(call.call, cpu_options);
}

int64_t workspace_bytes(const CApiCall& call, const coda_options& options) {
  if (options.device == CODA_CPU) return 0;
  check_cuda(call);
#if defined(CODA_HAS_CUDA)
  if (call.variant->cuda_workspace_bytes != nullptr) {
    return call.variant->cuda_workspace_bytes(call.call, target_of(options));
  }
#endif
  return 0;
}

const Operation& operation_named(const char* name) {
  if (name == nullptr) throw Error("expected the name of an operation, got a null pointer");
  return find_operation(name);
}

const Variant& variant_named(const char* operation, const char* variant) {
  if (variant == nullptr) throw Error("expected the name of a variant, got a null pointer");
  return find_variant(operation_named(operation), variant);
}

}  // namespace
}  // namespace coda::catalogue

using namespace coda::catalogue;

extern "C" {

coda_status coda_run(const char* operation, const char* variant, const coda_operand* a,
                     const coda_operand* b, const coda_argument* arguments, int32_t argument_count,
                     const coda_options* options) {
  return guarded([&] {
    const CApiCall call = read_call(operation, variant, a, b, arguments, argument_count);
    run(call, read_options(call.operation->name, options));
  });
}

coda_status coda_workspace_bytes(const char* operation, const char* variant, const coda_operand* a,
                                 const coda_operand* b, const coda_argument* arguments,
                                 int32_t argument_count, const coda_options* options,
                                 int64_t* bytes) {
  return guarded([&] {
    if (bytes == nullptr) throw coda::Error("coda_workspace_bytes: bytes: got a null pointer");
    const CApiCall call = read_call(operation, variant, a, b, arguments, argument_count);
    *bytes = workspace_bytes(call, read_options(call.operation->name, options));
  });
}

const char* coda_operation_name(int32_t index) {
  const char* result = nullptr;
  guarded([&] { result = at("operation", operations(), index)->name.c_str(); });
  return result;
}

const char* coda_variant_name(const char* operation, int32_t index) {
  const char* result = nullptr;
  guarded([&] { result = at("variant", operation_named(operation).variants, index).name.c_str(); });
  return result;
}

const char* coda_parameter_name(const char* operation, const char* variant, int32_t index) {
  const char* result = nullptr;
  guarded([&] {
    result = at("parameter", variant_named(operation, variant).parameters, index).c_str();
  });
  return result;
}

int32_t coda_has_operands(const char* operation) {
  int32_t result = -1;
  guarded([&] { result = operation_named(operation).has_operands ? 1 : 0; });
  return result;
}

coda_status coda_get_port(const char* operation, const char* variant, int32_t index,
                          coda_port* port) {
  return guarded([&] { write_port(variant_named(operation, variant).program.ports, index, port); });
}

const char* coda_last_error(void) { return last_error.c_str(); }

const char* coda_version(void) { return coda::kVersion; }

const char* coda_commit(void) { return coda::kCommit; }

}  // extern "C"
