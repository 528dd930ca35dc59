#include "coda/program/overlap.h"

#include <fmt/format.h>

#include <string_view>

#include "coda/core/error.h"

namespace coda {
namespace {

struct Region {
  std::string_view name;  // of a port, or an operand's letter
  TensorView view;
  PortKind kind = PortKind::kPerElement;
  bool output = false;
  int segment = 0, segments = 1;
};

int64_t begin_of(const TensorView& v) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(v.data));
}
int64_t end_of(const TensorView& v) {
  return begin_of(v) + ((v.lines() - 1) * v.ld + v.line()) * v.element_bytes;
}

bool overlap(const TensorView& a, const TensorView& b) {
  if (a.empty() || b.empty()) return false;
  if (end_of(a) <= begin_of(b) || end_of(b) <= begin_of(a)) return false;
  if (a.lines() == 1 || b.lines() == 1) return true;  // the ld of one line may be anything
  const int64_t pitch = a.ld * a.element_bytes;
  if (pitch != b.ld * b.element_bytes) return true;
  // Column ranges of one wider matrix: they share memory only if the ranges within a line do.
  const int64_t distance = ((begin_of(b) - begin_of(a)) % pitch + pitch) % pitch;
  return distance < a.line() * a.element_bytes || distance + b.line() * b.element_bytes > pitch;
}

void add_operand(std::vector<Region>& regions, const OperandView& operand, const char* letter) {
  for (int i = 0; i < operand.accumulators; ++i) {
    for (int s = 0; s < operand.segments; ++s)
      regions.push_back({letter, operand.part[i][s], PortKind::kPerRow, false});
  }
}

}  // namespace

bool same_view(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.dtype == b.dtype && a.rows == b.rows && a.columns == b.columns &&
         a.major == b.major && (a.ld == b.ld || a.lines() == 1);
}

void check_overlap(const ProgramView& program, const OperandView& a, const OperandView& b) {
  constexpr size_t kOperandTensors = 8;  // more are rare
  std::vector<Region> regions;
  regions.reserve(program.ports.size() + kOperandTensors);
  add_operand(regions, a, "A");
  add_operand(regions, b, "B");
  for (const PortView& port : program.ports) {
    if (!port.given) continue;
    if (port.kind == PortKind::kScalar) {
      const TensorView one{port.scalar_pointer, port.dtype,        1, 1, 1,
                           Major::kRow,         port.element_bytes};
      if (port.scalar_pointer != nullptr) regions.push_back({port.name, one, port.kind, false});
      continue;
    }
    for (int s = 0; s < port.segments; ++s)
      regions.push_back(
          {port.name, port.view[s], port.kind, !is_input(port.kind), s, port.segments});
  }
  for (const Region& out : regions) {
    if (!out.output) continue;
    for (const Region& other : regions) {
      if (&other == &out || (other.output && &other < &out) || !overlap(out.view, other.view))
        continue;
      const bool same_place = out.segment == other.segment && out.segments == other.segments;
      const bool in_place = out.kind == PortKind::kStore && other.kind == PortKind::kPerElement &&
                            same_place && same_view(out.view, other.view);
      if (in_place) continue;
      fail_argument(program.name, std::string(out.name),
                    fmt::format("memory apart from '{}'", other.name), "an overlap");
    }
  }
}

}  // namespace coda
