// A derived program as a header of C++, with what it saves and what that costs.
#pragma once
#include <string>

#include "coda/trace/derive.h"

namespace coda::tools {

// forward: the program that it was derived from, called `name`.
std::string derived_text(const trace::Derived& derived, const ProgramView& forward,
                         const std::string& name);

}  // namespace coda::tools
