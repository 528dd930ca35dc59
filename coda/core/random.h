// Random numbers that are the same on every machine and standard library: splitmix64.
#pragma once
#include "coda/core/std.h"

namespace coda {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t between(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return uniform() < probability; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)

  // Mean 0, variance 1, close to normal: four uniform numbers of 16 bits; never beyond 3.47.
  double normal() {
    const uint64_t bits = next();
    const auto sum = static_cast<double>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                         (bits >> 32 & 0xffff) + (bits >> 48));
    return (sum - 2 * 65535.0) / 37837.2270;
  }

  // Any element of an array.
  template <class Container>
  const auto& pick(const Container& container) {
    return *(container.begin() + between(0, static_cast<int64_t>(container.size()) - 1));
  }

 private:
  uint64_t state_;
};

// A seed that depends on both numbers.
inline uint64_t mix(uint64_t a, uint64_t b) { return Random(Random(a).next() ^ b).next(); }

}  // namespace coda
