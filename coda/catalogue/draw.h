// How checks and benchmarks make a call of an operation whose shapes do not follow from its ports:
// one that is no GEMM program. The operation says which tensors a case has and what is in them; who
// asked draws the numbers and lays the tensors out.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coda/core/random.h"

namespace coda::catalogue {

struct Variant;  // operation.h

// What the elements of a tensor are.
struct Values {
  enum class Kind { kNormal, kUniform, kInteger, kGiven };
  Kind kind = Kind::kNormal;
  double low = 0, high = 1;        // kNormal: mean and deviation; else both included
  bool specials = false;           // may hold infinities and NaNs
  std::vector<double> given = {};  // kGiven: these, one after the other

  static Values normal(double mean = 0, double deviation = 1) {
    return {Kind::kNormal, mean, deviation, true};
  }
  static Values uniform(double low, double high) { return {Kind::kUniform, low, high, false}; }
  static Values integer(int64_t low, int64_t high) {
    return {Kind::kInteger, static_cast<double>(low), static_cast<double>(high), false};
  }
  static Values numbers(std::vector<double> given) {
    return {Kind::kGiven, 0, 0, false, std::move(given)};
  }
  // Element i, row after row.
  double draw(Random& random, int64_t i) const {
    switch (kind) {
      case Kind::kGiven: return given[static_cast<size_t>(i) % given.size()];
      case Kind::kNormal: return low + high * random.normal();
      case Kind::kUniform: return low + (high - low) * random.uniform();
      case Kind::kInteger: break;
    }
    return static_cast<double>(
        random.between(static_cast<int64_t>(low), static_cast<int64_t>(high)));
  }
};

struct DrawnTensor {
  std::string name;  // of a port
  int64_t rows = 0, columns = 0;
  Values values = {};  // of an input
};

struct DrawnCase {
  std::vector<DrawnTensor> inputs, outputs;     // in both: an output that is read first
  std::map<std::string, double> numbers;        // parameters
  std::string in_place_output, in_place_input;  // tensors that share their memory, or empty
  int64_t terms = 1;                            // of the longest sum: as many roundings
  // Read and written by whoever does nothing twice: benchmarks compare with copying as much.
  double bytes = 0;
};

struct DrawSize {
  int64_t M = 0, N = 0, K = 0;  // tokens, and what the operation makes of the others
};

struct DrawRequest {
  const Variant& variant;
  Random& random;
  bool integers = false;           // small enough that every sum is exact
  bool gpu = false;                // within what the GPU takes
  const DrawSize* size = nullptr;  // of a benchmark; null: a random shape
  bool all_ports = true;           // of a benchmark: optional ones too

  // Whether an optional port is given.
  bool wants(double probability) const {
    return size != nullptr ? all_ports : random.chance(probability);
  }
};

using Draw = DrawnCase (*)(const DrawRequest& request);

}  // namespace coda::catalogue
