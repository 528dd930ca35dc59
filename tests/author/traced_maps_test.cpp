// The tensor maps of a program whose type only its text has: those of a launch of the type, also
// where operands come in parts.
#define CODA_LAUNCH
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "coda/author/kernels.h"
#include "coda/author/traced_kernel.h"
#include "coda/plan/arguments.h"
#include "coda/program/problem.h"

namespace coda::author {
namespace {

struct Scaled {
  PerElement<const bf16> up;
  PerRow<const float> scale;
  Store<float> out;
  static constexpr auto port_names = names("up", "scale", "out");
};
struct PairProgram {
  Store<bf16> out;
  static constexpr auto port_names = names("out");
  static constexpr int accumulators = 2;
};

// Memory that nobody touches: addresses tell tensors apart.
uintptr_t next_address() {
  static uintptr_t address = 0;
  return address += 0x1000000;
}
template <class T>
Matrix<T> matrix(int64_t rows, int64_t columns) {
  return {reinterpret_cast<T*>(next_address()), rows, columns, columns + 8};
}

std::string text_of(size_t place, const plan::MapRequest& map) {
  std::ostringstream text;
  text << "place " << place << ": " << map.lines << " x " << map.columns << " of type "
       << dtype_name(map.type) << " at " << map.data << ", pitch " << map.pitch_bytes << ", box "
       << map.box_lines << " x " << map.box_columns;
  return text.str();
}

template <class K>
std::vector<std::string> maps_of_type(const typename K::Program& program,
                                      const plan::LaunchRequest& request) {
  const kernel::Grid grid = plan::make_grid(*request.problem, K::kTile, K::kAccumulators, 66);
  std::vector<std::string> maps;
  const hw::TensorMap* first = nullptr;  // of A, with which the arguments begin
  plan::make_arguments<K>(program, *request.problem, *request.a, *request.b, grid,
                          [&](hw::TensorMap& map, const plan::MapRequest& asked) {
                            if (first == nullptr) first = &map;
                            maps.push_back(text_of(static_cast<size_t>(&map - first), asked));
                          });
  return maps;
}

template <class P, class... K>
void expect_same(const P& program, const OperandView& a, const OperandView& b, size_t maps,
                 plan::KernelList<K...>) {
  const ProgramView view = describe(program);
  const Problem problem = validate(view, a, b);
  const plan::LaunchRequest request{&program, &problem, &a, &b};
  const auto compare = [&]<class Kernel>() {
    const auto* tile = std::ranges::find(kernel::kTileConfigs, Kernel::kTile);
    std::vector<std::string> got;
    for (const PlacedMap& map :
         traced_maps(view, request, static_cast<int>(tile - std::begin(kernel::kTileConfigs)))) {
      got.push_back(text_of(map.place, map.request));
    }
    EXPECT_EQ(got, maps_of_type<Kernel>(program, request));
    EXPECT_EQ(got.size(), maps);
  };
  (compare.template operator()<K>(), ...);
}

void expect_same_scaled(const OperandView& a, const OperandView& b, size_t maps) {
  const Problem problem = validate({.name = "extents"}, a, b);
  Scaled program;
  program.up = matrix<const bf16>(problem.M(), problem.N());
  program.scale = matrix<const float>(1, problem.M());
  program.out = matrix<float>(problem.M(), problem.N());
  expect_same(program, a, b, maps, all_kernels<Scaled, bf16>());
}

TEST(TracedMaps, AreThoseOfTheType) {
  const auto x = [](int64_t rows, int64_t depth) { return matrix<const bf16>(rows, depth); };
  expect_same_scaled(Operand<bf16>(x(300, 72)), Operand<bf16>(x(136, 72)), 4);
  expect_same_scaled(rows(x(128, 64), x(40, 64)), Operand<bf16>(x(136, 64)), 7);
  expect_same_scaled(Operand<bf16>(x(300, 64)), rows(x(64, 64), x(8, 64), x(136, 64)), 10);
  expect_same_scaled(contraction(x(300, 64), x(300, 24)), contraction(x(136, 64), x(136, 24)), 6);

  PairProgram program;
  program.out = matrix<bf16>(300, 200);
  const Operand<bf16> gate = rows(x(136, 64), x(64, 64)), up = rows(x(136, 64), x(64, 64));
  expect_same(program, Operand<bf16>(x(300, 64)), pair(gate, up), 7,
              all_kernels<PairProgram, bf16>());
}

}  // namespace
}  // namespace coda::author
