// Memory that an operation needs between its arguments, given by its caller. Host only.
#pragma once
#include <string>

#include "coda/program/describe.h"
#include "coda/program/operand.h"

namespace coda {

inline constexpr int64_t kWorkspaceAlignment = 256;

struct GivenWorkspace {
  const void* data = nullptr;
  int64_t bytes = 0;
};

// What is left to check once it is a port among the others: that it shares no memory with them.
// Throws coda::Error for a workspace that is null, too small or misaligned.
PortView workspace_port(const std::string& operation, const GivenWorkspace& given, int64_t needed,
                        int64_t alignment = kWorkspaceAlignment);

// That too, beside the ports of a program that has been validated.
void validate_workspace(const ProgramView& program, const OperandView& a, const OperandView& b,
                        const GivenWorkspace& given, int64_t needed);

}  // namespace coda
