#include "coda/tools/named_operations.h"

#include <algorithm>
#include <filesystem>
#if defined(CODA_HAS_SIMULATOR)
#include "coda/catalogue/simulated.h"
#endif

namespace coda::tools {

NamedOperations::NamedOperations(const std::vector<std::string>& arguments,
                                 const std::string& backend, const std::string& variant) {
  std::vector<author::ProgramFiles> files;
  for (const std::string& argument : arguments) {
    if (!author::names_files(argument)) continue;
    for (author::ProgramFiles& program : author::find_programs(argument)) {
      const bool known = std::ranges::any_of(files, [&](const author::ProgramFiles& other) {
        return std::filesystem::equivalent(other.program, program.program);
      });
      if (!known) files.push_back(std::move(program));
    }
  }
  if (!files.empty()) {
    programs_ = author::compile_host(files, {.cpu = backend != "none",
                                             .simulator = backend == "sim",
                                             .gpu = backend == "cuda",
                                             .variant = variant});
  }
  for (const author::LoadedProgram& program : programs_) list_.push_back(&program.operation());
  for (const std::string& argument : arguments) {
    if (!author::names_files(argument)) list_.push_back(&catalogue::find_operation(argument));
  }
  if (arguments.empty()) {
    const auto all = catalogue::operations();
    list_.assign(all.begin(), all.end());
  }
}

#if defined(CODA_HAS_SIMULATOR)
const catalogue::SimulatedProgram* NamedOperations::find_simulated(
    const catalogue::Variant& variant) const {
  for (const author::LoadedProgram& program : programs_) {
    for (const catalogue::SimulatedProgram& simulated : program.simulated()) {
      const bool has = std::ranges::any_of(simulated.kernels(), [&](const auto& kernel) {
        return kernel.operand == variant.operand;
      });
      if (simulated.type == variant.type && has) return &simulated;
    }
  }
  return catalogue::find_simulated(variant);
}
#endif

const catalogue::Variant& named_variant(const catalogue::Operation& operation,
                                        const std::string& name) {
  return name.empty() ? operation.variants.front() : catalogue::find_variant(operation, name);
}

}  // namespace coda::tools
