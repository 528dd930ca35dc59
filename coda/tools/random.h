// The random numbers of checks and benchmarks.
#pragma once
#include "coda/core/random.h"

namespace coda::tools {

using coda::mix;
using coda::Random;

}  // namespace coda::tools
