// The inputs of a case: draw_inputs of check_case.h, and how large they are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "coda/core/random.h"
#include "coda/tools/check_case.h"

namespace coda::tools {
namespace {

using catalogue::Variant;
using reference::Array;

template <class Draw>
Array drawn(int64_t rows, int64_t columns, DType type, Draw&& draw) {
  return map(Array(rows, columns), [&](double) { return reference::round_to(type, draw()); });
}

// Integers up to `largest`, a share of A's kept and the rest zero.
struct IntegerRange {
  int64_t largest;
  double kept;
};

// Sums deviate by about 200: beyond what bf16 holds, yet 64 of their squares stay below 2^24, so
// that every sum is exact in fp32. By about 16 where a product of two has to fit fp16.
IntegerRange integer_range(const Case& c, const Variant& variant) {
  const auto fp16 = [](const PortView& p) { return p.dtype == DType::kFp16; };
  const bool narrow =
      variant.program.accumulators == 2 && std::ranges::any_of(variant.program.ports, fp16);
  const double deviation = narrow ? 16 : 200;
  const auto K = static_cast<double>(std::max<int64_t>(c.problem.K(), 1));
  for (const int64_t largest : {15, 10, 7, 5, 3, 2, 1}) {
    const double variance = static_cast<double>(largest * (largest + 1)) / 3;  // of one integer
    const double kept = deviation * deviation / (K * variance * variance);
    if (kept >= 1 || largest == 1) return {largest, std::min(kept, 1.0)};
  }
  return {1, 1};
}

void draw_operands(reference::Arrays& in, const Case& c, const Variant& variant, Random& random) {
  const int64_t M = c.problem.M(), N = c.problem.N(), K = c.problem.K();
  const IntegerRange range = integer_range(c, variant);
  const double scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(K, 1)));
  const auto integer = [&] { return random.between(-range.largest, range.largest); };
  const bool integers = c.data == Data::kIntegers;
  in["A"] = drawn(M, K, variant.operand, [&]() -> double {
    if (!integers) return random.normal();
    return random.chance(range.kept) ? static_cast<double>(integer()) : 0;
  });
  const auto b = [&] {
    return drawn(N, K, variant.operand, [&] {
      return integers ? static_cast<double>(integer()) : scale * random.normal();
    });
  };
  if (variant.program.accumulators == 2) {
    in["B.first"] = b();
    in["B.second"] = b();
  } else {
    in["B"] = b();
  }
}

// One number of the states of partials, so that a variance is positive where they are (Σx, Σx²):
// means about ½ and mean squares from 1 to 2; of integers, 1 and 2.
Array draw_member(const PortView& port, const Case& c, int64_t member, Random& random) {
  const int64_t M = expected_extent(port, c.problem, 0).columns;
  const bool integers = c.data == Data::kIntegers;
  return drawn(c.parts, M, port.dtype, [&] {
    if (integers) return member == 0 ? 1.0 : 2.0;
    return 64 * (member == 0 ? 0.25 + 0.5 * random.uniform() : 1 + random.uniform());
  });
}

// positions: whether integers stand for them. values: of the port, where they are no usual ones.
Array draw_port(const PortView& port, const Case& c, bool positions,
                const catalogue::Values* values, Random& random) {
  const Extent extent = expected_extent(port, c.problem, 0);
  const bool integers = c.data == Data::kIntegers;
  const int64_t M = c.problem.M(), N = c.problem.N() * (port.paired ? 2 : 1);
  if (values != nullptr) {
    const Extent whole = c.extent(port);
    int64_t i = 0;
    return drawn(whole.rows, whole.columns, port.dtype, [&] { return values->draw(random, i++); });
  }
  if (is_integer(port.dtype)) {  // positions, else columns
    const int64_t end = positions ? c.positions : N;
    return drawn(1, M, port.dtype, [&] {
      return static_cast<double>(random.between(0, std::max<int64_t>(end - 1, 0)));
    });
  }
  switch (port.kind) {
    case PortKind::kPerRow:
    case PortKind::kPerColumn:
    case PortKind::kPerHead:
      return drawn(1, port.kind == PortKind::kPerColumn ? N : extent.columns, port.dtype, [&] {
        return integers ? static_cast<double>(random.between(-2, 2)) : 0.5 + 0.5 * random.normal();
      });
    case PortKind::kPerElement:
      return drawn(M, N, port.dtype, [&] {
        return integers ? static_cast<double>(random.between(-8, 8)) : random.normal();
      });
    case PortKind::kPairTable:  // side by side
      return drawn(c.positions, 2 * extent.columns, port.dtype, [&] {
        return integers ? static_cast<double>(random.between(-1, 1)) : random.normal();
      });
    default:  // partials of 64 values of variance 1
      return drawn(c.parts, extent.columns, port.dtype,
                   [&] { return integers ? 1.0 : 64 * (0.5 + random.uniform()); });
  }
}

void sprinkle(const std::vector<Array*>& arrays, Random& random) {
  if (arrays.empty()) return;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::array specials{kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  for (int64_t i = random.between(1, 3); i > 0; --i) {
    Array& array = *random.pick(arrays);
    if (array.size() == 0) continue;
    array.values[static_cast<size_t>(random.between(0, array.size() - 1))] = random.pick(specials);
  }
}

// Where infinities and NaNs may stand.
std::vector<Array*> values_of(reference::Arrays& in, const Case& c, const Variant& variant) {
  std::vector<Array*> arrays;
  for (const char* name : {"A", "B", "B.first", "B.second"}) {
    if (in.contains(name)) arrays.push_back(&in[name]);
  }
  for (const PortView& port : variant.program.ports) {
    const bool values = port.kind == PortKind::kPerRow || port.kind == PortKind::kPerColumn ||
                        port.kind == PortKind::kPerElement || port.kind == PortKind::kPerHead;
    const catalogue::Values* unusual = unusual_values(variant, port.name);
    if (unusual != nullptr && !unusual->specials) continue;
    if (values && !is_integer(port.dtype) && c.given.contains(port.name))
      arrays.push_back(&in[port.name]);
  }
  return arrays;
}

DType type_of(const Variant& variant, const std::string& port) {
  return std::ranges::find(variant.program.ports, port, &PortView::name)->dtype;
}

// Of a case that its operation has drawn. An output that is read first stands among the inputs.
reference::Arrays draw_tensors(const Case& c, const Variant& variant, bool specials,
                               Random& random) {
  reference::Arrays in;
  for (const auto& [name, number] : c.numbers) in[name] = number;
  std::vector<Array*> arrays;
  for (const catalogue::DrawnTensor& tensor : c.drawn->inputs) {
    int64_t i = 0;
    in[tensor.name] = drawn(tensor.rows, tensor.columns, type_of(variant, tensor.name),
                            [&] { return tensor.values.draw(random, i++); });
    if (tensor.values.specials) arrays.push_back(&in[tensor.name]);
  }
  if (specials) sprinkle(arrays, random);
  return in;
}

Array sizes_of(const Segments& segments) {
  Array sizes(1, segments.count);
  for (int i = 0; i < segments.count; ++i) sizes(0, i) = static_cast<double>(segments.size(i));
  return sizes;
}

}  // namespace

Extent Case::extent(const PortView& port) const {
  if (!drawn) {
    PortView whole = port;
    whole.segments = 1;
    return expected_extent(whole, problem, 0);
  }
  for (const auto* tensors : {&drawn->inputs, &drawn->outputs}) {
    const auto found = std::ranges::find(*tensors, port.name, &catalogue::DrawnTensor::name);
    if (found != tensors->end()) return {found->rows, found->columns};
  }
  return {};
}

int64_t Case::work() const {
  if (!drawn) {
    const int64_t M = problem.M(), N = problem.N(), K = problem.K();
    return (M + N) * K + M * N * (K + 1) + 100;
  }
  int64_t elements = 100;
  for (const auto* tensors : {&drawn->inputs, &drawn->outputs}) {
    for (const catalogue::DrawnTensor& tensor : *tensors) elements += tensor.rows * tensor.columns;
  }
  return 4 * elements;
}

const catalogue::Values* unusual_values(const Variant& variant, const std::string& port) {
  const auto found = variant.values.find(port);
  return found == variant.values.end() ? nullptr : &found->second;
}

reference::Arrays draw_inputs(const Case& c, const Variant& variant, uint64_t instance) {
  Random random(mix(c.number, instance));
  if (c.drawn) {
    return draw_tensors(c, variant, c.data == Data::kSpecial && instance == 0, random);
  }
  reference::Arrays in;
  draw_operands(in, c, variant, random);
  const bool positions =
      std::ranges::count(variant.program.ports, PortKind::kPairTable, &PortView::kind) > 0;
  for (const PortView& port : variant.program.ports) {
    if (!is_input(port.kind) || port.kind == PortKind::kScalar || !c.given.contains(port.name)) {
      continue;
    }
    if (port.dtype != DType::kState) {
      in[port.name] = draw_port(port, c, positions, unusual_values(variant, port.name), random);
    } else {
      for (int64_t i = 0; i < port.element_bytes / 4; ++i) {
        in[fmt::format("{}.{}", port.name, i)] = draw_member(port, c, i, random);
      }
    }
  }
  for (const auto& [name, number] : c.numbers) in[name] = number;
  if (c.axis == Axis::kRows) in["segments.M"] = sizes_of(c.problem.rows);
  if (c.axis == Axis::kColumns) in["segments.N"] = sizes_of(c.problem.columns);
  if (c.problem.head_dim != 0) in["head_dim"] = static_cast<double>(c.problem.head_dim);
  if (c.data == Data::kSpecial && instance == 0) sprinkle(values_of(in, c, variant), random);
  return in;
}

}  // namespace coda::tools
