// fp64 formulas: what an operation means, written as mathematics on whole matrices, never by
// running its program. The same formula with rounding switched on is the unfused computation:
// every framework operator's result is rounded to its storage type.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "coda/core/types.h"
#include "coda/reference/array.h"

namespace coda::reference {

// By name: "A" [M, K], "B" [N, K] (two accumulators: "B.first", "B.second"), every given port in
// its logical shape (vectors as one row, several segments as one), numbers as [1, 1]; "segments.M"
// and "segments.N", the sizes as one row, where an operand is cut; "head_dim" where B is in halves.
// Outputs likewise; a reduction whose state has several members gives "port.0", "port.1", ...
struct Arrays : std::map<std::string, Array> {
  using std::map<std::string, Array>::map;
  // Throws coda::Error that names what there is.
  const Array& at(const std::string& name) const;
};

// The sizes of the segments along M or N ("segments.M"), for partial sums; none where it is whole.
std::vector<int64_t> segments_of(const Arrays& in, const std::string& name);

// An argument, or the number that stands for it where it is left out.
Array given_or(const Arrays& in, const std::string& name, double otherwise);

// The nearest value that the type holds, ties to even, in one rounding; a state holds fp32.
double round_to(DType type, double value);

// How the unfused computation adds up a GEMM's products.
enum class Accumulation {
  kFp32,        // one after the other, rounded to nearest: CPUs, and the simulator
  kTensorCore,  // as Hopper does (tensor_core.h)
};

// Rounds what a framework operator would have stored. In fp64 evaluation it does nothing.
class Rounding {
 public:
  Rounding() = default;  // none
  Rounding(DType storage, std::map<std::string, DType> ports,
           Accumulation accumulation = Accumulation::kFp32)
      : active_(true), storage_(storage), ports_(std::move(ports)), accumulation_(accumulation) {}

  // A·Bᵀ, of operands in the storage type, and partial sums; unfused: added up in fp32
  Array matmul(const Array& a, const Array& b) const;
  Array row_partial_sums(const Array& x, const std::vector<int64_t>& segments = {},
                         int width = 64) const;
  Array column_partial_sums(const Array& x, const std::vector<int64_t>& segments = {},
                            int width = 64) const;

  bool rounds() const { return active_; }                // of the unfused computation
  Array operator()(Array value) const;                   // to the operands' type
  Array fp32(Array value) const;                         // of a step within an operator
  Array as(const std::string& port, Array value) const;  // to the type of a port

 private:
  bool active_ = false;
  DType storage_ = DType::kFp32;
  std::map<std::string, DType> ports_;
  Accumulation accumulation_ = Accumulation::kFp32;
};

using Formula = Arrays (*)(const Arrays& in, const Rounding& round);

}  // namespace coda::reference
