#include "coda/program/workspace.h"

#include <fmt/format.h>

#include "coda/core/error.h"
#include "coda/program/overlap.h"

namespace coda {

PortView workspace_port(const std::string& operation, const GivenWorkspace& given, int64_t needed,
                        int64_t alignment) {
  if (given.data == nullptr || given.bytes < needed) {
    fail_argument(operation, "workspace", fmt::format("at least {} bytes", needed),
                  given.data == nullptr ? "a null pointer" : fmt::format("{}", given.bytes));
  }
  if (reinterpret_cast<uintptr_t>(given.data) % static_cast<uintptr_t>(alignment) != 0) {
    fail_argument(operation, "workspace", fmt::format("memory aligned to {} bytes", alignment),
                  fmt::format("address {}", given.data));
  }
  PortView port;  // of all outputs the one that may not even be an input
  port.name = "workspace";
  port.kind = PortKind::kRowReduce;
  port.given = true;
  const int64_t floats = (needed + 3) / 4;
  port.view[0] = {const_cast<void*>(given.data), DType::kFp32, 1, floats, floats};
  return port;
}

void validate_workspace(const ProgramView& program, const OperandView& a, const OperandView& b,
                        const GivenWorkspace& given, int64_t needed) {
  ProgramView with = program;
  with.ports.push_back(workspace_port(program.name, given, needed));
  check_overlap(with, a, b);
}

}  // namespace coda
