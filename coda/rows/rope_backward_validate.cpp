// What the arguments of rope_backward have to be.
#include <fmt/format.h>

#include <cmath>

#include "coda/rows/rope_backward.h"

namespace coda::row {
namespace {

// Names of a segment's arguments.
struct Names {
  const char *dy, *y, *dz, *bias, *dbias, *norm, *dnorm;
};
constexpr Names kQ{"dq", "q", "dzq", "bias_q", "dbias_q", "q_norm", "dq_norm"};
constexpr Names kK{"dk", "k", "dzk", "bias_k", "dbias_k", "k_norm", "dk_norm"};
constexpr Names kV{"dv", "v", "dzv", "bias_v", "dbias_v", "v_norm", "dv_norm"};

void check_segment(TensorCheck& check, const RopeBackwardSegment& segment, const Names& names,
                   DType type, int64_t M, int64_t head_dim) {
  const int64_t columns = segment.dy.columns;
  if (columns == 0 || columns % head_dim != 0) {
    check.fail(names.dy, fmt::format("columns of whole heads of {}, at least one", head_dim),
               fmt::format("{}", columns));
  }
  check.input(names.dy, segment.dy, {M, columns}, {type});
  check.input(names.y, segment.y, {M, columns}, {type});
  check.output(names.dz, segment.dz, {M, columns}, {type}, {names.dy});
  if (segment.bias) check.input(names.bias, *segment.bias, {1, columns}, {type});
  if (segment.dbias) {
    check.output(names.dbias, *segment.dbias, {parts_of(M), columns}, {DType::kFp32});
  }
  if (segment.dnorm && !segment.norm) {
    check.fail(names.dnorm, fmt::format("'{}' beside it", names.norm), "nothing");
  }
  if (segment.norm) check.input(names.norm, *segment.norm, {1, head_dim}, {type});
  if (segment.dnorm) {
    check.output(names.dnorm, *segment.dnorm, {parts_of(M), columns}, {DType::kFp32});
  }
}

void check_angles(TensorCheck& check, const RopeBackwardArguments& a, DType type) {
  const int64_t half = a.head_dim / 2;
  check.together("cos", a.cosines.has_value(), "sin", a.sines.has_value());
  if (a.cosines.has_value() == a.inv_freq.has_value()) {
    check.fail("inv_freq", "either inv_freq, or cos and sin", a.cosines ? "both" : "neither");
  }
  if (a.inv_freq) check.input("inv_freq", *a.inv_freq, {1, half}, {DType::kFp32});
  if (a.cosines) {
    check.input("cos", *a.cosines, {a.cosines->rows, half}, {type, DType::kFp32});
    check.input("sin", *a.sines, {a.cosines->rows, half}, {a.cosines->dtype});
  }
  if (!std::isfinite(a.scale)) check.fail("scale", "a finite number", fmt::format("{}", a.scale));
}

}  // namespace

ProgramView validate(const RopeBackwardArguments& a) {
  TensorCheck check("rope_backward");
  const DType type = a.q.dy.dtype;
  const int64_t M = a.q.dy.rows, d = a.head_dim;
  if (d < 2 || d % 2 != 0) check.fail("head_dim", "an even number above 0", fmt::format("{}", d));
  if (type != DType::kBf16 && type != DType::kFp32) {
    check.fail("dq", "elements of type bf16 or fp32", dtype_name(type));
  }
  check_segment(check, a.q, kQ, type, M, d);
  check_segment(check, a.k, kK, type, M, d);
  check_segment(check, a.v, kV, type, M, d);
  if (a.v.dy.columns != a.k.dy.columns) {
    check.fail("dv", fmt::format("as many columns as dk, {}", a.k.dy.columns),
               fmt::format("{}", a.v.dy.columns));
  }
  const int64_t query_heads = a.q.dy.columns / d, heads = a.k.dy.columns / d;
  if (query_heads % heads != 0) {
    check.fail("dq", fmt::format("a multiple of the {} heads of k", heads),
               fmt::format("{} heads", query_heads));
  }
  if (a.v.norm) check.fail("v_norm", "none: v is not normalised", "a tensor");
  if (a.q.norm || a.k.norm) check.not_negative("norm_epsilon", a.norm_epsilon);
  check.input("positions", a.positions, {1, M}, {DType::kInt32, DType::kInt64});
  check_angles(check, a, type);
  check.input("rstd", a.rstd, {a.rstd.rows, M}, {DType::kFp32});
  check.positive("rstd.width", a.rstd_width);
  check.not_negative("rstd.epsilon", a.rstd_epsilon);
  check.output("sums", a.sums, {query_heads + 2 * heads, M}, {DType::kFp32});
  return check.finish();
}

}  // namespace coda::row
