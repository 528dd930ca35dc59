#include "coda/tools/workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "coda/block/call.h"
#include "coda/core/random.h"

namespace coda::tools {
namespace {

constexpr size_t kAlignment = 64;

// In multiples of `unit`, which divides the total.
Segments cut_evenly(int64_t total, int count, int64_t unit = 1) {
  Segments result{count, {}};
  for (int i = 1; i <= count; ++i) result.begin[i] = total / unit * i / count * unit;
  return result;
}

template <class T, class Value>
void generate(void* data, int64_t count, Value&& value) {
  T* elements = static_cast<T*>(data);
  for (int64_t i = 0; i < count; ++i) elements[i] = value();
}

// How many indices are drawn from, of targets and of rows in a table.
int64_t indices(int64_t N) { return std::max<int64_t>(N, 1); }

}  // namespace

std::vector<std::string> given_optional_ports(const ProgramView& program,
                                              const catalogue::Call& call) {
  std::vector<std::string> result;
  for (const PortView& port : program.ports) {
    if (port.optional && find_argument(call.arguments, port.name) != nullptr) {
      result.push_back(port.name);
    }
  }
  return result;
}

Extent workload_extent(const PortView& port, const Problem& problem, int segment) {
  Extent extent = expected_extent(port, problem, segment);
  if (port.kind == PortKind::kPerRowFrom) {
    extent.rows = partial_count(problem.contraction, kPartialWidth);
  }
  if (port.kind == PortKind::kPairTable) extent.rows = indices(problem.N());
  return extent;
}

std::vector<Argument> workload_parameters(const catalogue::Variant& variant, int64_t K) {
  std::vector<Argument> result;
  for (const std::string& parameter : variant.parameters) {
    const bool width = parameter.ends_with(".width");
    result.push_back({parameter, {}, width ? static_cast<double>(K) : 1e-5});
  }
  return result;
}

Workload::Workload(const catalogue::Variant& variant, const Shape& shape, bool all_ports)
    : variant_(&variant), shape_(shape) {
  const ProgramView& program = variant.program;
  int row_cuts = 1, column_cuts = 1;
  for (const PortView& port : program.ports) {
    if (port.kind == PortKind::kPairTable) continue;
    int& cuts = port.kind == PortKind::kPerRow ? row_cuts : column_cuts;
    cuts = std::max(cuts, port.segments);
  }
  if (row_cuts > 1) column_cuts = 1;  // ports over M and N are then cut along M
  const bool halves = program.halves;
  const int64_t scale = halves ? 2 : 1;
  Problem problem;
  problem.rows = cut_evenly(shape.M, row_cuts);
  const int64_t head_dim = shape.N % 64 == 0 ? 128 : 2;
  problem.columns = cut_evenly(shape.N, column_cuts, halves ? head_dim / 2 : 1);
  problem.contraction = cut_evenly(shape.K, 1);
  call_.a = operand(problem.rows, 1);
  call_.b = operand(problem.columns, scale);
  if (program.accumulators == 2) {
    call_.b.accumulators = 2;
    const OperandView second = halves ? call_.b : operand(problem.columns, scale);
    std::ranges::copy(second.part[0], call_.b.part[1]);
  }
  if (halves) problem.head_dim = call_.b.head_dim = head_dim;
  for (const PortView& port : program.ports) {
    const bool kept = port.kind == PortKind::kPerRowFrom || port.kind == PortKind::kPerHead;
    const bool left_out = port.optional && !all_ports && !kept;
    if (!left_out && !port.given) call_.arguments.push_back(argument(port, problem));
  }
  block::append(call_.arguments, workload_parameters(variant, shape.K));
}

double Workload::flops() const {
  return 2.0 * static_cast<double>(shape_.M) * static_cast<double>(shape_.N) *
         static_cast<double>(shape_.K) * variant_->program.accumulators;
}

OperandView Workload::operand(const Segments& cuts, int64_t scale) {
  OperandView result;
  result.segments = cuts.count;
  result.cut = cuts.count > 1 ? Cut::kRows : Cut::kNone;
  for (int i = 0; i < cuts.count; ++i) {
    const Extent extent{scale * cuts.size(i), shape_.K};
    result.part[0][i] =
        tensor(variant_->operand, dtype_bytes(variant_->operand), extent, Fill::kNormal);
  }
  return result;
}

Argument Workload::argument(const PortView& port, const Problem& problem) {
  const double number = port.choices > 0 ? static_cast<double>(port.usual) : 1;
  Argument result{.name = port.name, .tensors = {}, .number = number};
  if (port.kind == PortKind::kScalar) return result;
  const Fill fill = !is_input(port.kind)                 ? Fill::kZero
                    : port.kind == PortKind::kPerRowFrom ? Fill::kPositive
                    : is_integer(port.dtype)             ? Fill::kIndex
                                                         : Fill::kNormal;
  for (int i = 0; i < port.segments; ++i) {
    const Extent extent = workload_extent(port, problem, i);
    result.tensors.push_back(tensor(port.dtype, port.element_bytes, extent, fill));
  }
  return result;
}

TensorView Workload::tensor(DType dtype, int64_t element_bytes, Extent extent, Fill fill) {
  const int64_t count = extent.rows * extent.columns;
  const auto bytes = static_cast<size_t>(count * element_bytes);
  void* data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (data == nullptr) throw std::bad_alloc();
  memory_.emplace_back(data);
  Random random(memory_.size());
  const auto value = [&] {
    const auto x = static_cast<float>(random.normal());
    return fill == Fill::kPositive ? std::abs(x) : x;
  };
  if (fill == Fill::kZero) {
    std::memset(data, 0, bytes);
  } else if (fill == Fill::kIndex) {
    const auto column = [&] { return random.between(0, indices(shape_.N) - 1); };
    if (dtype == DType::kInt64) generate<int64_t>(data, count, column);
    if (dtype == DType::kInt32) {
      generate<int32_t>(data, count, [&] { return static_cast<int32_t>(column()); });
    }
  } else if (dtype == DType::kBf16) {
    generate<bf16>(data, count, [&] { return from_float<bf16>(value()); });
  } else if (dtype == DType::kFp16) {
    generate<fp16>(data, count, [&] { return from_float<fp16>(value()); });
  } else {  // fp32, and states, which are made of it
    generate<float>(data, static_cast<int64_t>(bytes / sizeof(float)), value);
  }
  return {data, dtype, extent.rows, extent.columns, extent.columns, Major::kRow, element_bytes};
}

}  // namespace coda::tools
