// α·acc + β·C, with C elsewhere and as the memory of the output itself.
#include <gtest/gtest.h>

#include "tests/cpu/every_way.h"
#include "tests/cpu/programs.h"

namespace coda::cpu {
namespace {

template <class T>
class InPlaceTest : public testing::Test {
 protected:
  static constexpr int64_t M = 131, N = 200, K = 12;
  Tensor<T> a{M, K}, b{N, K}, c{M, N};
  std::vector<double> acc;

  InPlaceTest() {
    a.fill_integers(1, 1);
    b.fill_integers(2, 1);
    c.fill_integers(3);
    acc = product(a, b);
  }
  double expected(int64_t i, int64_t j, double alpha,
                  double beta) const {  // below 2^8: exact in bf16
    return alpha * acc[i * N + j] + beta * c.value(i, j);
  }
};
using StoredTypes = testing::Types<bf16, float>;
TYPED_TEST_SUITE(InPlaceTest, StoredTypes);

TYPED_TEST(InPlaceTest, FromAnotherMatrix) {
  Tensor<TypeParam> out(this->M, this->N);
  every_way(
      [&](const Options& options) {
        run(Scaled<TypeParam>{.alpha = -2.0f,
                              .beta = 3.0f,
                              .c = Matrix<const TypeParam>(this->c.view()),
                              .out = out.view()},
            Operand(this->a.view()), Operand(this->b.view()), options);
      },
      [&] {
        expect_equal(out, [&](int64_t i, int64_t j) { return this->expected(i, j, -2, 3); }, "out");
      },
      out);
}

TYPED_TEST(InPlaceTest, IntoTheSameMemory) {
  for (const Isa isa : available_isas()) {
    for (const int threads : {1, 2, 3}) {
      Tensor<TypeParam> out = this->c;
      run(Scaled<TypeParam>{.alpha = 1.0f,
                            .beta = 1.0f,
                            .c = Matrix<const TypeParam>(out.view()),
                            .out = out.view()},
          Operand(this->a.view()), Operand(this->b.view()), {.threads = threads, .isa = isa});
      expect_equal(
          out, [&](int64_t i, int64_t j) { return this->expected(i, j, 1, 1); }, isa_name(isa));
    }
  }
}

// The program says what β = 0 means: a product with 0, so that NaN in C stays NaN.
TYPED_TEST(InPlaceTest, ZeroBetaKeepsNan) {
  this->c.set(5, 7, std::nan(""));
  Tensor<TypeParam> out(this->M, this->N);
  run(Scaled<TypeParam>{.alpha = 1.0f,
                        .beta = 0.0f,
                        .c = Matrix<const TypeParam>(this->c.view()),
                        .out = out.view()},
      Operand(this->a.view()), Operand(this->b.view()));
  expect_equal(out, [&](int64_t i, int64_t j) { return this->expected(i, j, 1, 0); }, "out");
}

}  // namespace
}  // namespace coda::cpu
