// No output may share memory with anything else the program touches. Host only.
#pragma once
#include "coda/program/describe.h"

namespace coda {

// Of the same elements; the pitch of one line may be anything.
bool same_view(const TensorView& a, const TensorView& b);

// Throws where an output overlaps an operand, an input or another output. One exception: an output
// may be exactly the view that a PerElement port reads (dW += ...), because each element is read
// before it is written, by the same thread.
void check_overlap(const ProgramView& program, const OperandView& a, const OperandView& b);

}  // namespace coda
