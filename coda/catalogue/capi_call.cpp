#include "coda/catalogue/capi_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "coda/core/error.h"
#include "coda/core/max_threads.h"

namespace coda::catalogue {
namespace {

// Names the operation in every message about its arguments.
struct Reader {
  const std::string& operation;

  [[noreturn]] void fail(const char* argument, const std::string& expected,
                         const std::string& got) const {
    fail_argument(operation, argument, expected, got);
  }

  DType dtype(const char* argument, int32_t dtype) const {
    switch (dtype) {
      case CODA_BF16: return DType::kBf16;
      case CODA_FP16: return DType::kFp16;
      case CODA_FP32: return DType::kFp32;
      case CODA_INT32: return DType::kInt32;
      case CODA_INT64: return DType::kInt64;
    }
    fail(argument, "a coda_dtype of 0 to 4", fmt::format("{}", dtype));
  }

  TensorView tensor(const char* argument, const coda_tensor& from) const {
    const DType type = dtype(argument, from.dtype);
    return {.data = from.data,
            .dtype = type,
            .rows = from.rows,
            .columns = from.columns,
            .ld = from.ld,
            .major = from.column_major != 0 ? Major::kColumn : Major::kRow,
            .element_bytes = dtype_bytes(type)};
  }

  int segments(const char* argument, int32_t count) const {
    if (count < 0 || count > kMaxSegments) {
      fail(argument, fmt::format("1 to {} segments", kMaxSegments), fmt::format("{}", count));
    }
    return count == 0 ? 1 : count;
  }

  Cut cut(const char* argument, const coda_operand& from, int segments) const {
    switch (from.cut) {
      case CODA_CUT_NONE:
        if (segments > 1) {
          fail(argument, "CODA_CUT_ROWS or CODA_CUT_CONTRACTION for several segments",
               "CODA_CUT_NONE");
        }
        return Cut::kNone;
      case CODA_CUT_ROWS: return segments > 1 ? Cut::kRows : Cut::kNone;
      case CODA_CUT_CONTRACTION: return segments > 1 ? Cut::kContraction : Cut::kNone;
    }
    fail(argument, "a coda_cut of 0 to 2", fmt::format("{}", from.cut));
  }

  OperandView operand(const char* argument, const coda_operand* from) const {
    if (from == nullptr || from->first == nullptr) fail(argument, "an operand", "a null pointer");
    if (from->second != nullptr && from->head_dim != 0) {
      fail(argument, "a pair or halves of heads", "both");
    }
    OperandView result;
    result.segments = segments(argument, from->segments);
    result.cut = cut(argument, *from, result.segments);
    result.head_dim = from->head_dim;
    result.accumulators = from->second != nullptr || from->head_dim != 0 ? 2 : 1;
    const coda_tensor* second = from->second != nullptr ? from->second : from->first;
    for (int i = 0; i < result.segments; ++i) {
      result.part[0][i] = tensor(argument, from->first[i]);
      if (result.accumulators == 2) result.part[1][i] = tensor(argument, second[i]);
    }
    return result;
  }

  Argument argument(const coda_argument& from) const {
    if (from.name == nullptr) fail("arguments", "a name for every argument", "a null pointer");
    Argument result{.name = from.name, .tensors = {}, .number = from.number};
    if (from.tensors == nullptr) return result;
    const int count = segments(from.name, from.segments);
    result.tensors.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      result.tensors.push_back(tensor(from.name, from.tensors[i]));
    }
    return result;
  }
};

// Without operands: the first one of all.
const Variant& first_variant(const Operation& operation, DType type) {
  if (!operation.has_operands) return operation.variants.front();
  const auto found = std::ranges::find(operation.variants, type, &Variant::operand);
  if (found == operation.variants.end()) {
    fail_argument(operation.name, "A", "elements of a type that a variant has (see coda list)",
                  dtype_name(type));
  }
  return *found;
}

}  // namespace

Call read_operands(const std::string& name, const coda_operand* a, const coda_operand* b,
                   const coda_argument* arguments, int32_t argument_count, bool has_operands) {
  const Reader reader{name};
  if (argument_count < 0 || (argument_count > 0 && arguments == nullptr)) {
    reader.fail("arguments", "an array of argument_count arguments",
                argument_count < 0 ? fmt::format("{}", argument_count) : "a null pointer");
  }
  Call result;
  if (has_operands) {
    result.a = reader.operand("A", a);
    result.b = reader.operand("B", b);
  } else if (a != nullptr || b != nullptr) {
    reader.fail(a != nullptr ? "A" : "B", "a null pointer (the operation has no operands)",
                "an operand");
  }
  result.arguments.reserve(static_cast<size_t>(argument_count));
  for (int i = 0; i < argument_count; ++i) {
    result.arguments.push_back(reader.argument(arguments[i]));
  }
  return result;
}

CApiCall read_call(const char* operation_name, const char* variant_name, const coda_operand* a,
                   const coda_operand* b, const coda_argument* arguments, int32_t argument_count) {
  if (operation_name == nullptr)
    throw Error("expected the name of an operation, got a null pointer");
  const Operation& operation = find_operation(operation_name);
  CApiCall result{
      &operation, nullptr,
      read_operands(operation.name, a, b, arguments, argument_count, operation.has_operands)};
  const DType type = result.call.a.part[0][0].dtype;
  result.variant = variant_name != nullptr ? &find_variant(operation, variant_name)
                                           : &first_variant(operation, type);
  if (operation.has_operands && result.variant->operand != type) {
    fail_argument(operation.name, "A",
                  fmt::format("elements of type {} (variant '{}')",
                              dtype_name(result.variant->operand), result.variant->name),
                  dtype_name(type));
  }
  return result;
}

void read_structure(const std::string& operation, const char* argument, const char* type,
                    uint64_t first, const void* from, void* to, uint64_t known) {
  const Reader reader{operation};
  uint64_t size = 0;
  std::memcpy(&size, from, sizeof(size));
  if (size < first || size > kMaxStructure) {
    reader.fail(argument, fmt::format("sizeof({}) = {}", type, known), fmt::format("{}", size));
  }
  const auto* bytes = static_cast<const std::byte*>(from);
  if (size > known &&
      std::any_of(bytes + known, bytes + size, [](std::byte b) { return b != std::byte{}; })) {
    reader.fail(argument, fmt::format("zeros beyond the {} bytes that this libcoda knows", known),
                "a member of a later version");
  }
  std::memset(to, 0, known);
  std::memcpy(to, from, std::min(size, known));
}

coda_options read_options(const std::string& operation, const coda_options* options) {
  coda_options result{};
  if (options == nullptr) return result;
  const Reader reader{operation};
  constexpr uint64_t kFirst = offsetof(coda_options, gpu) + sizeof(int32_t);  // of version 0.1
  read_structure(operation, "options.size", "coda_options", kFirst, options, &result,
                 sizeof(result));
  if (result.device != CODA_CPU && result.device != CODA_CUDA) {
    reader.fail("options.device", "CODA_CPU or CODA_CUDA", fmt::format("{}", result.device));
  }
  if (result.threads < 0 || result.threads > kMaxThreads) {
    reader.fail("options.threads", fmt::format("0 to {}", kMaxThreads),
                fmt::format("{}", result.threads));
  }
  if (result.gpu < 0) reader.fail("options.gpu", "0 or more", fmt::format("{}", result.gpu));
  if (result.workspace_bytes < 0) {
    reader.fail("options.workspace_bytes", "0 or more", fmt::format("{}", result.workspace_bytes));
  }
  return result;
}

TensorView read_tensor(const std::string& operation, const char* argument,
                       const coda_tensor& from) {
  return Reader{operation}.tensor(argument, from);
}

}  // namespace coda::catalogue
