// Calls that are right, to be spoiled in one way each: they must be refused with a message that
// says what is wrong, before an output is written or an input touched.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "coda/core/error.h"
#include "coda/cpu/run.h"
#include "tests/cpu/pair_programs.h"
#include "tests/cpu/programs.h"
#include "tests/cpu/tensor.h"

namespace coda::cpu {

template <class Call>
struct BadCase {
  std::string name;
  std::function<void(Call&)> spoil;
  std::vector<std::string> texts;  // parts of the message: argument, expected, got
};

template <class Call>
void expect_refused(const BadCase<Call>& bad) {
  Call call;
  const Call before = call;
  bad.spoil(call);
  try {
    call.run();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    std::vector<std::string> texts = bad.texts;
    texts.push_back(std::string(Call::kName) + ": argument '");
    texts.insert(texts.end(), {": expected ", ", got "});
    for (const std::string& text : texts) {
      EXPECT_NE(message.find(text), std::string::npos) << message << "\n  does not say: " << text;
    }
  }
  EXPECT_TRUE(call.outputs_untouched()) << "an output was written";
  EXPECT_TRUE(call.inputs_equal(before)) << "an input was written";
}

template <class... T>
bool all_untouched(const T&... tensors) {
  return (tensors.untouched() && ...);
}

// One of each kind of port, everything given. 70 by 130 by 6.
struct PlainCall {
  static constexpr const char* kName = "with_optional";
  static constexpr int64_t M = 70, N = 130, K = 6;
  Tensor<bf16> a{M, K}, b{N, K};
  Tensor<float> row{1, M}, column{1, N}, element{M, N}, scalar{1, 1}, squares{2, M};
  Tensor<int64_t> integer{1, M};
  Tensor<float> copy{M, N}, rows{3, M}, columns{2, N}, out{M, N};
  WithOptional program;
  OperandView a_view, b_view;

  PlainCall() {
    a.fill_integers(1);
    b.fill_integers(2);
    for (Tensor<float>* input : {&row, &column, &element, &scalar}) input->fill_integers(3);
    squares.fill([](int64_t, int64_t i) { return 1.0 + double(i); });
    integer.fill_integers(4);
    connect();
  }

  void connect() {
    program = {.row = {row.data(), M},
               .column = {column.data(), N},
               .element = Matrix<const float>(element.view()),
               .scalar = scalar.data(),
               .integer = {integer.data(), M},
               .rstd = {Matrix<const float>(squares.view()), ReciprocalRms{}},
               .copy = copy.view(),
               .rows = rows.view(),
               .columns = columns.view(),
               .out = out.view()};
    a_view = Operand(a.view());
    b_view = Operand(b.view());
  }
  void run() const { cpu::run(program, a_view, b_view, {.threads = 1}); }
  bool outputs_untouched() const { return all_untouched(copy, rows, columns, out); }
  bool inputs_equal(const PlainCall& o) const {
    return a.same_bits(o.a) && b.same_bits(o.b) && row.same_bits(o.row) &&
           column.same_bits(o.column) && element.same_bits(o.element) &&
           scalar.same_bits(o.scalar) && squares.same_bits(o.squares) &&
           integer.same_bits(o.integer);
  }

  TensorView& A() { return a_view.part[0][0]; }
  TensorView& B() { return b_view.part[0][0]; }
};

// Names of the cases in test reports.
template <class Call>
std::string case_name(const testing::TestParamInfo<BadCase<Call>>& info) {
  return info.param.name;
}
template <class Call>
void PrintTo(const BadCase<Call>& bad, std::ostream* out) {
  *out << bad.name;
}

// An address that no element of that size may have.
template <class T>
T* misaligned(T* pointer) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + 1);
}

}  // namespace coda::cpu
