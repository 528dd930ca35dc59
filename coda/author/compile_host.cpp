#include "coda/author/compile_host.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <fstream>
#include <utility>

#include "coda/author/diagnostics.h"
#include "coda/author/host_sources.h"
#include "coda/author/inspect.h"
#include "coda/author/process.h"
#include "coda/author/scratch_folder.h"
#include "coda/author/toolchain.h"
#include "coda/core/error.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

// The commands that make the shared object of one folder's programs.
struct Build {
  std::span<const ProgramFiles> programs;
  std::vector<std::vector<std::string>> compile;
  std::vector<std::string> link;
  fs::path object;
};

class BuildPlan {
 public:
  BuildPlan(const Toolchain& toolchain, const fs::path& folder, int number)
      : toolchain_(toolchain), folder_(folder / std::to_string(number)) {
    fs::create_directory(folder_);
    build_.object = folder_ / "programs.so";
    build_.link = {toolchain.compiler, "-shared", "-o", build_.object.string()};
  }

  Build make(std::span<const ProgramFiles> programs, const HostTargets& targets) {
    build_.programs = programs;
    if (!targets.cpu) {
      compile(write("planned", planned_source(programs)), {"-O0"});
      return std::move(build_);
    }
    const std::string epilogues = write("epilogues", epilogues_source(programs));
    for (const std::vector<std::string>& flags : toolchain_.isas) compile(epilogues, flags);
    for (const ProgramFiles& program : programs) {
      for (size_t type = 0; targets.simulator && type < 2; ++type) {
        if (operands(program, type, targets).empty()) continue;
        compile(write(fmt::format("{}_sim{}", program.name, type),
                      simulated_source(program, type, targets)),
                {"-ffp-contract=off", "-O1", "-DCODA_SIM"});
      }
      std::vector<std::string> flags{"-ffp-contract=off", "-O1"};  // runs once a call
      if (targets.gpu) flags.emplace_back("-DCODA_LAUNCH");
      compile(write(program.name, registration_source(program, targets)), flags);
    }
    return std::move(build_);
  }

 private:
  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / (name + ".cpp");
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) throw Error(fmt::format("{}: cannot be written", path.string()));
    return path.string();
  }
  void compile(const std::string& source, const std::vector<std::string>& flags) {
    std::vector<std::string> command{toolchain_.compiler};
    command.insert(command.end(), toolchain_.flags.begin(), toolchain_.flags.end());
    command.insert(command.end(), flags.begin(), flags.end());
    const std::string object = (folder_ / fmt::format("{}.o", build_.compile.size())).string();
    for (const std::string& argument : {std::string("-fdiagnostics-color=never"), std::string("-c"),
                                        source, std::string("-o"), object}) {
      command.push_back(argument);
    }
    build_.compile.push_back(command);
    build_.link.push_back(object);
  }

  const Toolchain& toolchain_;
  fs::path folder_;
  Build build_;
};

[[noreturn]] void fail(std::span<const ProgramFiles> programs, const Toolchain& toolchain,
                       const std::string& output) {
  std::vector<fs::path> files;
  for (const ProgramFiles& program : programs) {
    for (const fs::path& file :
         {program.program, program.formula, program.cases, program.kernels}) {
      if (!file.empty()) files.push_back(file);
    }
  }
  throw Error(
      fmt::format("{} does not compile:\n{}", toolchain.compiler, author_messages(output, files)));
}

// Programs of one folder follow each other.
std::vector<std::span<const ProgramFiles>> by_folder(std::span<const ProgramFiles> programs) {
  std::vector<std::span<const ProgramFiles>> result;
  for (size_t begin = 0, i = 1; i <= programs.size(); ++i) {
    const auto folder = [&](size_t k) { return programs[k].program.parent_path(); };
    if (i < programs.size() && folder(i) == folder(begin)) continue;
    result.push_back(programs.subspan(begin, i - begin));
    begin = i;
  }
  return result;
}

// Stays mapped: an exception of an author's own type outlives all who hold the library.
std::shared_ptr<void> load(const fs::path& object) {
  void* library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    throw Error(
        fmt::format("compiled programs do not load: {}; the headers in {} have to be those "
                    "that this coda was built from",
                    dlerror(), find_headers().string()));
  }
  return {library, &dlclose};
}

// With where the program is, unless the message says it.
std::string at_struct(const ProgramFiles& files, std::string what) {
  if (what.find(files.program.filename().string() + ":") != std::string::npos) return what;
  constexpr std::string_view kNameless = "program: ";  // what a program without a name is called
  if (what.starts_with(kNameless)) what.erase(0, kNameless.size());
  return fmt::format("{}:{}: {}", files.argument, files.line, what);
}

}  // namespace

LoadedProgram::LoadedProgram(std::shared_ptr<void> library, const ProgramFiles& files, bool kernels)
    : library_(std::move(library)) {
  using Function = const Registration* (*)();
  const auto function =
      reinterpret_cast<Function>(dlsym(library_.get(), (kRegistrationPrefix + files.name).c_str()));
  registration_ = function();
  const Registration own;
  if (registration_->operation_bytes != own.operation_bytes ||
      registration_->variant_bytes != own.variant_bytes) {
    throw Error(
        fmt::format("the headers in {} are not those that this coda was built from: build "
                    "it again",
                    find_headers().string()));
  }
  inspect_cases(operation());
  try {
    for (const catalogue::Variant& variant : operation().variants) inspect(variant, kernels);
  } catch (const Error& error) {
    throw Error(at_struct(files, error.what()));
  }
}

std::vector<LoadedProgram> compile_host(std::span<const ProgramFiles> programs,
                                        const HostTargets& targets) {
  const Toolchain toolchain = find_toolchain();
  const ScratchFolder scratch;
  std::vector<Build> builds;
  std::vector<std::vector<std::string>> compile, link;
  std::vector<size_t> owner;
  for (const std::span<const ProgramFiles> folder : by_folder(programs)) {
    const size_t number = builds.size();
    builds.push_back(
        BuildPlan(toolchain, scratch.path(), static_cast<int>(number)).make(folder, targets));
    for (const auto& command : builds.back().compile) {
      compile.push_back(command);
      owner.push_back(number);
    }
    link.push_back(builds.back().link);
  }
  const std::vector<ProcessResult> compiled = run_all(compile);
  for (size_t i = 0; i < compiled.size(); ++i) {
    if (compiled[i].status != 0) fail(builds[owner[i]].programs, toolchain, compiled[i].output);
  }
  const std::vector<ProcessResult> linked = run_all(link);
  std::vector<LoadedProgram> result;
  for (size_t i = 0; i < linked.size(); ++i) {
    if (linked[i].status != 0) fail(builds[i].programs, toolchain, linked[i].output);
    const std::shared_ptr<void> library = load(builds[i].object);
    for (const ProgramFiles& program : builds[i].programs) {
      result.emplace_back(library, program, targets.simulator || targets.gpu);
    }
  }
  return result;  // a loaded object needs its file no more
}

}  // namespace coda::author
