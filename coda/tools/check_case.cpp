#include "coda/tools/check_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "coda/core/random.h"
#include "coda/plan/grid.h"

namespace coda::tools {
namespace {

using catalogue::Variant;

struct Shape {
  int64_t M, N, K;
};

// The kinds of shapes that executors tend to get wrong; extents that do not matter stay small.
Shape draw_shape(Random& random) {
  switch (random.between(0, 8)) {
    case 0: return {random.between(1, 8), random.between(1, 8), random.between(1, 8)};
    case 1:
    case 2: return {random.between(1, 200), random.between(1, 200), random.between(1, 700)};
    case 3: {  // nothing along one extent
      Shape shape{random.between(1, 70), random.between(1, 70), random.between(1, 70)};
      int64_t* const extents[] = {&shape.M, &shape.N, &shape.K};
      *extents[random.between(0, 2)] = 0;
      return shape;
    }
    case 4: return {1, random.between(1, 400), random.between(1, 400)};
    case 5: return {random.between(1, 400), 1, random.between(1, 400)};
    case 6:
      return {64 * random.between(1, 4), 64 * random.between(1, 4), 64 * random.between(1, 4)};
    case 7: {  // beyond an executor's tile
      if (random.chance(0.15)) {
        return {random.between(500, 700), random.between(500, 1000), random.between(1, 20)};
      }
      const int64_t wide = random.between(500, 1100);
      const int64_t other = random.between(1, 80), K = random.between(1, 80);
      return random.chance(0.5) ? Shape{wide, other, K} : Shape{other, wide, K};
    }
    default:  // long enough for the contraction to be split
      return {random.between(1, 16), random.between(1, 16), random.between(2000, 9000)};
  }
}

// Likewise, in tiles of a kernel: from parts of one to as many as make its ring of stages wrap and
// its consumers take turns several times.
Shape draw_tiles(const plan::KernelEntry& kernel, Random& random) {
  const plan::ClusterTile tile = plan::cluster_tile(kernel.config, kernel.accumulators);
  const int64_t rows = tile.rows, columns = tile.columns, K = random.between(1, 150);
  switch (random.between(0, 9)) {
    case 0: return {random.between(1, 8), random.between(1, 8), random.between(1, 8)};
    case 1: return {random.between(1, rows), random.between(1, columns), random.between(1, 500)};
    case 2: {  // nothing along one extent
      Shape shape{random.between(1, rows), random.between(1, columns), K};
      int64_t* const extents[] = {&shape.M, &shape.N, &shape.K};
      *extents[random.between(0, 2)] = 0;
      return shape;
    }
    case 3: return {1, random.between(1, 2 * columns), K};
    case 4: return {random.between(1, 2 * rows), 1, K};
    case 5: return {64 * random.between(1, 4), 64 * random.between(1, 4), 64};
    case 6:
    case 7: return {random.between(1, rows), random.between(3 * columns + 1, 5 * columns), K};
    case 8: return {random.between(3 * rows + 1, 4 * rows), random.between(1, columns), K};
    default: return {2 * rows, random.between(columns + 1, 2 * columns), K};
  }
}

// Cuts an extent into `count` pieces that begin at multiples of `unit`; some may be empty.
Segments draw_segments(Random& random, int64_t extent, int count, int64_t unit) {
  Segments result{count, {}};
  std::vector<int64_t> cuts{0, extent / unit};
  for (int i = 1; i < count; ++i) cuts.push_back(random.between(0, extent / unit));
  std::ranges::sort(cuts);
  for (int i = 0; i < count; ++i) result.begin[i] = cuts[static_cast<size_t>(i)] * unit;
  result.begin[count] = extent;
  return result;
}

// Half a head that the kernel takes, of those worth testing; any where there is none.
int64_t draw_half(const plan::KernelEntry* kernel, Random& random) {
  std::vector<int64_t> halves;
  for (const int64_t half : {1, 3, 8, 16, 32, 40, 48, 64, 128}) {
    if (kernel == nullptr || takes_half(*kernel, half)) halves.push_back(half);
  }
  return random.pick(halves);
}

// `kernel`: what the shape is drawn for; null: any.
void draw_problem(Case& c, const Variant& variant, const plan::KernelEntry* kernel, bool few_tiles,
                  Random& random) {
  const auto& ports = variant.program.ports;
  const auto any = [&](auto&& property) { return std::ranges::any_of(ports, property); };
  int required = 1;  // segments; those of a table are no segments of an operand
  for (const PortView& port : ports) {
    if (port.kind != PortKind::kPairTable) required = std::max(required, port.segments);
  }
  const bool halves = variant.program.halves;

  Shape shape = !few_tiles ? draw_shape(random)
                           : draw_tiles(kernel != nullptr ? *kernel : plan::KernelEntry{}, random);
  int64_t half = 1;
  const bool may = kernel == nullptr && variant.program.accumulators == 2;
  if (halves || (may && random.chance(0.3))) {
    half = draw_half(kernel, random);
    shape.N = (shape.N + half - 1) / half * half;
    c.problem.head_dim = 2 * half;
  }
  if (required > 1) {
    const auto cut = [](PortKind kind) {
      return [kind](const PortView& p) { return p.kind == kind && p.segments > 1; };
    };
    const bool rows = any(cut(PortKind::kPerRow));
    const bool columns = any(cut(PortKind::kPerColumn)) || halves;
    c.axis = rows || (!columns && random.chance(0.5)) ? Axis::kRows : Axis::kColumns;
  } else {
    c.axis = random.pick(std::array{Axis::kNone, Axis::kNone, Axis::kNone, Axis::kRows,
                                    Axis::kColumns, Axis::kContraction});
  }
  const int count = required > 1 ? required : static_cast<int>(random.between(2, kMaxSegments));
  const auto segments = [&](Axis axis, int64_t extent, int64_t unit) {
    return draw_segments(random, extent, c.axis == axis ? count : 1, unit);
  };
  c.problem.rows = segments(Axis::kRows, shape.M, 1);
  const int64_t aligned = std::max<int64_t>(c.alignment / 2, 1);  // elements of two bytes or four
  const int64_t unit = std::lcm(half, aligned);
  c.problem.columns = segments(Axis::kColumns, shape.N, unit);
  c.problem.contraction = segments(Axis::kContraction, shape.K, 1);
}

double draw_number(const Case& c, const Variant& variant, const PortView& port, Random& random) {
  if (port.choices == 1) return 0;
  if (port.choices > 0) {  // another than the usual one
    const int64_t drawn = random.between(1, port.choices - 1);
    return static_cast<double>(drawn <= port.usual ? drawn - 1 : drawn);
  }
  double value = 0;
  if (const catalogue::Values* values = unusual_values(variant, port.name)) {
    value = values->draw(random, 0);
  } else if (port.name.ends_with("epsilon")) {  // under a root
    value = random.pick(std::array{1e-6, 1e-5, 1e-2});
  } else if (c.data == Data::kIntegers) {
    value = random.pick(std::array{-1.0, 0.0, 0.5, 1.0, 2.0});
  } else {
    value = 4 * random.uniform() - 2;
  }
  return reference::round_to(port.dtype, value);
}

// `kernel`: has the optional ports; drawn where it is null.
void draw_arguments(Case& c, const Variant& variant, const plan::KernelEntry* kernel,
                    Random& random) {
  for (size_t i = 0; i < variant.program.ports.size(); ++i) {
    const PortView& port = variant.program.ports[i];
    // A port that is given in a program with nothing filled in has a default.
    // A choice that is left out, or not compiled for, is the usual one.
    const bool decided = kernel != nullptr && (kernel->either >> i & 1) == 0;
    const bool may = port.optional || port.choices > 0;
    const bool usual =
        may && decided ? (kernel->given >> i & 1) == 0 : (may || port.given) && random.chance(0.4);
    if (usual && (port.optional || port.given)) continue;  // a choice may have no default
    c.given.insert(port.name);
    if (port.kind == PortKind::kScalar)
      c.numbers[port.name] = usual ? port.usual : draw_number(c, variant, port, random);
  }
  // Beside tables, positions are rows of them; else angles stay accurate up to a million.
  const bool table = std::ranges::any_of(variant.program.ports, [&](const PortView& port) {
    return port.kind == PortKind::kPairTable && c.given.contains(port.name);
  });
  c.positions = table ? random.between(1, 300) : 1 << 20;
  // Integers: the partials are 1, so that their mean, and what is finished from it, is exactly 1.
  c.parts = random.between(1, 9);
  const bool integers = c.data == Data::kIntegers;
  const double epsilon = integers ? 0.0 : static_cast<double>(1e-5f);
  for (const std::string& name : variant.parameters) {
    const std::string port = name.substr(0, name.find('.'));
    const std::string parameter = name.substr(port.size() + 1);
    if (!c.given.contains(port)) continue;
    c.numbers[name] = parameter == "epsilon" ? epsilon
                      : parameter == "width"
                          ? static_cast<double>(integers ? c.parts : 64 * c.parts)
                          : 1.0;
  }
}

void draw_in_place(Case& c, const Variant& variant, Random& random) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const PortView& out : variant.program.ports) {
    for (const PortView& in : variant.program.ports) {
      const bool alike = out.dtype == in.dtype && out.segments == in.segments &&
                         out.paired == in.paired && c.given.contains(out.name) &&
                         c.given.contains(in.name);
      if (out.kind == PortKind::kStore && in.kind == PortKind::kPerElement && alike) {
        pairs.emplace_back(out.name, in.name);
      }
    }
  }
  if (pairs.empty() || !random.chance(0.3)) return;
  std::tie(c.in_place_output, c.in_place_input) = random.pick(pairs);
}

const plan::KernelEntry* draw_kernel(const Variant& variant, const CaseRules& rules,
                                     Random& random) {
  if (!rules.kernels || variant.draw != nullptr || random.chance(0.1)) return nullptr;
  std::vector<const plan::KernelEntry*> kernels;
  for (const plan::KernelEntry& kernel : rules.kernels(variant)) {
    if (kernel.operand == variant.operand) kernels.push_back(&kernel);
  }
  return kernels.empty() ? nullptr : random.pick(kernels);
}

void take_drawn(Case& c, catalogue::DrawnCase drawn) {
  for (const auto& tensor : drawn.inputs) c.given.insert(tensor.name);
  for (const auto& tensor : drawn.outputs) c.given.insert(tensor.name);
  c.numbers = drawn.numbers;
  c.in_place_output = drawn.in_place_output;
  c.in_place_input = drawn.in_place_input;
  c.drawn = std::move(drawn);
}

Major view_major(kernel::OperandMajor major) {
  return major == kernel::OperandMajor::kContraction ? Major::kRow : Major::kColumn;
}

}  // namespace

uint64_t case_number(uint64_t seed, int i) {
  return mix(seed, static_cast<uint64_t>(i)) % 1000000000;
}

Case make_case(uint64_t number, const Variant& variant, const CaseRules& rules) {
  Random random(number);
  Case c;
  c.number = number;
  c.alignment = rules.alignment;
  const plan::KernelEntry* kernel = draw_kernel(variant, rules, random);
  if (kernel != nullptr) {
    c.major_a = view_major(kernel->a);
    c.major_b = view_major(kernel->b);
  }
  c.data = random.pick(std::array{Data::kNormal, Data::kNormal, Data::kNormal, Data::kIntegers,
                                  Data::kIntegers, Data::kSpecial});
  if (variant.draw != nullptr) {
    take_drawn(c, variant.draw({variant, random, c.data == Data::kIntegers, rules.gpu}));
    return c;
  }
  draw_problem(c, variant, kernel, rules.few_tiles, random);
  // Without products, a function of integers takes so few values that its unfused error says
  // nothing.
  const auto chosen = [](const PortView& port) { return port.choices > 0; };
  if (c.problem.K() == 0 && c.data == Data::kIntegers &&
      std::ranges::any_of(variant.program.ports, chosen)) {
    c.data = Data::kNormal;
  }
  draw_arguments(c, variant, kernel, random);
  draw_in_place(c, variant, random);
  return c;
}

std::string Case::text() const {
  const char* const data_names[] = {"normal data", "integers", "special values"};
  if (drawn) {
    std::string result = data_names[static_cast<int>(data)];
    const auto add = [&](const char* what, const auto& tensors) {
      result += what;
      for (const auto& t : tensors) result += fmt::format(" {}[{}, {}]", t.name, t.rows, t.columns);
    };
    add(", in", drawn->inputs);
    add(", out", drawn->outputs);
    for (const auto& [name, number] : numbers) result += fmt::format(", {} = {}", name, number);
    if (!in_place_output.empty()) {
      result += fmt::format(", {} in the memory of {}", in_place_output, in_place_input);
    }
    return result;
  }
  std::string result = fmt::format("M={} N={} K={}, {}", problem.M(), problem.N(), problem.K(),
                                   data_names[static_cast<int>(data)]);
  const auto sizes = [](const Segments& segments) {
    std::string list = fmt::format("{}", segments.size(0));
    for (int i = 1; i < segments.count; ++i) list += fmt::format("+{}", segments.size(i));
    return list;
  };
  if (axis == Axis::kRows) result += ", M cut into " + sizes(problem.rows);
  if (axis == Axis::kColumns) result += ", N cut into " + sizes(problem.columns);
  if (axis == Axis::kContraction) result += ", K cut into " + sizes(problem.contraction);
  if (problem.head_dim != 0) result += fmt::format(", halves of {}", problem.head_dim);
  if (!in_place_output.empty()) {
    result += fmt::format(", {} in the memory of {}", in_place_output, in_place_input);
  }
  return fmt::format("{}, given: {}", result, fmt::join(given, " "));
}

}  // namespace coda::tools
