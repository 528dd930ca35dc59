#include "coda/trace/derived_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "coda/core/error.h"
#include "coda/program/reduction.h"
#include "coda/trace/reduction_facts.h"
#include "coda/trace/words.h"

namespace coda::trace {
namespace {

PortView port_view(const std::string& name, PortKind kind, DType type, int segments, bool paired) {
  PortView view;
  view.name = name;
  view.kind = kind;
  view.dtype = type;
  view.element_bytes = view.alignment = dtype_bytes(type);
  view.segments = segments;
  view.paired = paired;
  view.given = true;
  return view;
}

}  // namespace

bool DerivedPorts::contains(const std::string& name) const {
  return std::ranges::any_of(entries_, [&](const Entry& e) { return e.view.name == name; });
}

bool DerivedPorts::is_forward(const std::string& name) const {
  return std::ranges::count(forward_.program.ports, name, &PortView::name) > 0;
}

int DerivedPorts::add(PortView view, PortFacts facts, Role role, int order) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].view.name != view.name) continue;
    if (entries_[i].role == role && entries_[i].order == order) return static_cast<int>(i);
    throw Error(fmt::format(
        "derive {}: its backward program has two meanings for a port '{}'; call the port otherwise",
        forward_.program.name, view.name));
  }
  if (is_taken(view.name) && !is_forward(view.name)) {  // the author's own names have compiled
    throw Error(fmt::format(
        "derive {}: its backward program would have a port '{}', which is a word of C++ or of its "
        "programs; call the port otherwise",
        forward_.program.name, view.name));
  }
  entries_.push_back({std::move(view), std::move(facts), role, order});
  return static_cast<int>(entries_.size()) - 1;
}

int DerivedPorts::forward_input(int port) {
  PortView view = forward_.program.ports[static_cast<size_t>(port)];
  view.optional = false;
  view.given = true;
  return add(std::move(view), forward_.facts[static_cast<size_t>(port)], Role::kForward, port);
}

int DerivedPorts::saved(const std::string& name, DType type, int segments, bool paired, int order) {
  return add(port_view(name, PortKind::kPerElement, type, segments, paired), {}, Role::kSaved,
             order);
}

int DerivedPorts::incoming(const std::string& name, PortKind kind, DType type, int segments,
                           bool paired, int order) {
  return add(port_view(name, kind, type, segments, paired), {}, Role::kIncoming, order);
}

int DerivedPorts::store(const std::string& name, DType type, int segments, bool paired, int order) {
  return add(port_view(name, PortKind::kStore, type, segments, paired), {}, Role::kGradient, order);
}

int DerivedPorts::reduction(const std::string& name, PortKind kind, int order) {
  PortView view = port_view(name, kind, DType::kFp32, 1, false);
  view.partial_width = kPartialWidth;
  PortFacts facts;
  facts.reduction = reduction_facts<Sum>();
  return add(std::move(view), std::move(facts), Role::kGradient, order);
}

void DerivedPorts::move_into(Graph& derived) const {
  std::vector<int> order(entries_.size()), place(entries_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int i) {
    const Entry& entry = entries_[static_cast<size_t>(i)];
    return std::tuple(static_cast<int>(entry.role), entry.order, entry.view.name, i);
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const Entry& entry = entries_[static_cast<size_t>(order[i])];
    place[static_cast<size_t>(order[i])] = static_cast<int>(i);
    derived.program.ports.push_back(entry.view);
    derived.facts.push_back(entry.facts);
  }
  for (Node& node : derived.nodes) {
    if (node.port >= 0) node.port = place[static_cast<size_t>(node.port)];
  }
  for (auto& outputs : derived.segments) {
    for (Output& output : outputs) output.port = place[static_cast<size_t>(output.port)];
    std::ranges::sort(outputs, {}, &Output::port);
  }
}

}  // namespace coda::trace
