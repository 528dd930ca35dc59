// Members of a program: their number, order, names and places.
#include "coda/program/reflect.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coda/program/program.h"

namespace coda {
namespace {

using S = Store<float>;
// clang-format off
struct P1 { S a; };
struct P2 { S a, b; };
struct P3 { S a, b, c; };
struct P4 { S a, b, c, d; };
struct P5 { S a, b, c, d, e; };
struct P6 { S a, b, c, d, e, f; };
struct P7 { S a, b, c, d, e, f, g; };
struct P8 { S a, b, c, d, e, f, g, h; };
struct P9 { S a, b, c, d, e, f, g, h, i; };
struct P10 { S a, b, c, d, e, f, g, h, i, j; };
struct P11 { S a, b, c, d, e, f, g, h, i, j, k; };
struct P12 { S a, b, c, d, e, f, g, h, i, j, k, l; };
struct P13 { S a, b, c, d, e, f, g, h, i, j, k, l, m; };
struct P14 { S a, b, c, d, e, f, g, h, i, j, k, l, m, n; };
struct P15 { S a, b, c, d, e, f, g, h, i, j, k, l, m, n, o; };
struct P16 { S a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p; };
// clang-format on

template <class P>
class Counted : public testing::Test {};
using AllCounts =
    testing::Types<P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16>;
TYPED_TEST_SUITE(Counted, AllCounts);

TYPED_TEST(Counted, VisitsEveryMemberInOrder) {
  constexpr int kCount = sizeof(TypeParam) / sizeof(S);
  static_assert(port_count<TypeParam> == kCount);
  TypeParam program{};
  const auto* first = reinterpret_cast<const S*>(&program);
  int visited = 0;
  for_each_port(program, [&](auto& port, auto index) {
    EXPECT_EQ(&port, first + visited);
    EXPECT_EQ(index, visited);
    EXPECT_EQ(port_index(program, port), visited);
    port.given = true;
    ++visited;
  });
  EXPECT_EQ(visited, kCount);
  int given = 0;
  for_each_port(std::as_const(program), [&](const auto& port, auto) { given += port.given; });
  EXPECT_EQ(given, kCount);
}

// Ports of every kind, wrapped and with default values.
struct Mixed {
  Scalar<float> alpha{2.0f};
  PerRow<const int64_t> target;
  Optional<PerColumn<const bf16>> bias;
  Paired<PerElement<const float>> residual;
  PerRowFrom<ReciprocalRms> rstd;
  Store<bf16, 3> out;
  RowReduce<LogSumExp, 128> lse;
  Optional<ColumnReduce<Sum>> columns;
  static constexpr auto port_names =
      names("alpha", "target", "bias", "residual", "rstd", "out", "lse", "columns");
  static constexpr int accumulators = 2;
};

TEST(ReflectTest, CountsPortsOfEveryKind) {
  static_assert(port_count<Mixed> == 8);
  static_assert(Program<Mixed>);
  static_assert(check_program<Mixed>());
  EXPECT_EQ(Mixed::port_names.size(), 8);
}

TEST(ReflectTest, IndexFollowsTheAddress) {
  const Mixed program;
  EXPECT_EQ(port_index(program, program.alpha), 0);
  EXPECT_EQ(port_index(program, program.rstd), 4);
  EXPECT_EQ(port_index(program, program.columns), 7);
  const Store<bf16, 3> elsewhere;
  EXPECT_EQ(port_index(program, elsewhere), -1);
}

TEST(ReflectTest, VisitsKindsInTheOrderOfTheMembers) {
  std::vector<PortKind> kinds;
  std::vector<std::string> visited;
  Mixed program;
  for_each_port(program, [&](const auto& port, auto index) {
    kinds.push_back(std::remove_cvref_t<decltype(port)>::kKind);
    visited.emplace_back(Mixed::port_names.name[index]);
  });
  EXPECT_EQ(kinds,
            (std::vector<PortKind>{PortKind::kScalar, PortKind::kPerRow, PortKind::kPerColumn,
                                   PortKind::kPerElement, PortKind::kPerRowFrom, PortKind::kStore,
                                   PortKind::kRowReduce, PortKind::kColumnReduce}));
  EXPECT_EQ(visited[5], "out");
}

TEST(ReflectTest, DefaultValuesMakeAPortGiven) {
  const Mixed program;
  EXPECT_TRUE(program.alpha.given);
  EXPECT_EQ(program.alpha.get(), 2.0f);
  EXPECT_FALSE(program.target.given);
}

struct Named {
  S out;
  static constexpr auto port_names = names("out");
  static constexpr const char* name = "named";
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;
};

TEST(ProgramTest, TraitsAndTheirDefaults) {
  EXPECT_STREQ(name_of<Named>(), "named");
  EXPECT_STREQ(name_of<P1>(), "program");
  static_assert(accumulators_of<Named>() == 2 && accumulators_of<P1>() == 1);
  static_assert(groups_of<Named>() && !groups_of<P1>());
  static_assert(check_program<Named>());
}

}  // namespace
}  // namespace coda
