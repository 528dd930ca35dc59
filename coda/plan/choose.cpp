#include "coda/plan/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "coda/core/error.h"
#include "coda/plan/tuning.h"

namespace coda::plan {
namespace {

using kernel::OperandMajor;

bool has_major(const OperandView& operand, OperandMajor major) {
  const Major wanted = major == OperandMajor::kContraction ? Major::kRow : Major::kColumn;
  for (int i = 0; i < operand.accumulators; ++i) {
    for (int s = 0; s < operand.segments; ++s) {
      const TensorView& view = operand.part[i][s];
      if (!view.empty() && view.major != wanted) return false;  // nobody reads an empty one
    }
  }
  return true;
}

// Whether TMA can cut every output's lines off: at multiples of 16 bytes.
bool has_whole_lines(const ProgramView& program, const OperandView& b) {
  constexpr int64_t kGranule = 16;
  const int segments = b.cut == Cut::kRows ? b.segments : 1;
  for (const PortView& port : program.ports) {
    if (port.kind != PortKind::kStore || !port.given) continue;
    for (int s = 0; s < segments; ++s) {
      if (b.part[0][s].rows * port.element_bytes % kGranule != 0) return false;
    }
  }
  return true;
}

// And choices other than the usual one.
uint32_t given_optional(const ProgramView& program) {
  uint32_t given = 0;
  for (size_t i = 0; i < program.ports.size(); ++i) {
    const PortView& port = program.ports[i];
    if ((port.optional && port.given) || port.choice != port.usual) given |= 1u << i;
  }
  return given;
}

std::string ports_text(const ProgramView& program, uint32_t given) {
  std::vector<std::string> names;
  for (size_t i = 0; i < program.ports.size(); ++i) {
    if ((given >> i & 1) != 0) names.push_back(program.ports[i].name);
  }
  return names.empty() ? "no optional port" : fmt::format("{}", fmt::join(names, " + "));
}

std::string major_text(const OperandView& operand) {
  const bool contraction = has_major(operand, OperandMajor::kContraction);
  const bool rows = has_major(operand, OperandMajor::kRows);
  return contraction ? "contraction-major" : rows ? "rows-major" : "in mixed majors";
}

const char* major_text(OperandMajor major) {
  return major == OperandMajor::kContraction ? "contraction-major" : "rows-major";
}

bool takes(const KernelEntry& kernel, const ProgramView& program, const OperandView& a,
           const OperandView& b) {
  const bool halves = kernel.halves ? takes_half(kernel, b.head_dim / 2) : b.head_dim == 0;
  return halves && kernel.operand == a.part[0][0].dtype && has_major(a, kernel.a) &&
         has_major(b, kernel.b) && kernel.given == (given_optional(program) & ~kernel.either);
}

// The head_dims that a kernel for the rest of this is compiled for.
std::vector<int64_t> compiled_heads(std::span<const KernelEntry> kernels,
                                    const ProgramView& program, const OperandView& a,
                                    OperandView b) {
  std::vector<int64_t> result;
  for (b.head_dim = 2; b.head_dim <= kMaxHeadDim; b.head_dim += 2) {
    if (std::ranges::any_of(kernels, [&](const auto& k) { return takes(k, program, a, b); })) {
      result.push_back(b.head_dim);
    }
  }
  return result;
}

[[noreturn]] void fail_choice(std::span<const KernelEntry> kernels, const ProgramView& program,
                              const OperandView& a, const OperandView& b) {
  if (b.head_dim != 0 && !program.halves) {
    throw Error(
        fmt::format("{}: argument 'B': expected a single operand or a pair on the GPU, got "
                    "halves of heads",
                    program.name));
  }
  const auto heads = compiled_heads(kernels, program, a, b);
  if (b.head_dim != 0 && !heads.empty() && std::ranges::count(heads, b.head_dim) == 0) {
    throw Error(
        fmt::format("{}: argument 'B': expected a head_dim of {} on the GPU (pad the heads of the "
                    "weights with zeros, or compile a kernel for it), got {}",
                    program.name, fmt::join(heads, ", "), b.head_dim));
  }
  if (std::ranges::any_of(kernels, [&](const auto& k) { return takes(k, program, a, b); })) {
    throw Error(
        fmt::format("{}: argument 'B': expected outputs whose lines are multiples of 16 bytes for "
                    "these majors and ports on the GPU, got {} rows (pad B and the outputs)",
                    program.name, b.part[0][0].rows));
  }
  std::vector<std::string> compiled;
  for (const KernelEntry& kernel : kernels) {
    std::string text =
        fmt::format("{}, A {}, B {}, {}", dtype_name(kernel.operand), major_text(kernel.a),
                    major_text(kernel.b), ports_text(program, kernel.given));
    if (std::ranges::count(compiled, text) == 0) compiled.push_back(std::move(text));
  }
  throw Error(fmt::format(
      "{}: no GPU kernel is compiled for {} operands, A {}, B {}, with {}; there are: {}",
      program.name, dtype_name(a.part[0][0].dtype), major_text(a), major_text(b),
      ports_text(program, given_optional(program)), fmt::join(compiled, "; ")));
}

}  // namespace

std::string config_name(const kernel::TileConfig& config) {
  return fmt::format("{}{}x{}_s{}_c{}x{}_n{}{}", config.pingpong ? "pp" : "co", config.rows,
                     config.columns, config.stages, config.cluster_rows, config.cluster_columns,
                     config.sub_columns, config.in_place ? "" : "_apart");
}

bool fits(const KernelEntry& kernel, const ProgramView& program, const OperandView& a,
          const OperandView& b) {
  return takes(kernel, program, a, b) && (kernel.any_columns || has_whole_lines(program, b));
}

const KernelEntry& choose(std::span<const KernelEntry> kernels, const ProgramView& program,
                          const Problem& problem, const OperandView& a, const OperandView& b,
                          const Device& device) {
  const KernelEntry* best = nullptr;
  double least = 0;
  for (const KernelEntry& kernel : kernels) {
    if (!fits(kernel, program, a, b)) continue;
    const double clocks = predict_clocks(kernel, program, problem, device);
    if (best == nullptr || clocks < least) {
      best = &kernel;
      least = clocks;
    }
  }
  if (best == nullptr) fail_choice(kernels, program, a, b);
  return *best;
}

const KernelEntry& pick(const KernelEntry* asked, std::span<const KernelEntry> kernels,
                        const ProgramView& program, const LaunchRequest& request,
                        const Device& device) {
  if (asked == nullptr) {
    const TuningCache* tuning = tuning_in_use();
    const KernelEntry* tuned =
        tuning == nullptr ? nullptr : tuned_kernel(*tuning, kernels, program, request, device);
    if (tuned != nullptr) return *tuned;
    return choose(kernels, program, *request.problem, *request.a, *request.b, device);
  }
  if (fits(*asked, program, *request.a, *request.b)) return *asked;
  throw Error(
      fmt::format("{}: the kernel asked for, {}, is not compiled for these operands and ports",
                  program.name, config_name(asked->config)));
}

}  // namespace coda::plan
