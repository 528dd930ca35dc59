// Inputs and stores of every kind, given and missing, on ragged shapes. Integers, so every bit is
// known.
#include <gtest/gtest.h>

#include "tests/cpu/every_way.h"
#include "tests/cpu/programs.h"

namespace coda::cpu {
namespace {

constexpr int64_t kShapes[][3] = {{1, 1, 3},   {5, 70, 4},    {64, 64, 8},  {66, 1, 5},
                                  {1, 300, 9}, {131, 195, 6}, {70, 128, 3}, {3, 63, 0}};

class PortsTest : public testing::TestWithParam<int> {
 protected:
  int64_t M = kShapes[GetParam()][0], N = kShapes[GetParam()][1], K = kShapes[GetParam()][2];
  Tensor<bf16> a{M, K}, b{N, K};
  std::vector<double> acc;

  PortsTest() {
    a.fill_integers(1);
    b.fill_integers(2);
    acc = product(a, b);
  }
  double at(int64_t i, int64_t j) const { return acc[i * N + j]; }
};

TEST_P(PortsTest, EveryInput) {
  Tensor<float> row_float(1, M), column_full(1, N);
  Tensor<int32_t> row_integer(1, M);
  Tensor<int64_t> row_index(1, M);
  Tensor<bf16> column_half(1, N);
  Tensor<fp16> element(M, N);
  row_float.fill_integers(3);
  row_integer.fill_integers(4);
  const int64_t indices[] = {-100, 0, int64_t{1} << 40, -(int64_t{1} << 40), 2047, 2147483648};
  row_index.fill([&](int64_t, int64_t i) { return static_cast<double>(indices[i % 6]); });
  column_half.fill_integers(5);
  column_full.fill_integers(6);
  element.fill_integers(7);
  const float factor = 3.0f;
  const int32_t shift = -2;
  Tensor<float> sum(M, N);
  Tensor<bf16> rounded(M, N);
  Tensor<fp16> index(M, N);
  EveryInput program{.factor = factor,
                     .shift = shift,
                     .row_float = {row_float.data(), M},
                     .row_integer = {row_integer.data(), M},
                     .row_index = {row_index.data(), M},
                     .column_half = {column_half.data(), N},
                     .column_full = {column_full.data(), N},
                     .element = Matrix<const fp16>(element.view()),
                     .sum = sum.view(),
                     .rounded = rounded.view(),
                     .index = index.view()};
  const auto y = [&](int64_t i, int64_t j) {
    return at(i, j) * factor + row_float.value(0, i) + row_integer.value(0, i) * shift +
           column_half.value(0, j) * column_full.value(0, j) + element.value(i, j);
  };
  const auto saturated = [&](int64_t i, int64_t) {
    const int64_t value = indices[i % 6];
    return value > 2147483646 ? 1000.0 : value < -2147483647 ? -1000.0 : double(value);
  };
  const auto check = [&] {
    expect_equal(sum, y, "sum");
    expect_equal(
        rounded,
        [&](int64_t i, int64_t j) {
          return to_float(from_float<bf16>(static_cast<float>(y(i, j))));
        },
        "rounded");
    expect_equal(index, saturated, "index");
  };
  const auto call = [&](const Options& options) {
    run(program, Operand(a.view()), Operand(b.view()), options);
  };
  every_way(call, check, sum, rounded, index);
  program.factor = &factor;  // the same by pointer
  program.shift = &shift;
  every_way(call, check, sum, rounded, index);
}

TEST_P(PortsTest, OptionalMissing) {
  Tensor<float> out(M, N);
  every_way(
      [&](const Options& options) {
        run(WithOptional{.out = out.view()}, Operand(a.view()), Operand(b.view()), options);
      },
      [&] {
        expect_equal(
            out, [&](int64_t i, int64_t j) { return at(i, j) * 2 + 3 + 5 + 7 - 11; }, "out");
      },
      out);
}

TEST_P(PortsTest, OptionalGiven) {
  Tensor<float> row(1, M), column(1, N), element(M, N), squares(3, M);
  Tensor<int64_t> integer(1, M);
  row.fill_integers(3);
  column.fill_integers(4);
  element.fill_integers(5);
  integer.fill_integers(6, 1000);
  squares.fill([](int64_t part, int64_t i) {
    return part == 2 ? 0.25 : i % 2 == 0 ? 1.875 : 7.875;
  });
  const auto rstd = [](int64_t i) { return i % 2 == 0 ? 0.5 : 0.25; };  // (Σ + 0)^(-1/2): 4 or 16
  const int64_t row_parts = (N + 63) / 64, column_parts = (M + 63) / 64;
  Tensor<float> copy(M, N), out(M, N), rows(row_parts, M), columns(column_parts, N);
  const WithOptional program{.row = {row.data(), M},
                             .column = {column.data(), N},
                             .element = Matrix<const float>(element.view()),
                             .scalar = 13.0f,
                             .integer = {integer.data(), M},
                             .rstd = {Matrix<const float>(squares.view()), ReciprocalRms{}},
                             .copy = copy.view(),
                             .rows = rows.view(),
                             .columns = columns.view(),
                             .out = out.view()};
  const auto y = [&](int64_t i, int64_t j) {
    return at(i, j) * row.value(0, i) * rstd(i) + column.value(0, j) + element.value(i, j) + 13 +
           integer.value(0, i);
  };
  every_way(
      [&](const Options& options) { run(program, Operand(a.view()), Operand(b.view()), options); },
      [&] {
        expect_equal(out, y, "out");
        expect_equal(copy, [&](int64_t i, int64_t j) { return y(i, j) + 1; }, "copy");
        expect_equal(
            rows,
            [&](int64_t part, int64_t i) {
              double sum = 0;
              for (int64_t j = part * 64; j < std::min(N, part * 64 + 64); ++j) sum += y(i, j);
              return sum;
            },
            "rows");
        expect_equal(
            columns,
            [&](int64_t part, int64_t j) {
              double sum = 0;
              for (int64_t i = part * 64; i < std::min(M, part * 64 + 64); ++i) sum += y(i, j);
              return sum;
            },
            "columns");
      },
      copy, out, rows, columns);
}

TEST_P(PortsTest, IndicesAndMasks) {
  Tensor<int64_t> target(1, M);
  target.fill([&](int64_t, int64_t i) { return i % 5 == 4 ? -100.0 : double((i * 37) % (N + 2)); });
  const int64_t parts = (N + 127) / 128, vocabulary = N - N / 5;
  using State = SmoothedLogSumExp::State<float>;
  Tensor<float> causal(M, N);
  Tensor<State> states(parts, M);
  const Targets program{.target = {target.data(), M},
                        .vocabulary = static_cast<int32_t>(vocabulary),
                        .statistics = states.view(),
                        .causal = causal.view()};
  every_way(
      [&](const Options& options) { run(program, Operand(a.view()), Operand(b.view()), options); },
      [&] {
        expect_equal(
            causal, [&](int64_t i, int64_t j) { return j <= i ? at(i, j) : -1.0; }, "causal");
        EXPECT_TRUE(states.intact());
        for (int64_t part = 0; part < parts; ++part) {
          for (int64_t i = 0; i < M; ++i) {
            double top = -std::numeric_limits<double>::infinity(), sum = 0, total = 0, chosen = 0;
            const int64_t end = std::min(N, part * 128 + 128);
            const auto x = [&](int64_t j) { return j < vocabulary ? at(i, j) : 0.0; };
            for (int64_t j = part * 128; j < end; ++j) top = std::max(top, x(j));
            for (int64_t j = part * 128; j < end; ++j) {
              sum += std::exp(x(j) - top);
              total += x(j);
              if (j == target.value(0, i) && j < vocabulary) chosen += x(j);
            }
            const State& got = states(part, i);
            ASSERT_EQ(got.max, top);
            ASSERT_EQ(got.total, total);
            ASSERT_EQ(got.target, chosen);
            ASSERT_NEAR(got.sum, sum, 16 * 0x1p-24 * sum);  // 7 levels, each with two roundings
          }
        }
      },
      causal, states);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PortsTest, testing::Range(0, int(std::size(kShapes))));

}  // namespace
}  // namespace coda::cpu
