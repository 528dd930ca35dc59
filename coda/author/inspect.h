// Rules about a program's ports that its types cannot express, found on its graphs, which tracing
// refuses to make of a program that breaks others (coda/trace/tile.h).
#pragma once
#include "coda/catalogue/operation.h"

namespace coda::author {

// Traces the program with all optional ports and without, and with every choice. Throws coda::Error
// for an output that is written twice or not at all, a port of another program, a NaN that is
// written, an input that is never read, names that formulas use otherwise, a program that keeps
// something from one run to the next, what inspect_reductions.h says and, if it shall run in
// kernels, what inspect_group_sums.h says.
void inspect(const catalogue::Variant& variant, bool kernels = false);

// Throws coda::Error for what NAME_cases.h says about ports that there are not, and for values that
// cannot be drawn.
void inspect_cases(const catalogue::Operation& operation);

}  // namespace coda::author
