#include "coda/author/program_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string_view>

#include "coda/catalogue/operation.h"
#include "coda/core/error.h"
#include "coda/trace/words.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 64;
constexpr std::string_view kFormula = "_formula", kCases = "_cases", kKernels = "_kernels",
                           kHeader = ".h";

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw Error(fmt::format("{}: cannot be read", path.string()));
  return text.str();
}

// The same lines without comments, which may say anything.
std::string read_code(const fs::path& path) {
  std::string text = read_text(path);
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\'')) {  // a string: no comment begins in it
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
      }
      continue;
    }
    if (text[i] != '/' || (text[i + 1] != '/' && text[i + 1] != '*')) continue;
    const bool line = text[i + 1] == '/';
    const size_t found = line ? text.find('\n', i) : text.find("*/", i + 2);
    const size_t end = found == std::string::npos ? text.size() : found + (line ? 0 : 2);
    for (; i < end; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
    --i;
  }
  return text;
}

// Else the compiler would speak of a source that the author has not written.
void require_declared(const fs::path& path, const std::string& pattern, const std::string& what) {
  if (std::regex_search(read_code(path), std::regex(pattern))) return;
  throw Error(fmt::format("{}: expected {}", path.string(), what));
}

// Of the struct, which is there: its line, and whether it is a template.
void find_struct(ProgramFiles& files, const std::string& type) {
  const std::string code = read_code(files.program);
  std::smatch match;
  std::regex_search(code, match, std::regex(fmt::format(R"(\bstruct\s+{}\b)", type)));
  const std::string before = code.substr(0, static_cast<size_t>(match.position()));
  files.line = 1 + static_cast<int>(std::ranges::count(before, '\n'));
  // From the declaration before on: a regular expression over all of it would take a call for
  // every character, and run out of stack.
  const size_t end = before.find_last_of(";{}");
  const std::string own = before.substr(end == std::string::npos ? 0 : end + 1);
  files.is_template = std::regex_search(own, std::regex(R"(\btemplate\s*<)"));
}

ProgramFiles files_of(const fs::path& header) {
  ProgramFiles files;
  files.name = header.stem().string();
  check_program_name(files.name);
  files.argument = header.string();
  if (fs::absolute(header).string().find_first_of("\"\\\n") != std::string::npos) {
    throw Error(fmt::format("{}: expected a path without quotes, backslashes and line ends",
                            files.argument));
  }
  files.program = fs::absolute(header).lexically_normal();
  const auto beside = [&](std::string_view what) {
    return fs::absolute(header.parent_path() / fmt::format("{}{}{}", files.name, what, kHeader));
  };
  const std::string type = struct_name(files.name);
  require_declared(files.program, fmt::format(R"(\bstruct\s+{}\b)", type),
                   fmt::format("the program, 'struct {}' outside of namespaces (its name follows "
                               "from the file's: {}.h)",
                               type, files.name));
  find_struct(files, type);
  if (fs::exists(beside(kFormula))) {
    files.formula = beside(kFormula);
    require_declared(files.formula, fmt::format(R"(\b{}_formula\s*\()", files.name),
                     fmt::format("the function {}_formula(in, round)", files.name));
  }
  if (fs::exists(beside(kKernels))) files.kernels = beside(kKernels);
  if (fs::exists(beside(kCases))) {
    files.cases = beside(kCases);
    require_declared(files.cases, fmt::format(R"(\b{}_cases\s*\()", files.name),
                     fmt::format("the function {}_cases()", files.name));
  }
  return files;
}

// Of the headers in a folder: those that programs share are none.
bool is_program(const fs::path& header) {
  const std::string stem = header.stem().string(), text = read_code(header);
  const std::string type = struct_name(stem);
  return fs::exists(header.parent_path() / fmt::format("{}{}{}", stem, kFormula, kHeader)) ||
         (std::regex_search(text, std::regex(fmt::format(R"(\bstruct\s+{}\b)", type))) &&
          text.find("port_names") != std::string::npos);
}

}  // namespace

bool names_files(const std::string& argument) {
  if (argument.find('/') != std::string::npos || argument.ends_with(kHeader)) return true;
  // A folder that is called like an operation of the catalogue is meant by linear/.
  const bool named = std::ranges::any_of(
      catalogue::operations(), [&](const auto* operation) { return operation->name == argument; });
  return !named && fs::is_directory(argument);
}

std::vector<ProgramFiles> find_programs(const fs::path& folder_or_header) {
  if (!fs::exists(folder_or_header)) {
    throw Error(fmt::format("{}: no such file or folder; `coda new NAME` makes one",
                            folder_or_header.string()));
  }
  if (!fs::is_directory(folder_or_header)) {
    if (folder_or_header.extension() != kHeader) {
      throw Error(
          fmt::format("{}: expected a folder or a header, NAME.h", folder_or_header.string()));
    }
    return {files_of(folder_or_header)};
  }
  std::vector<fs::path> headers;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_or_header)) {
    const fs::path& path = entry.path();
    std::string stem = path.stem().string();
    if (path.extension() != kHeader) continue;
    if (stem.ends_with(kFormula)) {
      stem.resize(stem.size() - kFormula.size());
      const fs::path program = path.parent_path() / (stem + std::string(kHeader));
      if (fs::exists(program)) continue;
      throw Error(
          fmt::format("{}: no such file, although there is a formula for it", program.string()));
    }
    if (is_program(path)) headers.push_back(path);
  }
  if (headers.empty()) {
    throw Error(
        fmt::format("{}: expected a program, NAME.h, with 'struct Name' and its port_names; "
                    "`coda new NAME` makes one",
                    folder_or_header.string()));
  }
  std::ranges::sort(headers);
  std::vector<ProgramFiles> result;
  for (const fs::path& header : headers) result.push_back(files_of(header));
  return result;
}

void check_program_name(const std::string& name) {
  const auto fail = [&](const std::string& reason) {
    throw Error(fmt::format("'{}' is no name for a program: {}", name, reason));
  };
  if (!std::regex_match(name, std::regex("[a-z][a-z0-9]*(_[a-z0-9]+)*"))) {
    fail("expected lower-case words with underscores between them, like scaled_relu");
  }
  if (name.size() > kLongestName) fail(fmt::format("expected at most {} letters", kLongestName));
  if (trace::is_word_of_cpp(name)) fail("it is a word of C++");
  if (struct_name(name) == "T") {
    fail(
        "its struct would be called T, as the operands' type in 'template <class T>': expected a "
        "longer one");
  }
  if (name.ends_with(kFormula) || name.ends_with(kCases) || name.ends_with(kKernels)) {
    fail("_formula, _cases and _kernels name the files beside a program");
  }
  for (const catalogue::Operation* operation : catalogue::operations()) {
    if (operation->name == name) fail("the catalogue has an operation of that name");
  }
}

std::string struct_name(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') result += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '_';
  }
  return result;
}

}  // namespace coda::author
