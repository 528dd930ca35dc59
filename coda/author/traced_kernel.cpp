#include "coda/author/traced_kernel.h"

#include <fmt/format.h>

#include "coda/author/bound_program.h"
#include "coda/kernel/grid.h"

namespace coda::author {

static_assert(alignof(kernel::Grid) == 8 && sizeof(kernel::Grid) % 8 == 0 &&
              alignof(kernel::Workspace) == 8 && alignof(kernel::Pace) == 8);

ArgumentLayout::ArgumentLayout(const ProgramView& view) {
  program = (kOperandMaps + view.ports.size() * kMaxSegments) * kMapBytes;
  grid = program + program_bytes(view);
  const size_t end = grid + sizeof(kernel::Grid) + sizeof(kernel::Workspace) + sizeof(kernel::Pace);
  bytes = (end + kAlignment - 1) / kAlignment * kAlignment;
}

namespace {

plan::MapRequest lines_of(const TensorView& view, int box_lines) {
  return {view.data, view.dtype, view.columns, view.rows, view.ld * view.element_bytes,
          64,        box_lines};
}

// The part of a tile port that a segment of the output covers.
plan::MapRequest segment_of(const PortView& port, const Problem& problem, int segment,
                            int box_columns) {
  const TensorView& view = port.view[0];
  const bool by_rows = problem.rows.count > 1;
  const int row_segment = by_rows ? segment : 0, column_segment = by_rows ? 0 : segment;
  const int64_t first =
      problem.rows.begin[row_segment] * view.ld + problem.columns.begin[column_segment];
  return {static_cast<const std::byte*>(view.data) + first * view.element_bytes,
          view.dtype,
          problem.columns.size(column_segment),
          problem.rows.size(row_segment),
          view.ld * view.element_bytes,
          box_columns,
          port.kind == PortKind::kStore ? 16 : 64};
}

}  // namespace

std::vector<PlacedMap> traced_maps(const ProgramView& view, const plan::LaunchRequest& request,
                                   int tile) {
  const kernel::TileConfig config = kernel::kTileConfigs[tile];
  const int lines_b =
      config.columns / view.accumulators / (view.accumulators == 2 ? 1 : config.cluster_rows);
  std::vector<PlacedMap> maps;
  const auto place = [&](size_t tensor, int segment, const plan::MapRequest& map) {
    maps.push_back({tensor * kMaxSegments + static_cast<size_t>(segment), map});
  };
  for (int s = 0; s < request.a->segments; ++s) {
    place(0, s, lines_of(request.a->part[0][s], config.rows / config.cluster_columns));
  }
  for (int i = 0; i < view.accumulators; ++i) {
    for (int s = 0; s < request.b->segments; ++s) {
      place(1 + static_cast<size_t>(i), s, lines_of(request.b->part[i][s], lines_b));
    }
  }
  const int segments = request.problem->rows.count * request.problem->columns.count;
  for (size_t i = 0; i < view.ports.size(); ++i) {
    const PortView& port = view.ports[i];
    if (port.kind != PortKind::kStore && port.kind != PortKind::kPerElement) continue;
    for (int s = 0; s < segments; ++s) {
      place(ArgumentLayout::kOperands + i, s,
            segment_of(port, *request.problem, s, config.sub_columns));
    }
  }
  return maps;
}

KernelSource traced_kernel(const ProgramText& text, const ProgramView& view, DType operand,
                           const TileFacts& facts) {
  const std::string element = fmt::format("coda::{}", dtype_name(operand));
  return {.program = {},
          .text = fmt::format(
              R"({0}
static_assert(sizeof({1}) == {2} && sizeof(coda::kernel::Grid) == {3} &&
              sizeof(coda::kernel::Arguments<{1}>) == {4} &&
              coda::kernel::KernelTraits<{1}, {5}, {6}, coda::kernel::OperandMajor::kContraction,
                                         coda::kernel::OperandMajor::kContraction,
                                         0>::kSharedBytes == {7});)",
              text.text, text.type, text.bytes, sizeof(kernel::Grid), ArgumentLayout(view).bytes,
              element, facts.tile, facts.shared_bytes),
          .type = text.type,
          .operand = element,
          .tile = facts.tile};
}

}  // namespace coda::author
