#include "coda/author/traced_program.h"

#include <fmt/format.h>

#include "coda/core/error.h"
#include "coda/cpu/run.h"
#include "coda/trace/print_cpp.h"

namespace coda::author {

TracedProgram::TracedProgram(trace::Graph graph, DType operand)
    : graph_(std::move(graph)), operand_(operand) {
  const std::string type = trace::camel_case(graph_.program.name);
  source_ = trace::print_cpp(graph_,
                             {.type = type, .head = trace::print_formula(graph_), .comments = {}});
  text_ = {.name = graph_.program.name,
           .text = fmt::format("#include \"coda/program/angle.h\"\nnamespace coda::own {{\n{}}}",
                               source_),
           .type = "coda::own::" + type,
           .bytes = program_bytes(graph_.program)};
  for (const PortView& port : graph_.program.ports) {
    if (port.kind == PortKind::kColumnReduce) {
      scratch_per_column_ += port.element_bytes / dtype_bytes(DType::kFp32);
    }
  }
}

void TracedProgram::check_operand(const catalogue::Call& call) const {
  const DType type = call.a.part[0][0].dtype;
  if (type == operand_) return;
  fail_argument(view().name, "A", fmt::format("elements of type {}", dtype_name(operand_)),
                dtype_name(type));
}

HostEpilogue TracedProgram::epilogue(cpu::Isa isa) {
  const std::lock_guard lock(mutex_);
  std::optional<HostEpilogue>& known = epilogues_.at(static_cast<size_t>(isa));
  if (!known) known = compile_epilogue(text_, isa);
  return *known;
}

void TracedProgram::run_cpu(const catalogue::Call& call, const cpu::Options& options) {
  check_operand(call);
  const BoundProgram bound(view(), call.arguments);
  const Problem problem = validate(bound.view(), call.a, call.b);
  const bool nothing = view().ports.empty();  // derived, and no output depends on what was asked
  if (nothing || problem.M() == 0 || problem.N() == 0) return;
  const cpu::Isa isa = cpu::chosen_isa(view().name.c_str(), options);
  const HostEpilogue compiled = epilogue(isa);
  cpu::ProgramRun run;
  run.program = bound.data();
  run.epilogue[static_cast<int>(isa)] = compiled.epilogue;
  run.prefetch = compiled.prefetch;
  run.scratch_per_column = scratch_per_column_;
  cpu::execute(problem, call.a, call.b, run, {options.threads, isa});
}

}  // namespace coda::author
