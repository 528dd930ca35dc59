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
