#include "coda/author/toolchain.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "coda/core/error.h"
#include "coda/cpu/isa.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

bool is_program(const fs::path& path) {
  return fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
}

// Empty where there is none.
std::string find_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_program(fs::path(folder) / name)) return (fs::path(folder) / name).string();
  }
  return "";
}

constexpr const char* kWithoutCompiler =
    "the catalogue's operations need none (coda list, explain, derive, check, bench, train); own "
    "programs do";

std::string find_compiler() {
  if (const char* asked = std::getenv("CXX"); asked != nullptr && *asked != '\0') {
    const std::string found = find_in_path(asked);
    if (!found.empty()) return found;
    throw Error(fmt::format("CXX={}: no such C++ compiler; {}", asked, kWithoutCompiler));
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    const std::string found = find_in_path(name);
    if (!found.empty()) return found;
  }
  throw Error(
      fmt::format("no C++ compiler: CXX is not set and PATH has no c++, g++ or clang++ "
                  "(Debian: apt-get install g++); {}",
                  kWithoutCompiler));
}

constexpr const char* kHighway = "hwy/highway.h";

// The folder that Highway's headers are in: beside coda's, where the build found them, or Debian's.
fs::path find_highway(const fs::path& include) {
  for (const fs::path& folder :
       {include, fs::path(CODA_HIGHWAY_INCLUDE_DIR), fs::path("/usr/include")}) {
    if (fs::exists(folder / kHighway)) return folder;
  }
  throw Error(
      fmt::format("Highway's headers: {} is neither in {} nor in {} (Debian: apt-get "
                  "install libhwy-dev); {}",
                  kHighway, include.string(), CODA_HIGHWAY_INCLUDE_DIR, kWithoutCompiler));
}

bool has_headers(const fs::path& folder) { return fs::exists(folder / "coda/program/program.h"); }

// Of the executable or shared library that this function is in.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_toolchain), &info) == 0) return {};
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  return (error ? fs::read_symlink("/proc/self/exe", error) : file).parent_path();
}

}  // namespace

fs::path find_headers() {
  if (const char* asked = std::getenv("CODA_INCLUDE"); asked != nullptr && *asked != '\0') {
    if (has_headers(asked)) return asked;
    throw Error(
        fmt::format("CODA_INCLUDE={}: expected a folder with coda/program/program.h", asked));
  }
  for (const fs::path& folder : {own_folder() / "../include", own_folder() / "include",
                                 own_folder() / "..", fs::path(CODA_SOURCE_DIR)}) {
    if (has_headers(folder)) return folder.lexically_normal();
  }
  throw Error(
      "coda's headers: expected them in ../include beside the folder of this program; "
      "CODA_INCLUDE says where they are");
}

fs::path find_generated_headers() {
  for (const fs::path& folder : {find_headers(), own_folder() / "generated",
                                 own_folder() / "../generated", fs::path(CODA_GENERATED_DIR)}) {
    if (fs::exists(folder / "coda/ptx/wgmma_instruction.cuh")) return folder;
  }
  throw Error(
      "coda's headers: expected coda/ptx/wgmma_instruction.cuh among them, which the build "
      "writes; install or build coda again");
}

fs::path source_folder() { return CODA_SOURCE_DIR; }

Toolchain find_toolchain() {
  Toolchain result;
  result.compiler = find_compiler();
  result.include = find_headers();
  result.flags = {"-std=c++20",
                  "-O3",
                  "-DNDEBUG",
                  "-fPIC",
                  "-fvisibility=hidden",
                  "-Wall",
                  "-Wextra",
                  "-Werror=return-type",  // else a formula that returns nothing crashes
                  "-Wno-psabi",
                  "-Wno-missing-field-initializers",
                  fmt::format("-DCODA_CPU_ISAS={}", cpu::kIsaCount),
                  "-I" + result.include.string()};
  const fs::path highway = find_highway(result.include);
  result.highway = highway / kHighway;
  if (highway != "/usr/include" && highway != result.include) {
    result.flags.push_back("-isystem" + highway.string());
  }
  for (const char* flags : {CODA_ISA_FLAGS_PORTABLE, CODA_ISA_FLAGS_AVX2, CODA_ISA_FLAGS_AVX512}) {
    if (result.isas.size() < cpu::kIsaCount) result.isas.push_back(words(flags));
  }
  return result;
}

}  // namespace coda::author
