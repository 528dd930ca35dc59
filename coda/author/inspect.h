// Rules about a program's ports that its types cannot express, found on its graphs, which tracing
// refuses to make of a program that breaks others (coda/trace/tile.h).
#pragma once
#include "coda/catalogue/operation.h"

namespace coda::author {

// Traces the program with all optional ports and without, and with every choice. Throws coda::Error
// for an output that is written twice or not at all, a port of another program, a NaN that is
// written, an input that is never read, and names that formulas use otherwise.
void inspect(const catalogue::Variant& variant);

}  // namespace coda::author
