// What compiles an author's program: the machine's C++ compiler, coda's headers, and the flags that
// libcoda's own programs are compiled with.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace coda::author {

struct Toolchain {
  std::string compiler;
  std::filesystem::path include;               // has coda/program/program.h
  std::filesystem::path highway;               // hwy/highway.h, which the CPU's programs include
  std::vector<std::string> flags;              // of every source
  std::vector<std::vector<std::string>> isas;  // more of them, by instruction set
};

// $CXX, or c++, g++ or clang++ in PATH; headers of the build tree or of the prefix that this
// process's binary lies in, or of $CODA_INCLUDE. Throws coda::Error that says what is missing.
Toolchain find_toolchain();

// The folder that has coda/program/program.h.
std::filesystem::path find_headers();
// The one that has what the build has written, coda/ptx/wgmma_instruction.cuh.
std::filesystem::path find_generated_headers();
// That libcoda was built from; it need not be there any more.
std::filesystem::path source_folder();

}  // namespace coda::author
