#include "coda/author/host_sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "coda/author/registration.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

// The program for operands of each type.
std::array<std::string, 3> instances(const ProgramFiles& program) {
  const std::string type = "::" + struct_name(program.name);
  if (!program.is_template) return {type, type, type};
  return {type + "<coda::bf16>", type + "<coda::fp16>", type + "<float>"};
}

constexpr const char* kOperands[] = {"bf16", "fp16"};  // that kernels take

// What the shared object shows. A rule that the program as a whole breaks is shown at its struct.
std::string shown_function(const ProgramFiles& program, const std::string& operation,
                           const std::string& simulated) {
  return fmt::format(R"(
extern "C" __attribute__((visibility("default"))) const coda::author::Registration*
{}{}() {{
#line {} "{}"
  static const coda::catalogue::Operation operation = coda::author::{};
{}  static const coda::author::Registration registration{{.operation = &operation{}}};
  return &registration;
}}
)",
                     kRegistrationPrefix, program.name, program.line, program.program.string(),
                     operation, simulated, simulated.empty() ? "" : ", .simulated = simulated");
}

// A rule that the struct as a whole breaks is then shown at its line.
std::string at_struct(const ProgramFiles& program, const std::string& line) {
  return fmt::format("#line {} \"{}\"\n{}\n", program.line, program.program.string(), line);
}

std::string include(const fs::path& file) {
  return file.empty() ? "" : fmt::format("#include \"{}\"\n", file.string());
}

}  // namespace

std::string epilogues_source(std::span<const ProgramFiles> programs) {
  std::string text = "#include \"coda/cpu/instantiate.h\"\n";
  for (const ProgramFiles& program : programs) {
    text += include(program.program);
    for (const std::string& instance : instances(program)) {
      text +=
          at_struct(program, fmt::format("static_assert(coda::check_call<{0}, coda::cpu::RowTile<"
                                         "{0}, coda::cpu::kThisIsa, coda::kPartialWidth>>());",
                                         instance));
      text += at_struct(program, fmt::format("template struct coda::cpu::Epilogue<{}>;", instance));
      if (!program.is_template) break;
    }
  }
  return text;
}

std::string operands(const ProgramFiles& program, size_t type, const HostTargets& targets) {
  std::string text;
  for (size_t i = 0; i < 2; ++i) {
    const bool wanted = targets.variant.empty() || targets.variant == kOperands[i];
    if (!wanted || (program.is_template ? i != type : type != 0)) continue;
    text += fmt::format("{}coda::{}", text.empty() ? "" : ", ", kOperands[i]);
  }
  return text;
}

std::string simulated_source(const ProgramFiles& program, size_t type, const HostTargets& targets) {
  const std::string instance = instances(program)[type];
  return fmt::format(R"(#include "coda/author/simulated.h"
{}{}
template <>
std::span<const coda::plan::KernelEntry> coda::sim::kernels_of<{}>() {{
  return coda::author::simulated_kernels<{}, {}>();
}}
)",
                     include(program.program), include(program.kernels), instance, instance,
                     operands(program, type, targets));
}

std::string registration_source(const ProgramFiles& program, const HostTargets& targets) {
  const auto types = instances(program);
  std::string text = "#include \"coda/author/registration.h\"\n";
  for (const fs::path& file : {program.program, program.formula, program.cases}) {
    text += include(file);
  }
  std::string simulated;
  if (targets.simulator) {
    text += "#include \"coda/catalogue/simulated.h\"\n";
    for (size_t type = 0; type < 2; ++type) {
      if (operands(program, type, targets).empty()) continue;
      text += fmt::format(
          "template <>\nstd::span<const coda::plan::KernelEntry> coda::sim::kernels_of<{}>();\n",
          types[type]);
      simulated += fmt::format("coda::catalogue::simulated<{}>(), ", types[type]);
    }
    if (!simulated.empty()) {
      simulated = fmt::format(
          "  static const coda::catalogue::SimulatedProgram simulated[] = {{{}}};\n", simulated);
    }
  }
  std::string gpu;  // arguments
  if (targets.gpu) {
    text += "#include \"coda/author/gpu.h\"\n" + include(program.kernels);
    for (size_t type = 0; type < 2; ++type) {
      if (type == 0 || program.is_template) {
        text += fmt::format(
            "template <>\nstruct coda::author::SourceName<{}> {{\n"
            "  static constexpr const char *type = \"{}\", *file = \"{}\";\n}};\n",
            types[type], types[type], program.program.string());
      }
      gpu += fmt::format(", coda::author::on_gpu<{}, {}>()", types[type],
                         program.is_template ? fmt::format("coda::{}", kOperands[type])
                                             : "coda::bf16, coda::fp16");
    }
  }
  const std::string cases =
      program.cases.empty() ? "coda::author::Cases{}" : fmt::format("{}_cases()", program.name);
  const std::string formula =
      program.formula.empty() ? "nullptr" : fmt::format("&{}_formula", program.name);
  const std::string operation =
      fmt::format("operation<{}>(\"{}\", \"{}\", {}, {}{})", fmt::join(types, ", "), program.name,
                  program.argument, formula, cases, gpu);
  return text + shown_function(program, operation, simulated);
}

std::string planned_source(std::span<const ProgramFiles> programs) {
  std::string text = "#include \"coda/author/planned.h\"\n";
  for (const ProgramFiles& program : programs) {
    text += include(program.program) + include(program.kernels);
    for (const std::string& instance : instances(program)) {
      text += at_struct(program, fmt::format("static_assert(coda::check_call<{0}, "
                                             "coda::trace::Tile<{0}>>());",
                                             instance));
    }
    text += shown_function(
        program,
        fmt::format("planned_operation<{}>(\"{}\", \"{}\")", fmt::join(instances(program), ", "),
                    program.name, program.argument),
        "");
  }
  return text;
}

}  // namespace coda::author
