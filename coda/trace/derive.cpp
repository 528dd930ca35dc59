#include "coda/trace/derive.h"

#include <fmt/format.h>

#include <algorithm>

#include "coda/core/error.h"
#include "coda/program/reduction.h"
#include "coda/trace/derive_request.h"
#include "coda/trace/forward_values.h"
#include "coda/trace/gradient_sum.h"
#include "coda/trace/pull_back.h"
#include "coda/trace/recognise.h"
#include "coda/trace/reduction_facts.h"

namespace coda::trace {
namespace {

class Derivation {
 public:
  Derivation(const Graph& forward, DeriveRequest request, DType element)
      : forward_(forward), request_(std::move(request)), element_(element), ports_(forward) {
    again_ = request_.accumulator == "forward";
    const auto& nodes = forward.nodes;
    reaches_.resize(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {  // what leads to something wanted
      const Node& node = nodes[i];
      reaches_[i] = node.kind == NodeKind::kAccumulator ||
                    (node.kind == NodeKind::kLoad && node.element == Element::kFloat &&
                     request_.wanted[static_cast<size_t>(node.port)]);
      for (int k = 0; k < node.operands() && node.element == Element::kFloat; ++k) {
        const auto operand = static_cast<size_t>(node.operand[static_cast<size_t>(k)]);
        reaches_[i] =
            reaches_[i] || (reaches_[operand] && nodes[operand].element == Element::kFloat);
      }
    }
  }

  Derived run();

 private:
  void derive_segment(const std::vector<Output>& outputs);
  void seed(const Output& output, ForwardValues& values, std::vector<std::vector<int>>& flowing);
  void write(int node, int gradient, std::vector<Output>& outputs);
  Output& output_to(std::vector<Output>& outputs, int port, size_t values);
  void fill_in_zeros();
  int segments() const;

  const Graph& forward_;
  DeriveRequest request_;
  DType element_;  // of daccumulator, and of an accumulator that is saved
  DerivedPorts ports_;
  bool again_ = false;
  std::vector<bool> reaches_;
  Graph derived_;
  std::optional<Builder> builder_;
  std::vector<int> missing_, read_back_;
};

int Derivation::segments() const {
  int result = 1;
  for (const PortView& port : forward_.program.ports) {
    if (port.kind == PortKind::kStore) result = std::max(result, port.segments);
  }
  return result;
}

// The incoming gradients of an output flow into what was written to it.
void Derivation::seed(const Output& output, ForwardValues& values,
                      std::vector<std::vector<int>>& flowing) {
  const PortView& port = forward_.program.ports[static_cast<size_t>(output.port)];
  if (!contains(request_.outputs, port.name)) return;
  const auto flow = [&](int node, int gradient) {
    if (reaches_[static_cast<size_t>(node)]) flowing[static_cast<size_t>(node)].push_back(gradient);
  };
  const std::string name = "d" + port.name;
  if (port.kind == PortKind::kStore) {
    for (size_t k = 0; k < output.values.size(); ++k) {
      const int member = static_cast<int>(k);
      if (!reaches_[static_cast<size_t>(output.values[k])]) continue;
      const int gradient =
          name == request_.accumulator
              ? builder_->accumulator(member)
              : builder_->load(ports_.incoming(name, PortKind::kPerElement, port.dtype,
                                               port.segments, port.paired, output.port),
                               member, Space::kElement, Element::kFloat);
      flow(output.values[k], gradient);
    }
    return;
  }
  const ReductionFacts& reduction = *forward_.facts[static_cast<size_t>(output.port)].reduction;
  if (output.lift->pull_back.results.empty()) {
    throw Error(
        fmt::format("derive {}: the reduction {} of '{}' does not say its gradient; give it "
                    "pull_back(x, value, "
                    "dvalue), as coda::LogSumExp has it",
                    forward_.program.name, reduction.type, port.name));
  }
  const bool row = port.kind == PortKind::kRowReduce;
  const auto load = [&](const std::string& prefix, const std::string& value) {
    const std::string whole = prefix + port.name + (value.empty() ? "" : "_" + value);
    const int place = ports_.incoming(whole, row ? PortKind::kPerRow : PortKind::kPerColumn,
                                      DType::kFp32, 1, false, output.port);
    return builder_->load(place, 0, row ? Space::kRow : Space::kColumn, Element::kFloat);
  };
  const std::vector<std::string> names =
      reduction.values.empty() ? std::vector<std::string>{""} : reduction.values;
  // Only those that the gradient takes become ports.
  std::vector<bool> taken(output.values.size() + 2 * names.size());
  const Subgraph& pull_back = output.lift->pull_back;
  std::vector<bool> used(pull_back.nodes.size());
  for (const int result : pull_back.results) used[static_cast<size_t>(result)] = true;
  for (size_t i = used.size(); i-- > 0;) {
    const Node& node = pull_back.nodes[i];
    if (!used[i]) continue;
    if (node.kind == NodeKind::kArgument) taken[static_cast<size_t>(node.member)] = true;
    for (int k = 0; k < node.operands(); ++k) {
      used[static_cast<size_t>(node.operand[static_cast<size_t>(k)])] = true;
    }
  }
  std::vector<int> arguments;
  for (const int value : output.values) arguments.push_back(values.value(value));
  for (const std::string prefix : {"", "d"}) {
    for (const std::string& value : names) {
      const bool takes = taken[arguments.size()];
      arguments.push_back(takes ? load(prefix, value) : builder_->constant(0));
    }
  }
  const std::vector<int> gradients = builder_->inlined(pull_back, arguments);
  for (size_t k = 0; k < gradients.size(); ++k) flow(output.values[k], gradients[k]);
}

void Derivation::derive_segment(const std::vector<Output>& outputs) {
  ForwardValues values(forward_, outputs, again_, request_.saved, element_, *builder_, ports_);
  GradientSum sums(*builder_);
  std::vector<std::vector<int>> flowing(forward_.nodes.size());
  for (const Output& output : outputs) seed(output, values, flowing);
  std::vector<Output> gradients;
  for (int i = static_cast<int>(flowing.size()) - 1; i >= 0; --i) {
    const auto& terms = flowing[static_cast<size_t>(i)];
    if (terms.empty()) continue;
    const int gradient = sums.sum(terms);
    if (terms.size() > 1) sums.keep_whole(gradient);
    const Node& node = forward_.nodes[static_cast<size_t>(i)];
    if (node.operands() == 0) {
      write(i, gradient, gradients);
      continue;
    }
    const PullBack pull_back{
        *builder_,
        [&](int of) {
          const int value = values.value(of);
          const Node& made = builder_->node(value);
          const bool ratio = made.kind == NodeKind::kApply && made.function == Function::kDivide;
          if (!ratio) sums.keep_whole(value);  // what was rebuilt by a division may join others
          return value;
        },
        [&](int k) {
          const auto operand = static_cast<size_t>(node.operand[static_cast<size_t>(k)]);
          return reaches_[operand] && forward_.nodes[operand].element == Element::kFloat;
        },
        [&](int k, int flows) {
          flowing[static_cast<size_t>(node.operand[static_cast<size_t>(k)])].push_back(flows);
        }};
    pull_back(node, i, gradient);
  }
  derived_.segments.push_back(std::move(gradients));
  for (const int one : values.missing()) {
    if (std::ranges::find(missing_, one) == missing_.end()) missing_.push_back(one);
  }
  for (const int one : values.read_back()) {
    if (std::ranges::find(read_back_, one) == read_back_.end()) read_back_.push_back(one);
  }
}

Output& Derivation::output_to(std::vector<Output>& outputs, int port, size_t values) {
  for (Output& output : outputs) {
    if (output.port == port) return output;
  }
  outputs.push_back({port, std::vector<int>(values, builder_->constant(0)), nullptr});
  return outputs.back();
}

// A gradient that has arrived at an accumulator or a port.
void Derivation::write(int i, int gradient, std::vector<Output>& outputs) {
  const Node& node = forward_.nodes[static_cast<size_t>(i)];
  const auto member = static_cast<size_t>(node.member);
  const ProgramView& program = forward_.program;
  if (node.kind == NodeKind::kAccumulator) {
    const bool halves = program.halves;
    const std::string name = program.accumulators == 1 || halves
                                 ? "daccumulator"
                                 : fmt::format("daccumulator{}", member);
    const int order = (halves ? 0 : node.member) - kMaxPorts;  // before what ports get
    const int place = ports_.store(name, element_, segments(), halves, order);
    output_to(outputs, place, halves ? 2 : 1).values[halves ? member : 0] = gradient;
    return;
  }
  const PortView& port = program.ports[static_cast<size_t>(node.port)];
  const std::string name = "d" + port.name;
  if (port.kind == PortKind::kPerElement) {
    const int place = ports_.store(name, port.dtype, port.segments, port.paired, node.port);
    output_to(outputs, place, port.paired ? 2 : 1).values[member] = gradient;
    return;
  }
  const bool columns = port.kind == PortKind::kPerColumn || port.kind == PortKind::kPerHead;
  if (!columns && program.groups) {  // which have no row reductions: its row sums are the gradient
    const int place = ports_.store(name + "_terms", DType::kFp32, 1, false, node.port);
    output_to(outputs, place, 1).values[0] = gradient;
    return;
  }
  const std::string half = !port.paired ? "" : member == 0 ? "_first" : "_second";
  const PortKind kind = columns ? PortKind::kColumnReduce : PortKind::kRowReduce;
  const int place = ports_.reduction(name + half, kind, node.port);
  Output& output = output_to(outputs, place, 1);
  output.values[0] = gradient;
  output.lift = lift_facts<Sum, 1>();
}

// What only some segments have a gradient of has none in the others.
void Derivation::fill_in_zeros() {
  for (const auto& outputs : derived_.segments) {
    for (const Output& one : std::vector<Output>(outputs)) {
      for (auto& others : derived_.segments) {
        output_to(others, one.port, one.values.size()).lift = one.lift;
      }
    }
  }
}

Derived Derivation::run() {
  builder_.emplace(derived_.nodes);
  for (const auto& outputs : forward_.segments) derive_segment(outputs);
  fill_in_zeros();
  ProgramView& program = derived_.program;
  program.name = forward_.program.name + "_backward";
  program.halves = forward_.program.halves;
  program.accumulators = again_ || program.halves ? forward_.program.accumulators : 1;
  Derived result;
  result.accumulator = request_.accumulator;
  for (const int port : read_back_) {
    const PortView& view = forward_.program.ports[static_cast<size_t>(port)];
    result.saved.push_back({view.name, true, view.element_bytes, view.paired});
  }
  for (const int accumulator : missing_) {
    const std::string name = forward_.program.accumulators == 1
                                 ? "accumulator"
                                 : fmt::format("accumulator{}", accumulator);
    result.saved.push_back({name, false, dtype_bytes(element_), false});
  }
  ports_.move_into(derived_);
  result.graph = without_unused(derived_);
  result.graph.program.groups = std::ranges::any_of(
      result.graph.nodes, [](const Node& node) { return node.kind == NodeKind::kGroupSum; });
  if (result.graph.program.ports.size() > static_cast<size_t>(kMaxPorts)) {
    throw Error(fmt::format(
        "derive {}: its gradients take {} ports, and a program has at most {}; ask for fewer "
        "(--gradients; in PyTorch, for those of fewer arguments), or leave optional ports out "
        "(--without)",
        forward_.program.name, result.graph.program.ports.size(), kMaxPorts));
  }
  return result;
}

DType last_stored(const Graph& forward) {
  DType type = DType::kFp32;
  for (const PortView& port : forward.program.ports) {
    if (port.kind == PortKind::kStore) type = port.dtype;
  }
  return type;
}

}  // namespace

Derived derive(const Graph& forward, const DeriveOptions& options) {
  const Graph known = recognise(forward);
  const DType element = options.operand.value_or(last_stored(known));
  return Derivation(known, derive_request(known, options), element).run();
}

}  // namespace coda::trace
