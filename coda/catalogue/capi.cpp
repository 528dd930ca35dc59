#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "coda/catalogue/operation.h"
#include "coda/coda.h"
#include "coda/core/error.h"
#include "coda/version.h"

namespace coda::catalogue {
namespace {

thread_local std::string last_error;

// Names the operation in every message about its arguments.
struct Reader {
  std::string operation;

  [[noreturn]] void fail(const std::string& argument, const std::string& expected,
                         const std::string& got) const {
    fail_argument(operation, argument, expected, got);
  }

  DType dtype(const std::string& argument, int32_t dtype) const {
    switch (dtype) {
      case CODA_BF16: return DType::kBf16;
      case CODA_FP16: return DType::kFp16;
      case CODA_FP32: return DType::kFp32;
      case CODA_INT32: return DType::kInt32;
      case CODA_INT64: return DType::kInt64;
    }
    fail(argument, "a coda_dtype of 0 to 4", fmt::format("{}", dtype));
  }

  TensorView tensor(const std::string& argument, const coda_tensor& from) const {
    const DType type = dtype(argument, from.dtype);
    return {.data = from.data,
            .dtype = type,
            .rows = from.rows,
            .columns = from.columns,
            .ld = from.ld,
            .major = from.column_major != 0 ? Major::kColumn : Major::kRow,
            .element_bytes = dtype_bytes(type)};
  }

  int segments(const std::string& argument, int32_t count) const {
    if (count < 0 || count > kMaxSegments) {
      fail(argument, fmt::format("1 to {} segments", kMaxSegments), fmt::format("{}", count));
    }
    return count == 0 ? 1 : count;
  }

  Cut cut(const std::string& argument, const coda_operand& from, int segments) const {
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

  OperandView operand(const std::string& argument, const coda_operand* from) const {
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
    for (int i = 0; i < segments(from.name, from.segments); ++i) {
      result.tensors.push_back(tensor(from.name, from.tensors[i]));
    }
    return result;
  }
};

const Variant& first_variant(const Operation& operation, DType type) {
  const auto found = std::ranges::find(operation.variants, type, &Variant::operand);
  if (found == operation.variants.end()) {
    fail_argument(operation.name, "A", "elements of a type that a variant has (see coda list)",
                  dtype_name(type));
  }
  return *found;
}

void run(const char* operation_name, const char* variant_name, const coda_operand* a,
         const coda_operand* b, const coda_argument* arguments, int32_t argument_count,
         const coda_options* options) {
  if (operation_name == nullptr) throw Error("coda_run: expected an operation, got a null pointer");
  const Operation& operation = find_operation(operation_name);
  const Reader reader{operation.name};
  if (argument_count < 0 || (argument_count > 0 && arguments == nullptr)) {
    reader.fail("arguments", "an array of argument_count arguments",
                argument_count < 0 ? fmt::format("{}", argument_count) : "a null pointer");
  }
  Call call{reader.operand("A", a), reader.operand("B", b), {}};
  for (int i = 0; i < argument_count; ++i) call.arguments.push_back(reader.argument(arguments[i]));

  const DType type = call.a.part[0][0].dtype;
  const Variant& variant = variant_name != nullptr ? find_variant(operation, variant_name)
                                                   : first_variant(operation, type);
  if (variant.operand != type) {
    reader.fail("A",
                fmt::format("elements of type {} (variant '{}')", dtype_name(variant.operand),
                            variant.name),
                dtype_name(type));
  }
  cpu::Options cpu_options;
  if (options != nullptr) {
    if (options->threads < 0) {
      reader.fail("options.threads", "0 or more", fmt::format("{}", options->threads));
    }
    cpu_options.threads = options->threads;
    if (options->isa != nullptr) cpu_options.isa = cpu::parse_isa(options->isa);
  }
  variant.run_cpu(call, cpu_options);
}

// Where memory ran out the message may not fit either; the status still tells.
void remember(const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
}

}  // namespace
}  // namespace coda::catalogue

extern "C" {

coda_status coda_run(const char* operation, const char* variant, const coda_operand* a,
                     const coda_operand* b, const coda_argument* arguments, int32_t argument_count,
                     const coda_options* options) {
  try {
    coda::catalogue::run(operation, variant, a, b, arguments, argument_count, options);
    coda::catalogue::last_error.clear();
    return CODA_OK;
  } catch (const coda::Error& error) {
    coda::catalogue::remember(error.what());
    return CODA_BAD_ARGUMENT;
  } catch (const std::bad_alloc&) {
    coda::catalogue::remember("out of memory");
  } catch (const std::exception& error) {
    coda::catalogue::remember(error.what());
  } catch (...) {
    coda::catalogue::remember("unknown error");
  }
  return CODA_INTERNAL_ERROR;
}

const char* coda_last_error(void) { return coda::catalogue::last_error.c_str(); }

const char* coda_version(void) { return coda::kVersion; }

}  // extern "C"
