// A derived program as a header of C++, with what it saves and what that costs.
#pragma once
#include <string>

#include "coda/catalogue/operation.h"
#include "coda/trace/derive.h"

namespace coda::tools {

// forward: the graph of the operation that it was derived from.
std::string derived_text(const trace::Derived& derived, const trace::Graph& forward,
                         const catalogue::Operation& operation);

}  // namespace coda::tools
