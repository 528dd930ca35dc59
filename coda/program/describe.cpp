#include "coda/program/describe.h"

#include <fmt/format.h>

namespace coda {

const char* kind_name(PortKind kind) {
  switch (kind) {
    case PortKind::kPerRow: return "PerRow";
    case PortKind::kPerColumn: return "PerColumn";
    case PortKind::kPerElement: return "PerElement";
    case PortKind::kScalar: return "Scalar";
    case PortKind::kPerRowFrom: return "PerRowFrom";
    case PortKind::kPerHead: return "PerHead";
    case PortKind::kPairTable: return "PairTable";
    case PortKind::kStore: return "Store";
    case PortKind::kRowReduce: return "RowReduce";
    case PortKind::kColumnReduce: return "ColumnReduce";
  }
  return "unknown";
}

std::string shape_name(const PortView& port) {
  if (!port.shape.empty()) return port.shape;
  const std::string n = port.paired ? "2N" : "N";
  switch (port.kind) {
    case PortKind::kPerRow: return "[M]";
    case PortKind::kPerColumn: return fmt::format("[{}]", n);
    case PortKind::kPerElement:
    case PortKind::kStore: return fmt::format("[M, {}]", n);
    case PortKind::kScalar: return "[]";
    case PortKind::kPerRowFrom: return "[parts, M]";
    case PortKind::kPerHead: return port.paired ? "[head_dim]" : "[head_dim/2]";
    case PortKind::kPairTable: return "[rows, head_dim/2] twice";
    case PortKind::kRowReduce: return fmt::format("[⌈N/{}⌉, M]", port.partial_width);
    case PortKind::kColumnReduce: return fmt::format("[⌈M/{}⌉, N]", port.partial_width);
  }
  return "";
}

}  // namespace coda
