// Operands of small integers, so that products are exact, and the product itself in fp64.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "tests/sim/gemm_kernel.h"

namespace coda::sim_test {

template <class T, Contiguous kA = Contiguous::kContraction,
          Contiguous kB = Contiguous::kContraction>
struct Problem {
  int m, n, k;
  std::vector<T> a, b, c;  // [m, k] or [k, m]; [n, k] or [k, n]; [m, n]
  GemmArguments arguments;

  Problem(int m, int n, int k) : m(m), n(n), k(k), a(size_t(m) * k + 8), b(size_t(n) * k + 8) {
    uint32_t state = 12345;
    const auto fill = [&](std::vector<T>& values) {
      for (T& value : values) {
        state = state * 1664525 + 1013904223;
        value = from_float<T>(float(int(state >> 24) % 7 - 3));
      }
    };
    fill(a);
    fill(b);
    c.assign(size_t(m) * n, from_float<T>(NAN));
    encode(arguments.a, a.data(), m, kA, kTileM);
    encode(arguments.b, b.data(), n, kB, kTileN);
    sim::encode_tensor_map(arguments.c, 2, c.data(), n, m, size_t(n) * 2, 64, 16, 128);
    arguments.tiles_m = (m + kTileM - 1) / kTileM;
    arguments.tiles_n = (n + kTileN - 1) / kTileN;
    arguments.blocks_k = (k + kTileK - 1) / kTileK;
  }

  void encode(sim::TensorMap& map, const T* data, int rows, Contiguous contiguous, int tile) {
    if (k == 0) return;
    if (contiguous == Contiguous::kContraction) {
      sim::encode_tensor_map(map, 2, data, k, rows, size_t(k) * 2, kTileK, tile, 128);
    } else {
      sim::encode_tensor_map(map, 2, data, rows, k, size_t(rows) * 2, 64, kTileK, 128);
    }
  }

  sim::Report run(const sim::LaunchOptions& options, Bug bug = Bug::kNone, int blocks = 1) {
    arguments.bug = bug;
    arguments.blocks = blocks;
    return sim::launch(blocks, 1, 384, kSharedBytes, gemm<T, kA, kB>, arguments, options);
  }

  double at(const std::vector<T>& operand, Contiguous contiguous, int rows, int row, int i) const {
    const size_t index =
        contiguous == Contiguous::kContraction ? size_t(row) * k + i : size_t(i) * rows + row;
    return to_float(operand[index]);
  }

  // The first element that is not the exact product rounded once, or nothing.
  std::string first_wrong() const {
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int x = 0; x < k; ++x) sum += at(a, kA, m, i, x) * at(b, kB, n, j, x);
        const float expected = to_float(from_float<T>(float(sum)));
        const float got = to_float(c[size_t(i) * n + j]);
        if (got != expected) {
          return "row " + std::to_string(i) + " column " + std::to_string(j) + ": " +
                 std::to_string(got) + ", not " + std::to_string(expected);
        }
      }
    }
    return "";
  }
  void expect_exact() const { EXPECT_EQ(first_wrong(), ""); }
};

}  // namespace coda::sim_test
