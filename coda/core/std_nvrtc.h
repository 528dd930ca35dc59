// What kernels use of the standard library, for NVRTC, which brings no headers: reading those of
// CCCL takes longer than reading all of coda's, and a user would have to install them.
#pragma once
#if defined(__CUDACC_RTC__)

using int32_t = int;
using int64_t = long long;
using size_t = decltype(sizeof(0));
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long;
static_assert(sizeof(int64_t) == 8 && sizeof(uintptr_t) == sizeof(void*));

namespace coda::stdlib {

// Types.
template <class T, T kValue>
struct integral_constant {
  static constexpr T value = kValue;
  constexpr operator T() const { return kValue; }
};
template <bool kValue>
using bool_constant = integral_constant<bool, kValue>;

template <bool kFirst, class First, class Second>
struct conditional {
  using type = First;
};
template <class First, class Second>
struct conditional<false, First, Second> {
  using type = Second;
};
template <bool kFirst, class First, class Second>
using conditional_t = typename conditional<kFirst, First, Second>::type;

template <class T>
struct remove_const {
  using type = T;
};
template <class T>
struct remove_const<const T> {
  using type = T;
};
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <class T>
struct remove_volatile {
  using type = T;
};
template <class T>
struct remove_volatile<volatile T> {
  using type = T;
};
template <class T>
using remove_cv_t = remove_const_t<typename remove_volatile<T>::type>;
template <class T>
struct remove_reference {
  using type = T;
};
template <class T>
struct remove_reference<T&> {
  using type = T;
};
template <class T>
struct remove_reference<T&&> {
  using type = T;
};
template <class T>
using remove_cvref_t = remove_cv_t<typename remove_reference<T>::type>;

template <class T, class U>
inline constexpr bool is_same_v = false;
template <class T>
inline constexpr bool is_same_v<T, T> = true;
template <class T>
inline constexpr bool is_const_v = false;
template <class T>
inline constexpr bool is_const_v<const T> = true;
template <class T, class... Types>
inline constexpr bool is_one_of_v = (is_same_v<remove_cv_t<T>, Types> || ...);
template <class T>
inline constexpr bool is_integral_v =
    is_one_of_v<T, bool, char, signed char, unsigned char, short, unsigned short, int, unsigned int,
                long, unsigned long, long long, unsigned long long>;
template <class T>
inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_one_of_v<T, float, double>;
template <class Base, class T>
inline constexpr bool is_base_of_v = __is_base_of(Base, T);
template <class T>
inline constexpr bool is_aggregate_v = __is_aggregate(T);
template <class T>
inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);

template <class T>
T&& declval();
template <class T, class U>
concept same_as = is_same_v<T, U> && is_same_v<U, T>;
template <class From, class To>
concept convertible_to =
    __is_convertible_to(From, To) && requires { static_cast<To>(declval<From>()); };

// Lists of numbers.
template <class T, T... kValues>
struct integer_sequence {
  static constexpr size_t size() { return sizeof...(kValues); }
};
template <class T, T kCount, T... kValues>
constexpr auto counted() {
  if constexpr (kCount == 0) {
    return integer_sequence<T, kValues...>{};
  } else {
    return counted<T, kCount - 1, kCount - 1, kValues...>();
  }
}
template <class T, T kCount>
using make_integer_sequence = decltype(counted<T, kCount>());
template <size_t... kValues>
using index_sequence = integer_sequence<size_t, kValues...>;
template <size_t kCount>
using make_index_sequence = make_integer_sequence<size_t, kCount>;

template <class T, size_t kCount>
struct array {
  T item[kCount];
  constexpr T& operator[](size_t i) { return item[i]; }
  constexpr const T& operator[](size_t i) const { return item[i]; }
  constexpr T* begin() { return item; }
  constexpr T* end() { return item + kCount; }
  constexpr const T* begin() const { return item; }
  constexpr const T* end() const { return item + kCount; }
  static constexpr size_t size() { return kCount; }
};
template <class T, class... Others>
array(T, Others...) -> array<T, 1 + sizeof...(Others)>;
template <class T>
struct tuple_size;
template <class T, size_t kCount>
struct tuple_size<array<T, kCount>> : integral_constant<size_t, kCount> {};

// Numbers.
template <class To, class From>
constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

template <class T>
struct numeric_limits;
template <>
struct numeric_limits<float> {
  static constexpr float infinity() { return bit_cast<float>(0x7f800000u); }
  static constexpr float quiet_NaN() { return bit_cast<float>(0x7fc00000u); }
};
template <>
struct numeric_limits<int32_t> {
  static constexpr int32_t max() { return 0x7fffffff; }
  static constexpr int32_t min() { return -max() - 1; }
};

constexpr int popcount(uint32_t value) {
  int result = 0;
  for (; value != 0; value &= value - 1) ++result;
  return result;
}

inline float abs(float x) { return ::fabsf(x); }
inline float fabs(float x) { return ::fabsf(x); }
inline float copysign(float x, float sign) { return ::copysignf(x, sign); }
inline float cos(float x) { return ::cosf(x); }
inline float erf(float x) { return ::erff(x); }
inline float exp(float x) { return ::expf(x); }
inline float exp2(float x) { return ::exp2f(x); }
inline float floor(float x) { return ::floorf(x); }
inline float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
inline float log(float x) { return ::logf(x); }
inline float sin(float x) { return ::sinf(x); }
inline float sqrt(float x) { return ::sqrtf(x); }
inline float tanh(float x) { return ::tanhf(x); }

}  // namespace coda::stdlib

#endif
