// Which memory may be shared: compared with a list of every byte that two views touch.
#include "coda/program/overlap.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "tests/program/expect_error.h"

namespace coda {
namespace {

struct Copy {
  PerElement<const float> in;  // [M, N]
  Store<float> out;            // [M, N]
  static constexpr auto port_names = names("in", "out");
};

std::set<int64_t> bytes_of(const TensorView& view) {
  std::set<int64_t> bytes;
  const auto begin = reinterpret_cast<intptr_t>(view.data);
  for (int64_t line = 0; line < view.lines(); ++line) {
    const int64_t at = begin + line * view.ld * view.element_bytes;
    for (int64_t i = 0; i < view.line() * view.element_bytes; ++i) bytes.insert(at + i);
  }
  return bytes;
}

bool share_bytes(const TensorView& a, const TensorView& b) {
  const std::set<int64_t> first = bytes_of(a), second = bytes_of(b);
  return std::ranges::any_of(first, [&](int64_t byte) { return second.contains(byte); });
}

int64_t extent_in_bytes(const TensorView& v) {
  return ((v.lines() - 1) * v.ld + v.line()) * v.element_bytes;
}

bool refused(const Copy& program, const OperandView& a, const OperandView& b) {
  try {
    check_overlap(describe(program), a, b);
    return false;
  } catch (const Error&) {
    return true;
  }
}

float memory[4096];
const Operand<float> kNothing{Matrix<const float>(nullptr, 0, 0)};

Matrix<float> some_matrix(int64_t ld) {
  const int64_t columns = *rc::gen::inRange<int64_t>(1, ld + 1);
  const int64_t rows = *rc::gen::inRange<int64_t>(1, 7);
  return {memory + *rc::gen::inRange<int64_t>(0, 100), rows, columns, ld};
}

// Slices of one wider matrix: exactly those that share a byte are refused.
RC_GTEST_PROP(OverlapTest, ExactBetweenSlicesOfOneMatrix, ()) {
  const int64_t ld = *rc::gen::inRange<int64_t>(1, 20);
  const Matrix<float> in = some_matrix(ld), out = some_matrix(ld);
  const TensorView read = erase(in), written = erase(out);
  const bool identical = in.data == out.data && in.rows == out.rows && in.columns == out.columns;
  RC_PRE(!identical && read.lines() > 1 && written.lines() > 1);
  RC_ASSERT(refused({.in = Matrix<const float>(in), .out = out}, kNothing, kNothing) ==
            share_bytes(read, written));
}

// Whatever the leading dimensions and majors: no shared byte goes unnoticed, and nothing apart is
// refused.
RC_GTEST_PROP(OverlapTest, NeverMissesASharedByte, ()) {
  const Matrix<float> a = some_matrix(*rc::gen::inRange<int64_t>(1, 20));
  const Matrix<float> out = some_matrix(*rc::gen::inRange<int64_t>(1, 20));
  const bool flip = *rc::gen::arbitrary<bool>();
  const Operand<float> operand(flip ? a.transposed() : a);
  const bool answer = refused({.in = {}, .out = out}, operand, kNothing);
  const TensorView read = operand.part[0][0], written = erase(out);
  if (share_bytes(read, written)) RC_ASSERT(answer);
  const auto begin = [](const TensorView& v) { return reinterpret_cast<intptr_t>(v.data); };
  const bool apart = begin(read) + extent_in_bytes(read) <= begin(written) ||
                     begin(written) + extent_in_bytes(written) <= begin(read);
  if (apart) RC_ASSERT(!answer);
}

TEST(OverlapTest, InPlaceIsExactlyTheSameView) {
  const Matrix<float> out(memory, 4, 5, 8);
  EXPECT_FALSE(refused({.in = Matrix<const float>(out), .out = out}, kNothing, kNothing));
  for (const Matrix<const float> in :
       {Matrix<const float>(memory, 4, 4, 8), Matrix<const float>(memory, 4, 5, 9),
        Matrix<const float>(memory + 1, 4, 5, 8), Matrix<const float>(memory, 3, 5, 8)}) {
    EXPECT_TRUE(refused({.in = in, .out = out}, kNothing, kNothing));
  }
  const Matrix<const float> line(memory, 1, 5, 9);  // of which the pitch says nothing
  EXPECT_FALSE(refused({.in = line, .out = Matrix<float>(memory, 1, 5, 8)}, kNothing, kNothing));
}

TEST(OverlapTest, OperandsAreNeverInPlace) {
  const Matrix<float> out(memory, 4, 5, 8), in(memory + 100, 4, 5);
  EXPECT_TRUE(refused({.in = Matrix<const float>(in), .out = out}, Operand(out), kNothing));
  EXPECT_TRUE(refused({.in = Matrix<const float>(in), .out = out}, kNothing, Operand(out)));
  EXPECT_FALSE(refused({.in = Matrix<const float>(in), .out = out}, Operand(in), Operand(in)));
}

TEST(OverlapTest, EmptyViewsTouchNothing) {
  const Matrix<float> out(memory, 4, 5), empty(memory, 0, 5);
  EXPECT_FALSE(refused({.in = {}, .out = out}, Operand(empty), kNothing));
}

struct Several {
  Scalar<float> alpha;
  PerRow<const float> scale;
  PerElement<const bf16> narrow;
  Store<float> first;
  Store<bf16, 2> second;
  RowReduce<Sum> sum;
  static constexpr const char* name = "several";
  static constexpr auto port_names = names("alpha", "scale", "narrow", "first", "second", "sum");
};

void expect_overlap(const Several& program, const std::string& argument, const std::string& other) {
  expect_error([&] { check_overlap(describe(program), kNothing, kNothing); },
               {"several: argument '" + argument + "'", "memory apart from '" + other + "'",
                "got an overlap"});
}

TEST(OverlapTest, EveryKindOfPortIsLookedAt) {
  auto* halves = reinterpret_cast<bf16*>(memory);
  const Matrix<float> out(memory, 4, 5, 8);
  expect_overlap({.alpha = memory + 27, .first = out}, "first", "alpha");
  expect_overlap({.scale = {memory + 27, 4}, .first = out}, "first", "scale");
  expect_overlap({.narrow = Matrix<const bf16>(halves, 4, 5, 16), .first = out}, "first", "narrow");
  expect_overlap({.first = out, .sum = Matrix(memory + 28, 1, 4)}, "first", "sum");
  expect_overlap(
      {.first = out, .second = {Matrix(halves + 1000, 4, 2), Matrix(halves + 8, 4, 3, 16)}},
      "first", "second");
  expect_overlap({.second = {Matrix(halves, 4, 3, 16), Matrix(halves + 2, 4, 3, 16)}}, "second",
                 "second");
}

TEST(OverlapTest, InPlaceNeedsTheSameElementType) {
  const Matrix<const bf16> narrow(reinterpret_cast<const bf16*>(memory), 4, 5, 8);
  expect_overlap({.narrow = narrow, .first = Matrix(memory, 4, 5, 8)}, "first", "narrow");
}

struct TwoSegments {
  PerElement<const float, 2> in;
  Store<float, 2> out;
  static constexpr const char* name = "two_segments";
  static constexpr auto port_names = names("in", "out");
};

// A segment's tile is written before another one's is read.
TEST(OverlapTest, InPlaceIsTheSameSegment) {
  const Matrix<float> first(memory, 4, 5, 8), second(memory + 40, 4, 5, 8);
  const auto check = [&](const TwoSegments& program) {
    check_overlap(describe(program), kNothing, kNothing);
  };
  const PerElement<const float, 2> in{Matrix<const float>(first), Matrix<const float>(second)};
  EXPECT_NO_THROW(check({.in = in, .out = {first, second}}));
  expect_error([&] { check({.in = in, .out = {second, first}}); },
               {"two_segments: argument 'out'", "memory apart from 'in'"});
}

TEST(OverlapTest, SlicesSideBySideAreApart) {
  auto* halves = reinterpret_cast<bf16*>(memory);
  const Several program{.first = Matrix(memory, 4, 5, 16),
                        .second = {Matrix(halves + 10, 4, 10, 32), Matrix(halves + 20, 4, 12, 32)}};
  EXPECT_NO_THROW(check_overlap(describe(program), kNothing, kNothing));
}

}  // namespace
}  // namespace coda
