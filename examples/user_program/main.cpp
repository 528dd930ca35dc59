// Runs ScaledRelu on random matrices and compares with three plain loops.
#include <coda/cpu/run.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "scaled_relu.h"

int main() {
  const int64_t M = 300, N = 200, K = 150, parts = (N + 63) / 64;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> a(M * K), b(N * K), scale(N), out(M * N), squares(parts * M);
  for (auto* values : {&a, &b, &scale}) {
    std::generate(values->begin(), values->end(), [&] { return normal(random); });
  }

  const ScaledRelu program{.scale = {scale.data(), N},
                           .out = coda::Matrix(out.data(), M, N),
                           .squares = coda::Matrix(squares.data(), parts, M)};
  coda::cpu::run(program, coda::Operand(coda::Matrix(a.data(), M, K)),
                 coda::Operand(coda::Matrix(b.data(), N, K)));

  int wrong = 0;
  const auto compare = [&](double got, double expected) {
    if (!(std::abs(got - expected) <= 1e-4 * std::max(1.0, std::abs(expected)))) ++wrong;
  };
  for (int64_t i = 0; i < M; ++i) {
    double row_squares = 0, got_squares = 0;
    for (int64_t j = 0; j < N; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < K; ++k) sum += double{a[i * K + k]} * b[j * K + k];
      const double expected = std::max(0.0, sum * scale[j]);
      compare(out[i * N + j], expected);
      row_squares += expected * expected;
    }
    for (int64_t part = 0; part < parts; ++part) got_squares += squares[part * M + i];
    compare(got_squares, row_squares);
  }
  std::printf("scaled_relu: %d of %zu values wrong\n", wrong, out.size() + M);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
