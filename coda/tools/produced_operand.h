// An operand that is not there yet: launches before the one that reads it bring it. What reads it
// too early computes with NaNs.
#pragma once
#include <vector>

#include "coda/plan/sim.h"

namespace coda::tools {

class ProducedOperand {
 public:
  // Adds launches of `linear`, which copy the operand's elements, to the stream; none for types
  // that it has no kernel for. The copies are kept here until the stream has run.
  ProducedOperand(const OperandView& operand, std::vector<sim::Launch>& stream,
                  int multiprocessors);
  ~ProducedOperand();  // everything is there again
  ProducedOperand(const ProducedOperand&) = delete;
  ProducedOperand& operator=(const ProducedOperand&) = delete;

  // Fills the operand's elements with NaNs: to be called before the stream runs.
  void forget();

 private:
  struct Part {
    TensorView view;               // as lines, row-major
    std::vector<std::byte> lines;  // what stood there, line by line
    int64_t pitch;                 // in elements
  };
  std::vector<Part> parts_;
};

}  // namespace coda::tools
