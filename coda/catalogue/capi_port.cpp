#include "coda/catalogue/capi_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <set>

#include "coda/catalogue/capi_call.h"
#include "coda/core/error.h"

namespace coda::catalogue {
namespace {

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

void fail_index(const char* what, size_t count, int32_t index) {
  throw Error(fmt::format("expected a {} below {}, got {}", what, count, index));
}

void write_port(const std::vector<PortView>& ports, int32_t index, coda_port* port) {
  constexpr uint64_t kFirst = offsetof(coda_port, segments) + sizeof(int32_t);  // of version 0.1
  if (port == nullptr || port->size < kFirst || port->size > kMaxStructure) {
    throw Error(fmt::format(
        "coda_get_port: port: expected a coda_port of size {}, got {}", sizeof(coda_port),
        port == nullptr ? "a null pointer" : fmt::format("one of {}", port->size)));
  }
  const uint64_t size = port->size;
  const coda_port found = port_of(at("port", ports, index));
  std::memset(port, 0, size);
  std::memcpy(port, &found, std::min<uint64_t>(size, sizeof(found)));
  port->size = size;
}

}  // namespace coda::catalogue
