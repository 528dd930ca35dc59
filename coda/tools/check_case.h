// A case of `coda check`: everything it consists of follows from its number and the program, so
// that a failure is repeated by naming the number. Memory layout is not part of it (check_call.h).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coda/catalogue/operation.h"

namespace coda::tools {

enum class Data {
  kNormal,    // like a layer's: products of variance 1
  kIntegers,  // small enough that every sum is exact
  kSpecial,   // normal, with a few infinities and NaNs
};

// Which extent the operands are cut along.
enum class Axis { kNone, kRows, kColumns, kContraction };

// What a backend's kernels ask of cases; by default nothing.
struct CaseRules {
  int64_t alignment = 1;  // bytes: bases, pitches and segments of operands and tile ports
  // Where given, most cases have the majors and optional ports that one of these is compiled for.
  std::function<std::span<const plan::KernelEntry>(const catalogue::Variant& variant)> kernels = {};
  // Shapes of a few tiles of that kernel, for a backend that takes seconds for more.
  bool few_tiles = false;
  bool gpu = false;  // only what the GPU takes
};

struct Case {
  uint64_t number = 0;
  Problem problem;  // M, N, K, their cuts, and head_dim where B is in halves
  Axis axis = Axis::kNone;
  Data data = Data::kNormal;
  std::set<std::string> given;                  // ports
  std::map<std::string, double> numbers;        // given scalars and parameters
  int64_t parts = 1;                            // of values that are finished from partials
  int64_t positions = 1;                        // rows of tables that are looked up
  std::string in_place_output, in_place_input;  // ports that share their memory, or empty
  int64_t alignment = 1;                        // as in CaseRules
  std::optional<Major> major_a, major_b;        // none: each tensor has one of its own
  std::optional<catalogue::DrawnCase> drawn;    // instead of a problem, where the variant draws it

  // Of a port's matrix, all segments together.
  Extent extent(const PortView& port) const;
  int64_t terms() const { return drawn ? drawn->terms : problem.K(); }  // of a sum
  int64_t work() const;  // about so many operations of its formula
  std::string text() const;
};

// Of the i-th case of an operation.
uint64_t case_number(uint64_t seed, int i);

// What a port's elements are where they are no usual ones; else null.
const catalogue::Values* unusual_values(const catalogue::Variant& variant, const std::string& port);

Case make_case(uint64_t number, const catalogue::Variant& variant, const CaseRules& rules = {});

// The case's inputs, in the values their types hold. Instance 0 is what the program is run on;
// others are alike but for the draw, without infinities and NaNs.
reference::Arrays draw_inputs(const Case& c, const catalogue::Variant& variant, uint64_t instance);

}  // namespace coda::tools
