// Ten derived programs of random ones as C++: the text is that of printed_programs.h and
// printed_head_programs.h, which the build has compiled, and run on the CPU they give what their
// graphs give in fp64.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "coda/cpu/run.h"
#include "coda/program/bind.h"
#include "coda/trace/print_cpp.h"
#include "printed_head_programs.h"
#include "printed_programs.h"
#include "program_gradient.h"

namespace coda::trace {
namespace {

Derived derived_of(uint64_t seed) {
  const RandomProgram program = RandomProgramMaker(seed).make();
  return derive(program.graph, all_gradients(program.graph));
}

std::string without_spaces(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) result += c;
  }
  return result;
}

// A tensor of floats, or of integers.
struct Tensor {
  std::vector<float> floats;
  std::vector<int64_t> integers;
  TensorView view;

  explicit Tensor(const Array& from, DType type = DType::kFp32)
      : floats(from.values.begin(), from.values.end()),
        integers(from.values.begin(), from.values.end()) {
    const bool integer = type == DType::kInt64;
    view = {integer ? static_cast<const void*>(integers.data()) : floats.data(),
            type,
            from.rows,
            from.columns,
            from.columns,
            Major::kRow,
            integer ? 8 : 4};
  }
};

Array columns_of(const Array& x, int64_t begin, int64_t count) {
  Array result(x.rows, count);
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < count; ++j) result(i, j) = x(i, begin + j);
  }
  return result;
}

// A and B whose products are the accumulators: A holds them side by side, B picks one column each.
Array picking(int64_t columns, int64_t width, int64_t offset) {
  Array result(columns, width);
  for (int64_t j = 0; j < columns; ++j) result(j, offset + j) = 1;
  return result;
}

template <class P>
void expect_same(uint64_t seed) {
  const RandomProgram program = RandomProgramMaker(seed).make();
  const Derived derived = derived_of(seed);
  const Graph& graph = derived.graph;
  const ProgramView& view = graph.program;
  Random random(mix(seed, 1));
  Arrays weights;
  const Arrays out = evaluate(program.graph, program.in);
  for (size_t p = 0; p < program.graph.program.ports.size(); ++p) {
    const PortView& port = program.graph.program.ports[p];
    if (is_input(port.kind)) continue;
    weights[port.name] =
        map(finished_output(program.graph, p, out), [&](double) { return random.normal(); });
  }
  Arrays in = derived_inputs(program, derived, weights);
  for (auto& [name, array] : in) {
    array = map(array, [](double x) { return static_cast<double>(static_cast<float>(x)); });
  }
  const Arrays expected = evaluate(graph, in);

  constexpr int64_t kM = RandomProgramMaker::kRows, kN = RandomProgramMaker::kColumns;
  const int count = view.accumulators;
  Array a(kM, kN * count);
  for (int i = 0; i < count; ++i) {
    const Array& accumulator = in.at(fmt::format("accumulator.{}", i));
    for (int64_t m = 0; m < kM; ++m) {
      for (int64_t n = 0; n < kN; ++n) a(m, i * kN + n) = accumulator(m, n);
    }
  }
  const Tensor A(a);
  const Array first = picking(kN, a.columns, 0);
  const Array second = count == 2 ? picking(kN, a.columns, kN) : first;
  constexpr int64_t kHalf = RandomProgramMaker::kHeadDim / 2;
  const Tensor B(first), other(second),
      heads(transpose(join_halves(transpose(first), transpose(second), kHalf)));
  OperandView operand_a, operand_b;
  operand_a.part[0][0] = A.view;
  operand_b.accumulators = count;
  operand_b.part[0][0] = view.halves ? heads.view : B.view;
  operand_b.part[1][0] = view.halves ? heads.view : other.view;
  operand_b.halved = view.halves;
  operand_b.head_dim = view.halves ? RandomProgramMaker::kHeadDim : 0;

  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<Argument> arguments;
  const auto add = [&](const Array& values, DType type) {
    tensors.push_back(std::make_unique<Tensor>(values, type));
    return tensors.back()->view;
  };
  for (size_t p = 0; p < view.ports.size(); ++p) {
    const PortView& port = view.ports[p];
    Argument argument{port.name, {}, 0};
    if (!is_input(port.kind)) {
      argument.tensors = {add(expected.at(port.name) * 0.0 - 1e30, DType::kFp32)};
    } else if (port.kind == PortKind::kScalar) {
      argument.number = in.at(port.name)(0, 0);
    } else if (port.kind == PortKind::kPairTable) {
      argument.tensors = {add(columns_of(in.at(port.name), 0, kHalf), DType::kFp32),
                          add(columns_of(in.at(port.name), kHalf, kHalf), DType::kFp32)};
    } else {
      argument.tensors = {add(in.at(port.name), port.dtype)};
    }
    arguments.push_back(argument);
    if (port.kind != PortKind::kPerRowFrom) continue;
    for (const auto& [name, value] : graph.facts[p].finish->parameters) {
      arguments.push_back({port.name + "." + name, {}, value});
    }
  }
  cpu::run(coda::bind<P>(arguments), operand_a, operand_b, {});

  for (const Argument& argument : arguments) {
    if (!expected.contains(argument.name)) continue;
    const Array& exact = expected.at(argument.name);
    const auto* got = static_cast<const float*>(argument.tensors[0].data);
    double largest = 1;
    for (const double x : exact.values) largest = std::max(largest, std::fabs(x));
    for (size_t i = 0; i < exact.values.size(); ++i) {
      // Some tens of roundings to 24 bits, each carried on by factors of a few.
      ASSERT_NEAR(got[i], exact.values[i], 0x1p-16 * largest)
          << "seed " << seed << ", " << argument.name << "[" << i << "]";
    }
  }
}

std::string text_of(const char* file) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / file;
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Printed, TextIsWhatWasCompiled) {
  const std::string compiled =
      without_spaces(text_of("printed_programs.h") + text_of("printed_head_programs.h"));
  for (const uint64_t seed : {3, 10, 26, 30, 56, 41, 51, 55, 58, 119}) {
    const std::string text =
        print_cpp(derived_of(seed).graph, {fmt::format("Random{}", seed), "", {}});
    EXPECT_NE(compiled.find(without_spaces(text)), std::string::npos)
        << "the program is printed otherwise now; the header has to hold\n"
        << text;
  }
}

TEST(Printed, RunsOnTheCpuAsItsGraph) {
  expect_same<Random3>(3);
  expect_same<Random10>(10);
  expect_same<Random26>(26);
  expect_same<Random30>(30);
  expect_same<Random56>(56);
  expect_same<Random41>(41);
  expect_same<Random51>(51);
  expect_same<Random55>(55);
  expect_same<Random58>(58);
  expect_same<Random119>(119);
}

}  // namespace
}  // namespace coda::trace
