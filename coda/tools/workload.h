// The tensors of one operation at one shape, filled with normal data, for any variant in the
// catalogue: what to build follows from its ports and its number of accumulators.
#pragma once
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "coda/catalogue/operation.h"

namespace coda::tools {

struct Shape {
  int64_t M = 0, N = 0, K = 0;  // N of one accumulator
};

std::vector<std::string> given_optional_ports(const ProgramView& program,
                                              const catalogue::Call& call);

// Of a port's tensor: partials of K columns, in a table a row for every index that is drawn.
Extent workload_extent(const PortView& port, const Problem& problem, int segment);
// Of partials of K columns, as the operation before would have left them.
std::vector<Argument> workload_parameters(const catalogue::Variant& variant, int64_t K);

class Workload {
 public:
  // Optional ports are left out, except row factors finished from partials, which stand for the
  // norm before a GEMM, and frequencies; all_ports gives them all.
  Workload(const catalogue::Variant& variant, const Shape& shape, bool all_ports);

  void run(const cpu::Options& options) const { variant_->run_cpu(call_, options); }
  double flops() const;
  const catalogue::Call& call() const { return call_; }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  enum class Fill { kZero, kNormal, kPositive, kIndex };

  TensorView tensor(DType dtype, int64_t element_bytes, Extent extent, Fill fill);
  OperandView operand(const Segments& cuts, int64_t scale);  // scale·size rows each
  Argument argument(const PortView& port, const Problem& problem);

  const catalogue::Variant* variant_;
  Shape shape_;
  std::vector<std::unique_ptr<void, Free>> memory_;
  catalogue::Call call_;
};

}  // namespace coda::tools
