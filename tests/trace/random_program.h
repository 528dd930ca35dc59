// Random programs as graphs: every kind of port, every function, nested, with several outputs; and
// inputs for them. Everything is smooth but for kinks, and stays away from poles.
#pragma once
#include <string>
#include <vector>

#include "coda/core/random.h"
#include "coda/program/cross_entropy_sums.h"
#include "coda/reference/formula.h"
#include "coda/trace/builder.h"
#include "coda/trace/reduction_facts.h"

namespace coda::trace {

struct RandomProgram {
  Graph graph;
  reference::Arrays in;  // with accumulator.0, ...
};

class RandomProgramMaker {
 public:
  static constexpr int64_t kRows = 3, kColumns = 4, kHeadDim = 4, kParts = 2, kPositions = 5;

  explicit RandomProgramMaker(uint64_t seed) : random_(seed) {}

  RandomProgram make() {
    RandomProgram result;
    program_ = &result;
    values_.clear();
    Graph& graph = result.graph;
    graph.program.name = "random_program";
    graph.program.accumulators = 1 + static_cast<int>(random_.chance(0.5));
    graph.program.halves = graph.program.accumulators == 2 && random_.chance(0.5);
    graph.program.groups = graph.program.halves && random_.chance(0.7);
    Builder builder(graph.nodes);
    builder_ = &builder;
    add_leaves();
    const int64_t functions = random_.between(2, 14);
    for (int64_t i = 0; i < functions; ++i) values_.push_back(apply());
    add_outputs();
    return result;
  }

 private:
  using Array = reference::Array;

  Array drawn(int64_t rows, int64_t columns) {
    return map(Array(rows, columns), [&](double) { return random_.normal(); });
  }

  int add_port(PortKind kind, DType type, bool paired, PortFacts facts, const Array& value) {
    Graph& graph = program_->graph;
    PortView view;
    view.name = "p" + std::to_string(graph.program.ports.size());
    view.kind = kind;
    view.dtype = type;
    view.element_bytes = view.alignment = dtype_bytes(type);
    view.paired = paired;
    view.given = true;
    graph.program.ports.push_back(view);
    graph.facts.push_back(std::move(facts));
    program_->in[view.name] = value;
    return static_cast<int>(graph.program.ports.size()) - 1;
  }

  void add_loads(int port, bool paired, Space space) {
    for (int half = 0; half < (paired ? 2 : 1); ++half) {
      values_.push_back(builder_->load(port, half, space, Element::kFloat));
    }
  }

  void add_leaves() {
    const ProgramView& program = program_->graph.program;
    for (int i = 0; i < program.accumulators; ++i) {
      program_->in["accumulator." + std::to_string(i)] = drawn(kRows, kColumns);
      values_.push_back(builder_->accumulator(i));
    }
    if (program.halves) program_->in["head_dim"] = Array(static_cast<double>(kHeadDim));
    const int64_t ports = random_.between(0, 4);
    for (int64_t i = 0; i < ports; ++i) add_input(random_.between(0, program.halves ? 8 : 5));
  }

  void add_input(int64_t kind) {
    const bool paired = program_->graph.program.halves && random_.chance(0.5);
    const int64_t columns = kColumns * (paired ? 2 : 1);
    constexpr DType kFloat = DType::kFp32;
    PortFacts facts;
    switch (kind) {
      case 0:
        add_loads(add_port(PortKind::kPerRow, kFloat, false, {}, drawn(1, kRows)), false,
                  Space::kRow);
        break;
      case 1:
        add_loads(add_port(PortKind::kPerColumn, kFloat, paired, {}, drawn(1, columns)), paired,
                  Space::kColumn);
        break;
      case 2:
        add_loads(add_port(PortKind::kPerElement, kFloat, paired, {}, drawn(kRows, columns)),
                  paired, Space::kElement);
        break;
      case 3:
        facts.number = random_.normal();
        add_loads(add_port(PortKind::kScalar, kFloat, false, facts, Array(facts.number)), false,
                  Space::kScalar);
        break;
      case 4:
        facts.finish = random_.chance(0.5) ? finish_facts(ReciprocalRms{3.0f, 0.25f})
                                           : finish_facts(Mean{2.0f});
        add_loads(add_port(PortKind::kPerRowFrom, kFloat, false, facts,
                           map(drawn(kParts, kRows), [](double x) { return x * x + 0.5; })),
                  false, Space::kRow);
        break;
      case 5: {  // a target: where the column is it, one of two values
        const Array target = map(Array(1, kRows), [&](double) {
          return static_cast<double>(random_.between(-1, kColumns));
        });
        const int port = add_port(PortKind::kPerRow, DType::kInt64, false, {}, target);
        const int index = builder_->load(port, 0, Space::kRow, Element::kInteger);
        const int mask = builder_->apply(Function::kEqual, builder_->column(), index);
        values_.push_back(builder_->apply(Function::kToFloat, index));
        values_.push_back(
            builder_->apply(Function::kSelect, mask, value(), builder_->constant(0.5)));
        break;
      }
      case 6:
        add_loads(
            add_port(PortKind::kPerHead, kFloat, paired, {}, drawn(1, kHeadDim / (paired ? 1 : 2))),
            paired, Space::kColumn);
        break;
      case 7: {  // a rotation
        const int port = add_port(PortKind::kPerHead, kFloat, false, {}, drawn(1, kHeadDim / 2));
        const int frequency = builder_->load(port, 0, Space::kColumn, Element::kFloat);
        const int position = builder_->apply(Function::kToFloat, builder_->row());
        values_.push_back(builder_->apply(Function::kCosine, position, frequency));
        values_.push_back(builder_->apply(Function::kSine, position, frequency));
        break;
      }
      default: {
        const int port =
            add_port(PortKind::kPairTable, kFloat, false, {}, drawn(kPositions, kHeadDim));
        program_->graph.program.ports.back().segments = 2;
        for (const int table : {0, 1}) {
          values_.push_back(builder_->lookup(port, table, builder_->row()));
        }
      }
    }
  }

  int value() { return random_.pick(values_); }

  int apply() {
    Builder& b = *builder_;
    const int x = value(), y = value(), z = value();
    const auto number = [&](double v) { return b.constant(v); };
    const auto positive = [&](int v) { return b.add(b.multiply(v, v), number(0.5)); };
    const auto tame = [&](int v) { return b.apply(Function::kTanh, v); };
    switch (random_.between(0, program_->graph.program.groups ? 22 : 21)) {
      case 0: return b.add(x, y);
      case 1: return b.subtract(x, y);
      case 2: return b.multiply(tame(x), y);
      case 3: return b.divide(x, positive(y));
      case 4: return b.negate(x);
      case 5: return b.apply(Function::kAbs, x);
      case 6: return b.apply(Function::kSqrt, positive(x));
      case 7: return b.apply(Function::kRsqrt, positive(x));
      case 8: return b.apply(Function::kExp, tame(x));
      case 9: return b.apply(Function::kLog, positive(x));
      case 10: return tame(x);
      case 11: return b.apply(Function::kErf, x);
      case 12: return b.add(x, b.multiply(number(0.25), b.apply(Function::kFloor, y)));
      case 13: return b.apply(Function::kMin, x, y);
      case 14: return b.apply(Function::kMax, x, y);
      case 15: return b.apply(Function::kFma, tame(x), y, z);
      case 16: return b.apply(Function::kSelect, b.apply(Function::kLess, x, y), z, tame(x));
      case 17: {
        const int mask = b.apply(Function::kLessEqual, x, number(0.3));
        const int other = b.apply(Function::kNotEqual, y, number(0));
        const int both = b.apply(random_.chance(0.5) ? Function::kAnd : Function::kOr, mask,
                                 b.apply(Function::kNot, other));
        return b.apply(Function::kSelect, both, x, z);
      }
      case 18: return b.divide(x, b.add(number(1), b.apply(Function::kExp, b.negate(tame(y)))));
      case 19:
        return b.apply(Function::kSelect, b.apply(Function::kLess, x, number(0)), number(0), x);
      case 20: return b.multiply(number(1.5), x);
      case 21: return b.multiply(tame(x), x);
      default: return b.group_sum(b.multiply(number(0.5), tame(x)));
    }
  }

  void add_outputs() {
    Graph& graph = program_->graph;
    graph.segments.resize(1);
    const int64_t outputs = random_.between(1, 3);
    for (int64_t i = 0; i < outputs; ++i) {
      const int64_t kind = random_.between(i == 0 ? 0 : 1, graph.program.groups ? 2 : 5);
      const bool paired = graph.program.halves;
      const auto last = [&] { return values_[values_.size() - 1 - static_cast<size_t>(i)]; };
      if (kind <= 1) {
        std::vector<int> stored{last()};
        if (paired) stored.push_back(value());
        const int port = add_port(PortKind::kStore, DType::kFp32, paired, {}, Array());
        graph.segments[0].push_back({port, stored, nullptr});
        continue;
      }
      const bool column = kind == 2;
      PortFacts facts;
      Output output{-1, {last()}, nullptr};
      if (kind <= 3) {
        facts.reduction = reduction_facts<Sum>();
        output.lift = lift_facts<Sum, 1>();
      } else if (kind == 4) {
        facts.reduction = reduction_facts<LogSumExp>();
        output.lift = lift_facts<LogSumExp, 1>();
      } else {
        const int column = builder_->apply(Function::kToFloat, builder_->column());
        output.values[0] =  // no two of a row are the same
            builder_->add(last(), builder_->multiply(builder_->constant(0.37), column));
        facts.reduction = reduction_facts<Max>();
        output.lift = lift_facts<Max, 1>();
      }
      const DType type = kind == 4 ? DType::kState : DType::kFp32;
      output.port = add_port(column ? PortKind::kColumnReduce : PortKind::kRowReduce, type, false,
                             facts, Array());
      graph.program.ports.back().partial_width = kPartialWidth;
      graph.program.ports.back().element_bytes = kind == 4 ? 8 : 4;
      graph.segments[0].push_back(output);
    }
    for (const PortView& port : graph.program.ports) {
      if (!is_input(port.kind)) program_->in.erase(port.name);
    }
  }

  Random random_;
  RandomProgram* program_ = nullptr;
  Builder* builder_ = nullptr;
  std::vector<int> values_;
};

}  // namespace coda::trace
