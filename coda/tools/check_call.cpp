#include "coda/tools/check_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "coda/core/random.h"

namespace coda::tools {
namespace {

using reference::Array;

std::string member_name(const PortView& port, int member, int members) {
  return members == 1 ? port.name : fmt::format("{}.{}", port.name, member);
}

// Rows of B's halves as they stand in its tensor: a head's first half, then its second.
Array join_row_halves(const Array& first, const Array& second, int64_t half) {
  return transpose(join_halves(transpose(first), transpose(second), half));
}

}  // namespace

CheckedCall::CheckedCall(const Case& c, const catalogue::Variant& variant,
                         const reference::Arrays& in)
    : case_(c), variant_(variant), in_(in) {
  Random random(mix(c.number, 0x6c61796f7574));  // apart from the streams that draw values
  if (c.drawn) {  // no operands; half of the cases aligned as vectors of 16 bytes ask for it
    anyhow_ = random.chance(0.5);
  } else {
    call_.a = add_operand("A", false, random);
    call_.b = add_operand("B", true, random);
  }
  for (const PortView& port : variant.program.ports) {
    if (c.given.contains(port.name)) add_port(port, random);
  }
  for (const std::string& name : variant.parameters) {
    const auto number = c.numbers.find(name);
    if (number != c.numbers.end()) call_.arguments.push_back({name, {}, number->second});
  }
  if (!c.in_place_output.empty()) {
    const auto argument = [&](const std::string& name) {
      return std::ranges::find(call_.arguments, name, &Argument::name);
    };
    argument(c.in_place_input)->tensors = argument(c.in_place_output)->tensors;
  }
}

// A row-major view with no data yet.
TensorView CheckedCall::draw_view(DType type, int64_t element_bytes, Extent extent, Major major,
                                  bool aligned, Random& random) const {
  TensorView view{nullptr, type, extent.rows, extent.columns, 0, major, element_bytes};
  view.ld = view.line() + random.pick(std::array<int64_t, 6>{0, 0, 1, 3, 8, 17});
  const int64_t step = aligned ? aligned_elements(element_bytes) : 1;
  view.ld = (view.ld + step - 1) / step * step;
  return view;
}

void CheckedCall::add_tensor(const PortView* port, const TensorView& view, int64_t row,
                             int64_t column, bool aligned, Random& random) {
  const int64_t step = aligned ? aligned_elements(view.element_bytes) : 1;
  const int64_t misalignment = random.between(0, 15) / step * step;
  pieces_.push_back({port, row, column, GuardedTensor(view, misalignment), {}});
}

OperandView CheckedCall::add_operand(const std::string& name, bool is_b, Random& random) {
  const Problem& problem = case_.problem;
  const int64_t half = problem.head_dim / 2;
  OperandView operand;
  const bool two = is_b && variant_.program.accumulators == 2;
  operand.accumulators = two ? 2 : 1;
  operand.head_dim = is_b ? problem.head_dim : 0;
  const bool cut_rows = case_.axis == (is_b ? Axis::kColumns : Axis::kRows);
  const bool cut_contraction = case_.axis == Axis::kContraction;
  operand.cut = cut_rows ? Cut::kRows : cut_contraction ? Cut::kContraction : Cut::kNone;
  const Segments& rows = is_b ? problem.columns : problem.rows;
  operand.segments = cut_rows ? rows.count : cut_contraction ? problem.contraction.count : 1;

  const bool halves = is_b && half != 0;
  for (int i = 0; i < (halves ? 1 : operand.accumulators); ++i) {
    const Array whole = halves ? join_row_halves(in_.at("B.first"), in_.at("B.second"), half)
                        : two  ? in_.at(i == 0 ? "B.first" : "B.second")
                               : in_.at(name);
    for (int s = 0; s < operand.segments; ++s) {
      const int64_t scale = halves ? 2 : 1;
      const int64_t row = cut_rows ? scale * rows.begin[s] : 0;
      const int64_t column = cut_contraction ? problem.contraction.begin[s] : 0;
      const Extent extent{cut_rows ? scale * rows.size(s) : whole.rows,
                          cut_contraction ? problem.contraction.size(s) : whole.columns};
      const DType type = variant_.operand;
      const auto& fixed = is_b ? case_.major_b : case_.major_a;
      const Major drawn = random.chance(0.5) ? Major::kColumn : Major::kRow;
      add_tensor(nullptr,
                 draw_view(type, dtype_bytes(type), extent, fixed.value_or(drawn), true, random),
                 row, column, true, random);
      Piece& piece = pieces_.back();
      piece.tensor.copy_from(whole, row, column);
      piece.original = piece.tensor.bytes();
      operand.part[i][s] = piece.tensor.view();
      if (halves) operand.part[1][s] = piece.tensor.view();
    }
  }
  return operand;
}

void CheckedCall::add_port(const PortView& port, Random& random) {
  const Problem& problem = case_.problem;
  Argument argument{port.name, {}, 0};
  const bool input = is_input(port.kind);
  if (port.kind == PortKind::kScalar && (port.choices > 0 || random.chance(0.5))) {
    argument.number = case_.numbers.at(port.name);
    call_.arguments.push_back(argument);
    return;
  }
  const bool shared = port.name == case_.in_place_input;
  for (int s = 0; s < port.segments && !shared; ++s) {
    Extent extent = case_.drawn ? case_.extent(port) : expected_extent(port, problem, s);
    if (port.kind == PortKind::kPerRowFrom) extent.rows = case_.parts;
    const bool table = port.kind == PortKind::kPairTable;
    if (table) extent.rows = case_.positions;
    const bool cut = port.segments > 1, rows = case_.axis == Axis::kRows;
    const int64_t begin = !cut    ? 0
                          : table ? s * extent.columns
                          : rows  ? problem.rows.begin[s]
                                  : problem.columns.begin[s] * (port.paired ? 2 : 1);
    const bool down = rows && port.kind != PortKind::kPerRow;
    const bool lines = port.kind == PortKind::kPerElement || port.kind == PortKind::kStore || table;
    const bool tile = !anyhow_ && lines;
    add_tensor(&port, draw_view(port.dtype, port.element_bytes, extent, Major::kRow, tile, random),
               down ? begin : 0, down ? 0 : begin, tile, random);
    Piece& piece = pieces_.back();
    for (int i = 0; input && i < piece.tensor.members(); ++i) {
      const Array& whole = in_.at(member_name(port, i, piece.tensor.members()));
      piece.tensor.copy_from(whole, piece.row, piece.column, i);
    }
    if (input) piece.original = piece.tensor.bytes();
    argument.tensors.push_back(piece.tensor.view());
  }
  call_.arguments.push_back(argument);
}

void CheckedCall::reset() {
  for (Piece& piece : pieces_) {
    if (piece.port == nullptr || is_input(piece.port->kind)) continue;
    piece.tensor.poison();
    if (piece.port->name == case_.in_place_output) {
      piece.tensor.copy_from(in_.at(case_.in_place_input), piece.row, piece.column);
    } else if (piece.port->updated && in_.contains(piece.port->name)) {
      piece.tensor.copy_from(in_.at(piece.port->name), piece.row, piece.column);
    }
  }
}

void CheckedCall::unify_nans() {
  for (Piece& piece : pieces_) {
    if (piece.original.empty()) piece.tensor.unify_nans();
  }
}

std::string CheckedCall::damage() const {
  for (const Piece& piece : pieces_) {
    const std::string name = piece.port == nullptr ? "operand" : piece.port->name;
    const GuardedTensor& tensor = piece.tensor;
    if (!piece.original.empty()) {
      if (piece.original != tensor.bytes()) return fmt::format("{}: the input was changed", name);
      continue;
    }
    const std::string beside = tensor.damage();
    if (!beside.empty()) return fmt::format("{}: {}", name, beside);
    for (int64_t i = 0; i < tensor.view().rows; ++i) {
      for (int64_t j = 0; j < tensor.view().columns; ++j) {
        if (!tensor.is_poison(i, j)) continue;
        return fmt::format("{}[{}, {}]: not written", name, piece.row + i, piece.column + j);
      }
    }
  }
  return "";
}

std::vector<std::span<std::byte>> CheckedCall::memory() {
  std::vector<std::span<std::byte>> result;
  for (Piece& piece : pieces_) result.emplace_back(piece.tensor.bytes());
  return result;
}

std::vector<std::byte> CheckedCall::output_bytes() const {
  std::vector<std::byte> result;
  for (const Piece& piece : pieces_) {
    if (!piece.original.empty()) continue;
    result.insert(result.end(), piece.tensor.bytes().begin(), piece.tensor.bytes().end());
  }
  return result;
}

reference::Arrays CheckedCall::outputs() const {
  reference::Arrays result;
  for (const Piece& piece : pieces_) {
    if (piece.port == nullptr || is_input(piece.port->kind)) continue;
    const Extent extent = case_.extent(*piece.port);
    for (int i = 0; i < piece.tensor.members(); ++i) {
      Array& array = result[member_name(*piece.port, i, piece.tensor.members())];
      if (array.size() == 0) array = Array(extent.rows, extent.columns);
      piece.tensor.copy_to(array, piece.row, piece.column, i);
    }
  }
  return result;
}

}  // namespace coda::tools
