#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <set>

#include "coda/catalogue/capi_call.h"
#include "coda/catalogue/capi_guard.h"
#include "coda/core/error.h"
#include "coda/version.h"
#if defined(CODA_HAS_CUDA)
#include "coda/plan/cuda.h"
#endif

namespace coda::catalogue {
namespace {

#if defined(CODA_HAS_CUDA)
cuda::Target target_of(const coda_options& options) {
  return {.device = options.gpu,
          .stream = static_cast<cudaStream_t>(options.stream),
          .workspace = options.workspace,
          .workspace_bytes = options.workspace_bytes};
}
#endif

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

template <class List>
const auto& at(const char* what, const List& list, int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= list.size()) {
    throw Error(fmt::format("expected a {} below {}, got {}", what, list.size(), index));
  }
  return list[static_cast<size_t>(index)];
}

const Operation& operation_named(const char* name) {
  if (name == nullptr) throw Error("expected the name of an operation, got a null pointer");
  return find_operation(name);
}

const Variant& variant_named(const char* operation, const char* variant) {
  if (variant == nullptr) throw Error("expected the name of a variant, got a null pointer");
  return find_variant(operation_named(operation), variant);
}

// A text that lives as long as the library.
const char* keep(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  const std::scoped_lock lock(mutex);
  return texts.insert(text).first->c_str();
}

int32_t dtype_code(DType type) {
  switch (type) {
    case DType::kBf16: return CODA_BF16;
    case DType::kFp16: return CODA_FP16;
    case DType::kInt32: return CODA_INT32;
    case DType::kInt64: return CODA_INT64;
    case DType::kFp32:
    case DType::kState: break;
  }
  return CODA_FP32;
}

coda_port port_of(const PortView& port) {
  const bool state = port.dtype == DType::kState;
  return {
      .size = sizeof(coda_port),
      .name = port.name.c_str(),
      .kind = kind_name(port.kind),
      .shape = keep(shape_name(port)),
      .dtype = dtype_code(port.dtype),
      .numbers = static_cast<int32_t>(state ? port.element_bytes / dtype_bytes(DType::kFp32) : 1),
      .output = is_input(port.kind) ? 0 : 1,
      .optional = port.optional || port.given ? 1 : 0,
      .segments = port.segments};
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
  return guarded([&] {
    constexpr uint64_t kFirst = offsetof(coda_port, segments) + sizeof(int32_t);  // of version 0.1
    if (port == nullptr || port->size < kFirst) {
      throw coda::Error(fmt::format(
          "coda_get_port: port: expected a coda_port of size {}, got {}", sizeof(coda_port),
          port == nullptr ? "a null pointer" : fmt::format("one of {}", port->size)));
    }
    const uint64_t size = port->size;
    const coda_port found =
        port_of(at("port", variant_named(operation, variant).program.ports, index));
    std::memset(port, 0, size);
    std::memcpy(port, &found, std::min<uint64_t>(size, sizeof(found)));
    port->size = size;
  });
}

const char* coda_last_error(void) { return last_error.c_str(); }

const char* coda_version(void) { return coda::kVersion; }

const char* coda_commit(void) { return coda::kCommit; }

}  // extern "C"
