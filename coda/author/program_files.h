// Where an author's program lies: NAME.h has the program, and, where they are, NAME_formula.h its
// fp64 formula, NAME_cases.h how to draw its inputs and NAME_kernels.h its kernels for the GPU.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace coda::author {

struct ProgramFiles {
  std::string name;          // of the operation: the file's stem
  int line = 1;              // of the struct
  bool is_template = false;  // over the type of its operands
  std::string argument;      // the program's file as a command names it
  std::filesystem::path program;
  std::filesystem::path formula;  // empty: its graph says what it means
  std::filesystem::path cases;    // empty: inputs are drawn from the kinds of the ports
  std::filesystem::path kernels;  // empty: kernels.h chooses them
};

// Whether a command's argument means files rather than an operation of the catalogue, which comes
// first where there is no slash.
bool names_files(const std::string& argument);

// Of a header, or of every header NAME.h in a folder that has a struct Name of ports. Throws
// coda::Error that says what is missing.
std::vector<ProgramFiles> find_programs(const std::filesystem::path& folder_or_header);

// Throws coda::Error unless `name` can name an operation: lower-case words with underscores, no
// word of C++, none of the catalogue's.
void check_program_name(const std::string& name);

// "scaled_relu" gives "ScaledRelu": what the program's struct is called.
std::string struct_name(const std::string& name);

}  // namespace coda::author
