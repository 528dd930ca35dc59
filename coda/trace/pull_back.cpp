#include "coda/trace/pull_back.h"

#include <cmath>
#include <numbers>

namespace coda::trace {

void PullBack::operator()(const Node& node, int self, int d) const {
  Builder& b = builder;
  if (node.kind == NodeKind::kGroupSum) {
    if (wants(0)) give(0, b.group_sum(d));
    return;
  }
  const auto x = [&](int k) { return value(node.operand[static_cast<size_t>(k)]); };
  const auto y = [&] { return value(self); };
  const auto number = [&](double number) { return b.constant(number); };
  const auto to = [&](int k, auto&& gradient) {
    if (wants(k)) give(k, gradient());
  };
  const auto choose = [&](Function comparison, int left, int right, bool when_true) {
    const int mask = b.apply(comparison, left, right);
    return when_true ? b.apply(Function::kSelect, mask, d, number(0))
                     : b.apply(Function::kSelect, mask, number(0), d);
  };
  switch (node.function) {
    case Function::kAdd:
      to(0, [&] { return d; });
      to(1, [&] { return d; });
      break;
    case Function::kSubtract:
      to(0, [&] { return d; });
      to(1, [&] { return b.negate(d); });
      break;
    case Function::kMultiply:
      to(0, [&] { return b.multiply(d, x(1)); });
      to(1, [&] { return b.multiply(d, x(0)); });
      break;
    case Function::kDivide:
      to(0, [&] { return b.divide(d, x(1)); });
      to(1, [&] { return b.negate(b.divide(b.multiply(d, y()), x(1))); });
      break;
    case Function::kNegate: to(0, [&] { return b.negate(d); }); break;
    case Function::kAbs:
      to(0, [&] {
        const int below = b.apply(Function::kLess, x(0), number(0));
        const int above = b.apply(Function::kLess, number(0), x(0));
        const int right = b.apply(Function::kSelect, above, d, number(0));  // 0 at 0
        return b.apply(Function::kSelect, below, b.negate(d), right);
      });
      break;
    case Function::kSqrt: to(0, [&] { return b.divide(b.multiply(number(0.5), d), y()); }); break;
    case Function::kRsqrt:
      to(0, [&] {
        const int cube = b.multiply(b.multiply(y(), y()), y());
        return b.multiply(d, b.multiply(number(-0.5), cube));
      });
      break;
    case Function::kExp: to(0, [&] { return b.multiply(d, y()); }); break;
    case Function::kLog: to(0, [&] { return b.divide(d, x(0)); }); break;
    case Function::kTanh:
      to(0, [&] { return b.multiply(d, b.subtract(number(1), b.multiply(y(), y()))); });
      break;
    case Function::kErf:
      to(0, [&] {
        const int bell = b.apply(Function::kExp, b.negate(b.multiply(x(0), x(0))));
        return b.multiply(d, b.multiply(number(2 * std::numbers::inv_sqrtpi), bell));
      });
      break;
    case Function::kSigmoid:
      to(0, [&] { return b.multiply(b.multiply(d, y()), b.subtract(number(1), y())); });
      break;
    case Function::kRelu:
      to(0, [&] { return choose(Function::kLessEqual, x(0), number(0), false); });
      break;
    case Function::kMin:
      to(0, [&] { return choose(Function::kLess, x(1), x(0), false); });
      to(1, [&] { return choose(Function::kLess, x(1), x(0), true); });
      break;
    case Function::kMax:
      to(0, [&] { return choose(Function::kLess, x(0), x(1), false); });
      to(1, [&] { return choose(Function::kLess, x(0), x(1), true); });
      break;
    case Function::kFma:
      to(0, [&] { return b.multiply(d, x(1)); });
      to(1, [&] { return b.multiply(d, x(0)); });
      to(2, [&] { return d; });
      break;
    case Function::kSelect:
      to(1, [&] { return b.apply(Function::kSelect, x(0), d, number(0)); });
      to(2, [&] { return b.apply(Function::kSelect, x(0), number(0), d); });
      break;
    case Function::kCosine:
    case Function::kSine: {
      const bool cosine = node.function == Function::kCosine;
      const auto slope = [&] {  // by the angle
        const int other = b.apply(cosine ? Function::kSine : Function::kCosine, x(0), x(1));
        return b.multiply(cosine ? b.negate(d) : d, other);
      };
      to(0, [&] { return b.multiply(slope(), x(1)); });
      to(1, [&] { return b.multiply(slope(), x(0)); });
      break;
    }
    default: break;  // floor, comparisons, masks, integers
  }
}

}  // namespace coda::trace
