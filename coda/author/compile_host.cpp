#include "coda/author/compile_host.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "coda/author/diagnostics.h"
#include "coda/author/process.h"
#include "coda/author/toolchain.h"
#include "coda/core/error.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "coda-author-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw Error(fmt::format("{}: cannot make a folder for compiled programs",
                              fs::temp_directory_path().string()));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The program for operands of each type.
std::array<std::string, 3> instances(const ProgramFiles& program) {
  const std::string type = "::" + struct_name(program.name);
  if (!program.is_template) return {type, type, type};
  return {type + "<coda::bf16>", type + "<coda::fp16>", type + "<float>"};
}

std::string epilogue_source(const ProgramFiles& program) {
  std::string text = fmt::format("#include \"coda/cpu/instantiate.h\"\n#include \"{}\"\n",
                                 program.program.string());
  for (const std::string& instance : instances(program)) {
    text += fmt::format("template struct coda::cpu::Epilogue<{}>;\n", instance);
    if (!program.is_template) break;
  }
  return text;
}

std::string kernels_include(const ProgramFiles& program) {
  return program.kernels.empty() ? "" : fmt::format("#include \"{}\"\n", program.kernels.string());
}

constexpr const char* kOperands[] = {"bf16", "fp16"};  // that kernels take

// Those of the kernels of an instance: of a program that is no template the first one has all.
std::string operands(const ProgramFiles& program, size_t type, const HostTargets& targets) {
  std::string text;
  for (size_t i = 0; i < 2; ++i) {
    const bool wanted = targets.variant.empty() || targets.variant == kOperands[i];
    if (!wanted || (program.is_template ? i != type : type != 0)) continue;
    text += fmt::format("{}coda::{}", text.empty() ? "" : ", ", kOperands[i]);
  }
  return text;
}

// The kernels of the program for operands of one type, or, where it is no template, of both.
std::string simulated_source(const ProgramFiles& program, size_t type, const HostTargets& targets) {
  const std::string instance = instances(program)[type];
  return fmt::format(R"(#include "coda/author/simulated.h"
#include "{}"
{}
template <>
std::span<const coda::plan::KernelEntry> coda::sim::kernels_of<{}>() {{
  return coda::author::simulated_kernels<{}, {}>();
}}
)",
                     program.program.string(), kernels_include(program), instance, instance,
                     operands(program, type, targets));
}

std::string registration_source(const ProgramFiles& program, const HostTargets& targets) {
  const auto types = instances(program);
  std::string text = "#include \"coda/author/registration.h\"\n";
  for (const fs::path& file : {program.program, program.formula, program.cases}) {
    if (!file.empty()) text += fmt::format("#include \"{}\"\n", file.string());
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
    simulated = fmt::format(
        "  static const coda::catalogue::SimulatedProgram simulated[] = {{{}}};\n", simulated);
  }
  std::string gpu;  // arguments
  if (targets.gpu) {
    text += "#include \"coda/author/gpu.h\"\n" + kernels_include(program);
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
  return text + fmt::format(R"(
extern "C" __attribute__((visibility("default"))) const coda::author::Registration*
coda_author_registration() {{
  static const coda::catalogue::Operation operation =
      coda::author::operation<{}, {}, {}>("{}", "{}", &{}_formula, {}{});
{}  static const coda::author::Registration registration{{.operation = &operation{}}};
  return &registration;
}}
)",
                            types[0], types[1], types[2], program.name, program.argument,
                            program.name, cases, gpu, simulated,
                            targets.simulator ? ", .simulated = simulated" : "");
}

// The commands that compile one program, and the objects they leave.
struct Build {
  std::vector<std::vector<std::string>> compile;
  std::vector<std::string> link;
  fs::path object;
};

Build plan_build(const ProgramFiles& program, const HostTargets& targets,
                 const Toolchain& toolchain, const fs::path& folder) {
  Build build;
  build.object = folder / (program.name + ".so");
  build.link = {toolchain.compiler, "-shared", "-o", build.object.string()};
  const auto write = [&](const std::string& suffix, const std::string& text) {
    const fs::path path = folder / (program.name + suffix);
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) throw Error(fmt::format("{}: cannot be written", path.string()));
    return path.string();
  };
  const auto compile = [&](const std::string& source, const std::string& object,
                           const std::vector<std::string>& flags) {
    std::vector<std::string> command{toolchain.compiler};
    command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
    command.insert(command.end(), flags.begin(), flags.end());
    const std::string target = (folder / object).string();
    for (const char* flag : {"-fdiagnostics-color=never", "-c", "-o"}) command.emplace_back(flag);
    command.push_back(target);
    command.push_back(source);
    build.compile.push_back(command);
    build.link.push_back(target);
  };
  const std::string epilogue = write("_cpu.cpp", epilogue_source(program));
  for (size_t isa = 0; isa < toolchain.isas.size(); ++isa) {
    compile(epilogue, fmt::format("{}_{}.o", program.name, isa), toolchain.isas[isa]);
  }
  const std::vector<std::string> plain{"-ffp-contract=off"},
      simulated{"-ffp-contract=off", "-DCODA_SIM"};
  const std::vector<std::string> launching{"-ffp-contract=off", "-DCODA_LAUNCH"};
  compile(write(".cpp", registration_source(program, targets)), program.name + ".o",
          targets.gpu ? launching : plain);
  for (size_t type = 0; targets.simulator && type < 2; ++type) {
    if (operands(program, type, targets).empty()) continue;
    const std::string name = fmt::format("_sim{}", type);
    compile(write(name + ".cpp", simulated_source(program, type, targets)),
            program.name + name + ".o", simulated);
  }
  return build;
}

[[noreturn]] void fail(const ProgramFiles& program, const Toolchain& toolchain,
                       const std::string& output) {
  std::vector<fs::path> files{program.program, program.formula};
  for (const fs::path& file : {program.cases, program.kernels}) {
    if (!file.empty()) files.push_back(file);
  }
  throw Error(fmt::format("{}: {} does not compile it:\n{}", program.name, toolchain.compiler,
                          author_messages(output, files)));
}

}  // namespace

void LoadedProgram::Close::operator()(void* library) const { dlclose(library); }

LoadedProgram::LoadedProgram(const fs::path& object)
    : library_(dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    throw Error(
        fmt::format("a compiled program does not load: {}; the headers in {} have to be "
                    "those that this coda was built from",
                    dlerror(), find_headers().string()));
  }
  using Function = const Registration* (*)();
  const auto function = reinterpret_cast<Function>(dlsym(library_.get(), kRegistrationFunction));
  registration_ = function();
  const Registration own;
  if (registration_->operation_bytes != own.operation_bytes ||
      registration_->variant_bytes != own.variant_bytes) {
    throw Error(
        fmt::format("the headers in {} are not those that this coda was built from: build "
                    "it again",
                    find_headers().string()));
  }
}

std::vector<LoadedProgram> compile_host(std::span<const ProgramFiles> programs,
                                        const HostTargets& targets) {
  const Toolchain toolchain = find_toolchain();
  const ScratchFolder folder;
  std::vector<std::vector<std::string>> compile, link;
  std::vector<size_t> owner;
  std::vector<fs::path> objects;
  for (size_t i = 0; i < programs.size(); ++i) {
    Build build = plan_build(programs[i], targets, toolchain, folder.path());
    for (auto& command : build.compile) {
      compile.push_back(std::move(command));
      owner.push_back(i);
    }
    link.push_back(std::move(build.link));
    objects.push_back(build.object);
  }
  const std::vector<ProcessResult> compiled = run_all(compile);
  for (size_t i = 0; i < compiled.size(); ++i) {
    if (compiled[i].status != 0) fail(programs[owner[i]], toolchain, compiled[i].output);
  }
  const std::vector<ProcessResult> linked = run_all(link);
  for (size_t i = 0; i < linked.size(); ++i) {
    if (linked[i].status != 0) fail(programs[i], toolchain, linked[i].output);
  }
  std::vector<LoadedProgram> result;
  for (const fs::path& object : objects) result.emplace_back(object);
  return result;  // a loaded object needs its file no more
}

}  // namespace coda::author
