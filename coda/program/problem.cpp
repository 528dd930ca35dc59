#include "coda/program/problem.h"

#include <fmt/format.h>

#include "coda/core/error.h"
#include "coda/program/check_view.h"
#include "coda/program/overlap.h"

namespace coda {
namespace {

[[noreturn]] void fail(const ProgramView& program, const std::string& argument,
                       const std::string& expected, const std::string& got) {
  fail_argument(program.name, argument, expected, got);
}

std::string extent_text(int64_t rows, int64_t columns) {
  return fmt::format("[{}, {}]", rows, columns);
}

void check_tensor(const ProgramView& program, const std::string& argument, const TensorView& view,
                  int64_t alignment) {
  if (view.rows > kMaxExtent || view.columns > kMaxExtent) {
    fail(program, argument, fmt::format("extents of at most {}", kMaxExtent),
         extent_text(view.rows, view.columns));
  }
  check_view(program.name, argument, view, alignment);
}

std::string part_name(const OperandView& operand, const char* letter, int accumulator,
                      int segment) {
  std::string name = letter;
  if (operand.accumulators == 2 && operand.head_dim == 0)
    name += accumulator == 0 ? ".first" : ".second";
  if (operand.segments > 1) name += fmt::format("[{}]", segment);
  return name;
}

void check_operand(const ProgramView& program, const OperandView& operand, const char* letter) {
  if (operand.segments < 1 || operand.segments > kMaxSegments) {
    fail(program, letter, fmt::format("1 to {} segments", kMaxSegments),
         fmt::format("{}", operand.segments));
  }
  if (operand.accumulators != 1 && operand.accumulators != 2) {
    fail(program, letter, "1 or 2 accumulators", fmt::format("{}", operand.accumulators));
  }
  if (operand.segments > 1 && operand.cut == Cut::kNone) {
    fail(program, letter, "a cut along the rows or the contraction for several segments", "none");
  }
  if (operand.head_dim != 0 && operand.accumulators != 2) {
    fail(program, letter, "two accumulators for halves of heads", "one");
  }
  for (int i = 0; i < operand.accumulators; ++i) {
    for (int s = 0; s < operand.segments; ++s) {
      const TensorView& view = operand.part[i][s];
      const std::string name = part_name(operand, letter, i, s);
      if (view.dtype != operand.part[0][0].dtype) {
        fail(program, name,
             fmt::format("elements of type {} as in the operand's first tensor",
                         dtype_name(operand.part[0][0].dtype)),
             dtype_name(view.dtype));
      }
      if (view.dtype != DType::kBf16 && view.dtype != DType::kFp16 && view.dtype != DType::kFp32) {
        fail(program, name, "elements of type bf16, fp16 or fp32", dtype_name(view.dtype));
      }
      if (view.element_bytes != dtype_bytes(view.dtype)) {
        fail(program, name, fmt::format("elements of {} bytes", dtype_bytes(view.dtype)),
             fmt::format("{}", view.element_bytes));
      }
      check_tensor(program, name, view, view.element_bytes);
      const TensorView& first = operand.part[0][s];
      if (view.rows != first.rows || view.columns != first.columns) {
        fail(program, name,
             fmt::format("{} as in its pair", extent_text(first.rows, first.columns)),
             extent_text(view.rows, view.columns));
      }
      if (operand.cut != Cut::kContraction && view.columns != operand.part[0][0].columns) {
        fail(program, name,
             fmt::format("a contraction of {} as in the first segment", operand.part[0][0].columns),
             fmt::format("{}", view.columns));
      }
      if (operand.cut == Cut::kContraction && view.rows != operand.part[0][0].rows) {
        fail(program, name, fmt::format("{} rows as in the first segment", operand.part[0][0].rows),
             fmt::format("{}", view.rows));
      }
    }
  }
}

void add_segment(Segments& segments, int64_t size) {
  segments.begin[segments.count + 1] = segments.begin[segments.count] + size;
  ++segments.count;
}

Segments row_segments(const OperandView& operand, int64_t divisor) {
  Segments result{0, {}};
  const int count = operand.cut == Cut::kRows ? operand.segments : 1;
  for (int s = 0; s < count; ++s) add_segment(result, operand.part[0][s].rows / divisor);
  return result;
}

Segments contraction_segments(const OperandView& operand) {
  Segments result{0, {}};
  const int count = operand.cut == Cut::kContraction ? operand.segments : 1;
  for (int s = 0; s < count; ++s) add_segment(result, operand.part[0][s].columns);
  return result;
}

Problem check_operands(const ProgramView& program, const OperandView& a, const OperandView& b) {
  check_operand(program, a, "A");
  check_operand(program, b, "B");
  if (a.accumulators != 1) fail(program, "A", "one operand for all accumulators", "a pair");
  if (b.accumulators != program.accumulators) {
    fail(program, "B",
         program.accumulators == 2
             ? "a pair of operands (coda::pair or coda::halves) for two accumulators"
             : "one operand for one accumulator",
         b.accumulators == 2 ? "a pair" : "a single operand");
  }
  if (a.part[0][0].dtype != b.part[0][0].dtype) {
    fail(program, "B", fmt::format("elements of type {} as in A", dtype_name(a.part[0][0].dtype)),
         dtype_name(b.part[0][0].dtype));
  }
  if (b.halved || b.head_dim != 0 || program.groups) {
    if (b.head_dim <= 0 || b.head_dim % 2 != 0)
      fail(program, "B", "halves with an even head_dim above 0", fmt::format("{}", b.head_dim));
    if (b.head_dim > kMaxHeadDim)
      fail(program, "B", fmt::format("a head_dim of at most {}", kMaxHeadDim),
           fmt::format("{}", b.head_dim));
    for (int s = 0; s < b.segments; ++s) {
      if (b.part[0][s].rows % b.head_dim != 0) {
        fail(program, part_name(b, "B", 0, s),
             fmt::format("a multiple of head_dim = {} rows", b.head_dim),
             fmt::format("{}", b.part[0][s].rows));
      }
    }
  }
  Problem problem;
  problem.head_dim = b.head_dim;
  problem.rows = row_segments(a, 1);
  problem.columns = row_segments(b, b.head_dim != 0 ? 2 : 1);
  problem.contraction = contraction_segments(a);
  const Segments other = contraction_segments(b);
  if (other.count != problem.contraction.count) {
    fail(program, "B",
         fmt::format("{} segments along the contraction as in A", problem.contraction.count),
         fmt::format("{}", other.count));
  }
  for (int s = 0; s < other.count; ++s) {
    if (other.size(s) != problem.contraction.size(s)) {
      const std::string name = other.count > 1 ? fmt::format("B[{}]", s) : "B";
      fail(program, name, fmt::format("a contraction of {} as in A", problem.contraction.size(s)),
           fmt::format("{}", other.size(s)));
    }
  }
  if (problem.M() > kMaxExtent)
    fail(program, "A", fmt::format("at most {} rows in all", kMaxExtent),
         fmt::format("{}", problem.M()));
  if (problem.N() > kMaxExtent)
    fail(program, "B", fmt::format("at most {} rows in all", kMaxExtent),
         fmt::format("{}", problem.N()));
  if (problem.rows.count > 1 && problem.columns.count > 1) {
    fail(program, "B", "segments along M or along N, not both",
         fmt::format("{} and {}", problem.rows.count, problem.columns.count));
  }
  return problem;
}

void check_choice(const ProgramView& program, const PortView& port) {
  const std::string expected = fmt::format("a number from 0 to {}", port.choices - 1);
  if (port.scalar_pointer != nullptr) fail(program, port.name, expected, "a pointer to one");
  if (port.choice < 0 || port.choice >= port.choices)
    fail(program, port.name, expected, fmt::format("{}", port.choice));
}

void check_port(const ProgramView& program, const PortView& port, const Problem& problem) {
  if (!port.given) {
    if (!port.optional)
      fail(program, port.name,
           port.choices > 0 ? fmt::format("a Choice, 0 to {}", port.choices - 1)
                            : fmt::format("a {} port {}", kind_name(port.kind), shape_name(port)),
           "nothing (it is missing)");
    return;
  }
  if (port.kind == PortKind::kScalar) {
    if (reinterpret_cast<uintptr_t>(port.scalar_pointer) % static_cast<uintptr_t>(port.alignment) !=
        0) {
      fail(program, port.name, fmt::format("data aligned to {} bytes", port.alignment),
           fmt::format("address {}", fmt::ptr(port.scalar_pointer)));
    }
    if (port.choices > 0) check_choice(program, port);
    return;
  }
  const bool along_rows = port.kind == PortKind::kPerRow;
  const bool table = port.kind == PortKind::kPairTable, head = port.kind == PortKind::kPerHead;
  if ((port.paired || head || table) && problem.head_dim == 0)
    fail(program, port.name,
         fmt::format("an operand B in halves for a {} port",
                     port.paired ? "paired" : kind_name(port.kind)),
         "one without");
  const int cuts = port.kind == PortKind::kPerRow      ? problem.rows.count
                   : port.kind == PortKind::kPerColumn ? problem.columns.count
                                                       : problem.rows.count * problem.columns.count;
  if (port.segments != 1 && port.segments != cuts && !table) {
    fail(program, port.name, fmt::format("1 segment or {} as the operand has", cuts),
         fmt::format("{}", port.segments));
  }
  for (int s = 0; s < port.segments; ++s) {
    const std::string name = port.segments > 1 ? fmt::format("{}[{}]", port.name, s) : port.name;
    const TensorView& view = port.view[s];
    const Extent want = expected_extent(port, problem, s);
    if (view.major != Major::kRow) fail(program, name, "a row-major view", "a column-major one");
    if (port.kind == PortKind::kPerRowFrom) {
      if (view.columns != want.columns)
        fail(program, name, fmt::format("partials of {} rows (M)", want.columns),
             fmt::format("{}", view.columns));
    } else if (table) {
      if (view.columns != want.columns)
        fail(program, name, fmt::format("{} columns (half of head_dim)", want.columns),
             fmt::format("{}", view.columns));
      if (view.rows != port.view[0].rows)
        fail(program, name, fmt::format("{} rows as in the first table", port.view[0].rows),
             fmt::format("{}", view.rows));
    } else if (view.rows != want.rows || view.columns != want.columns) {
      const bool vector = along_rows || port.kind == PortKind::kPerColumn || head;
      fail(program, name,
           vector ? fmt::format("{} values {}", want.columns, shape_name(port))
                  : fmt::format("{} {}", extent_text(want.rows, want.columns), shape_name(port)),
           vector && view.rows == 1 ? fmt::format("{}", view.columns)
                                    : extent_text(view.rows, view.columns));
    }
    check_tensor(program, name, view, port.alignment);
  }
}

}  // namespace

int64_t partial_count(const Segments& segments, int width) {
  int64_t count = 0;
  for (int s = 0; s < segments.count; ++s) count += (segments.size(s) + width - 1) / width;
  return count;
}

Extent expected_extent(const PortView& port, const Problem& problem, int segment) {
  const int64_t pairs = port.paired ? 2 : 1;
  const bool cut = port.segments > 1;
  const bool cut_rows = cut && problem.rows.count > 1,
             cut_columns = cut && problem.columns.count > 1;
  const int64_t m = cut_rows ? problem.rows.size(segment) : problem.M();
  const int64_t n = pairs * (cut_columns ? problem.columns.size(segment) : problem.N());
  switch (port.kind) {
    case PortKind::kPerRow: return {1, m};
    case PortKind::kPerColumn: return {1, n};
    case PortKind::kPerElement:
    case PortKind::kStore: return {m, n};
    case PortKind::kPerRowFrom: return {0, problem.M()};  // any number of parts
    case PortKind::kPerHead: return {1, pairs * problem.head_dim / 2};
    case PortKind::kPairTable: return {0, problem.head_dim / 2};  // any number of rows
    case PortKind::kRowReduce:
      return {partial_count(problem.columns, port.partial_width), problem.M()};
    case PortKind::kColumnReduce:
      return {partial_count(problem.rows, port.partial_width), problem.N()};
    case PortKind::kScalar: return {1, 1};
  }
  return {};
}

Problem validate(const ProgramView& program, const OperandView& a, const OperandView& b) {
  const Problem problem = check_operands(program, a, b);
  for (const PortView& port : program.ports) check_port(program, port, problem);
  check_overlap(program, a, b);
  return problem;
}

}  // namespace coda
