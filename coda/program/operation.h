// The elementary operations on lanes, one type each: the whole vocabulary an executor has to
// provide. Called on plain values they are the scalar definition.
#pragma once
#include "coda/core/std.h"

namespace coda::op {

// Result<Elements...> names the element type that the operation gives.
struct Arithmetic {
  template <class First, class... Rest>
  using Result = First;
};
struct Comparison {
  template <class First, class... Rest>
  using Result = bool;
};
struct Add : Arithmetic {
  static constexpr const char* name = "Add";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a + b;
  }
};
struct Subtract : Arithmetic {
  static constexpr const char* name = "Subtract";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a - b;
  }
};
struct Multiply : Arithmetic {
  static constexpr const char* name = "Multiply";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a * b;
  }
};
struct Divide : Arithmetic {
  static constexpr const char* name = "Divide";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a / b;
  }
};
struct Negate : Arithmetic {
  static constexpr const char* name = "Negate";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return -a;
  }
};
struct Abs : Arithmetic {
  static constexpr const char* name = "Abs";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return a < T(0) ? -a : a + T(0);  // + 0 turns -0 into +0
  }
};
struct Sqrt : Arithmetic {
  static constexpr const char* name = "Sqrt";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return stdlib::sqrt(a);
  }
};
struct Rsqrt : Arithmetic {
  static constexpr const char* name = "Rsqrt";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return T(1) / stdlib::sqrt(a);
  }
};
struct Exp : Arithmetic {
  static constexpr const char* name = "Exp";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return stdlib::exp(a);
  }
};
struct Log : Arithmetic {
  static constexpr const char* name = "Log";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return stdlib::log(a);
  }
};
struct Tanh : Arithmetic {
  static constexpr const char* name = "Tanh";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return stdlib::tanh(a);
  }
};
struct Erf : Arithmetic {
  static constexpr const char* name = "Erf";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return stdlib::erf(a);
  }
};
struct Floor : Arithmetic {
  static constexpr const char* name = "Floor";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return stdlib::floor(a);
  }
};
struct Min : Arithmetic {
  static constexpr const char* name = "Min";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return (b < a || b != b) ? b : a;  // a NaN on either side gives NaN, as in the frameworks
  }
};
struct Max : Arithmetic {
  static constexpr const char* name = "Max";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return (a < b || b != b) ? b : a;
  }
};
struct Less : Comparison {
  static constexpr const char* name = "Less";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual : Comparison {
  static constexpr const char* name = "LessEqual";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a <= b;
  }
};
struct Equal : Comparison {
  static constexpr const char* name = "Equal";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual : Comparison {
  static constexpr const char* name = "NotEqual";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a != b;
  }
};
struct And : Comparison {
  static constexpr const char* name = "And";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a && b;
  }
};
struct Or : Comparison {
  static constexpr const char* name = "Or";
  template <class T>
  CODA_HD auto operator()(T a, T b) const {
    return a || b;
  }
};
struct Not : Comparison {
  static constexpr const char* name = "Not";
  template <class T>
  CODA_HD auto operator()(T a) const {
    return !a;
  }
};

struct Fma : Arithmetic {  // a·b + c, rounded once
  static constexpr const char* name = "Fma";
  CODA_HD float operator()(float a, float b, float c) const { return stdlib::fma(a, b, c); }
  CODA_HD int32_t operator()(int32_t a, int32_t b, int32_t c) const { return a * b + c; }
};

struct Select {  // condition ? a : b
  static constexpr const char* name = "Select";
  template <class Condition, class First, class Second>
  using Result = First;
  template <class T>
  CODA_HD T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

// Of position·frequency in radians: what rotation() of program/angle.h means. Only graphs take them
// as they are.
struct TurnCosine : Arithmetic {
  static constexpr const char* name = "TurnCosine";
  CODA_HD float operator()(float position, float frequency) const {
    return stdlib::cos(position * frequency);
  }
};
struct TurnSine : Arithmetic {
  static constexpr const char* name = "TurnSine";
  CODA_HD float operator()(float position, float frequency) const {
    return stdlib::sin(position * frequency);
  }
};

struct ToFloat {
  static constexpr const char* name = "ToFloat";
  template <class First>
  using Result = float;
  CODA_HD float operator()(int32_t a) const { return static_cast<float>(a); }
};

}  // namespace coda::op
