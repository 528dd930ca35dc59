#include "coda/author/host_epilogue.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "coda/author/includes.h"
#include "coda/author/kernel_cache.h"
#include "coda/author/process.h"
#include "coda/author/scratch_folder.h"
#include "coda/author/toolchain.h"
#include "coda/core/error.h"
#include "coda/core/sha256.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

constexpr const char *kEpilogue = "coda_epilogue", *kPrefetch = "coda_prefetch";

// What a header and this library have to agree about is asserted.
std::string source_of(const ProgramText& program) {
  return fmt::format(R"(#include "coda/cpu/instantiate.h"
#include "coda/cpu/prefetch.h"
{0}
static_assert(sizeof({1}) == {2} && sizeof(coda::cpu::TileRun) == {3} &&
              sizeof(coda::Problem) == {4});
#define SHOWN extern "C" __attribute__((visibility("default"))) void
SHOWN {5}(const void* program, const coda::cpu::TileRun& tile) {{
  coda::cpu::Epilogue<{1}>::run(program, tile);
}}
SHOWN {6}(const void* program, const coda::cpu::TileRun& tile, int64_t first, int64_t columns) {{
  coda::cpu::prefetch_ports<{1}>(program, tile, first, columns);
}}
)",
                     program.text, program.type, program.bytes, sizeof(cpu::TileRun),
                     sizeof(Problem), kEpilogue, kPrefetch);
}

// A file that is changed by an update: size and time.
std::string stamp(const fs::path& path) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  const auto size = fs::file_size(file, error);
  const auto time = fs::last_write_time(file, error).time_since_epoch().count();
  return fmt::format("{} {} {}\n", file.string(), size, time);
}

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) throw Error(fmt::format("{}: cannot be written", path.string()));
}

HostEpilogue load(const fs::path& object) {
  void* library = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(fmt::format("a compiled program does not load: {}", dlerror()));
  return {reinterpret_cast<cpu::EpilogueFunction>(dlsym(library, kEpilogue)),
          reinterpret_cast<cpu::PrefetchFunction>(dlsym(library, kPrefetch))};
}

Toolchain require_toolchain(const std::string& name) {
  try {
    return find_toolchain();
  } catch (const Error& error) {
    throw DeviceError(fmt::format(
        "{}: it is compiled by the machine's C++ compiler when it first runs on the CPU: {}", name,
        error.what()));
  }
}

}  // namespace

HostEpilogue compile_epilogue(const ProgramText& program, cpu::Isa isa) {
  const Toolchain toolchain = require_toolchain(program.name);
  const std::string source = source_of(program);
  std::vector<std::string> command{toolchain.compiler};
  const auto& flags = toolchain.isas.at(static_cast<size_t>(isa));
  command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
  command.insert(command.end(), flags.begin(), flags.end());
  command.emplace_back("-shared");
  Includes includes({toolchain.include});
  includes.add(source, {});
  const std::string key =
      sha256(fmt::format("{}\n{}\n{}{}{}", fmt::join(command, "\n"), source,
                         stamp(toolchain.compiler), stamp(toolchain.highway), includes.contents()));
  const KernelCache cache = KernelCache::standard(".so");
  const ScratchFolder scratch;  // a loaded object needs its file no more
  const fs::path object = scratch.path() / "program.so";
  if (const std::optional<std::string> entry = cache.find(key)) {
    write_bytes(object, *entry);
    return load(object);
  }
  const fs::path text = scratch.path() / "program.cpp";
  write_bytes(text, source);
  for (const std::string& word : {text.string(), std::string("-o"), object.string()}) {
    command.push_back(word);
  }
  const std::vector<std::vector<std::string>> commands{command};
  const ProcessResult result = run_all(commands).front();
  if (result.status != 0) {
    throw DeviceError(fmt::format("{}: {} does not compile it:\n{}", program.name,
                                  toolchain.compiler, result.output));
  }
  cache.keep(key, read_bytes(object));
  return load(object);
}

}  // namespace coda::author
