#include "coda/author/scaffold.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

#include "coda/author/program_files.h"
#include "coda/core/error.h"

namespace coda::author {
namespace {

namespace fs = std::filesystem;

// @NAME@ and @STRUCT@ are replaced.
constexpr const char* kProgram =
    R"(// out = relu(A Bᵀ + bias), and Σ out² over every 64 columns of a row.
#pragma once
#include <coda/program/program.h>

template <class T>  // bf16, fp16 or float, as the operands A [M, K] and B [N, K]
struct @STRUCT@ {
  coda::PerColumn<const T> bias;       // [N]
  coda::Store<T> out;                  // [M, N]
  coda::RowReduce<coda::Sum> squares;  // [⌈N/64⌉, M]

  static constexpr const char* name = "@NAME@";
  static constexpr auto port_names = coda::names("bias", "out", "squares");

  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto y = coda::relu(tile.accumulator() + tile.load(bias));
    tile.store(out, y);
    tile.reduce(squares, y * y);
  }
};
)";

constexpr const char* kFormula =
    R"(// What @NAME@ means, on whole matrices in fp64: from the mathematics, not from the program.
// `round` stands where a framework that runs one operator after the other would store a tensor.
#pragma once
#include <coda/reference/formula.h>

inline coda::reference::Arrays @NAME@_formula(const coda::reference::Arrays& in,
                                             const coda::reference::Rounding& round) {
  using coda::reference::Array;
  const Array z = round(round.matmul(in.at("A"), in.at("B")) + in.at("bias"));
  const Array y = round.as("out", map(z, [](double v) { return v < 0 ? 0 : v; }));
  const Array squares = round.row_partial_sums(y * y, segments_of(in, "segments.N"));
  return {{"out", y}, {"squares", round.as("squares", squares)}};
}
)";

constexpr const char* kCases =
    R"(// How `coda check` draws inputs; without this file, from the kinds of the ports.
#pragma once
#include <coda/author/cases.h>

inline coda::author::Cases @NAME@_cases() {
  return {.exact = {"out"},  // outputs that are exact where all inputs are small integers
          .values = {{"bias", coda::catalogue::Values::integer(-8, 8)}}};
}
)";

constexpr const char* kReadme = R"(# @NAME@

`@NAME@.h` is the program, `@NAME@_formula.h` what it means in fp64, `@NAME@_cases.h` how inputs
are drawn.

```
coda check . --backend cpu    # compiles it and compares with the formula on random cases
coda check . --backend sim    # the GPU's kernels, without a GPU
coda check . --backend cuda
coda explain .                # what it costs on a GPU, without one
coda derive .                 # its backward program
coda bench .                  # beside the plain GEMM
```

Change the three together; `docs/authoring.md` of coda has the ports and functions.
)";

std::string filled_in(std::string text, const std::string& name) {
  const auto replace = [&](const std::string& mark, const std::string& with) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, mark.size(), with);
    }
  };
  replace("@NAME@", name);
  replace("@STRUCT@", struct_name(name));
  return text;
}

}  // namespace

std::vector<fs::path> make_program(const fs::path& parent, const std::string& name) {
  check_program_name(name);
  const fs::path folder = parent / name;
  std::error_code error;
  // Fails, too, where it is there already.
  if (!fs::create_directory(folder, error)) {
    const bool there = fs::exists(folder);
    throw Error(fmt::format("{}: {}", folder.string(),
                            there ? "is there already; nothing is overwritten, take another name"
                                  : "cannot be made: " + error.message()));
  }
  std::vector<fs::path> files;
  const auto write = [&](const std::string& file, const char* text) {
    files.push_back(folder / file);
    std::ofstream out(files.back());
    out << filled_in(text, name);
    out.close();
    if (!out) throw Error(fmt::format("{}: cannot be written", files.back().string()));
  };
  write(name + ".h", kProgram);
  write(name + "_formula.h", kFormula);
  write(name + "_cases.h", kCases);
  write("README.md", kReadme);
  return files;
}

}  // namespace coda::author
