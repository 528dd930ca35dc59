// What NAME_cases.h may say about random cases of a program, beyond what its ports say.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "coda/catalogue/draw.h"

namespace coda::author {

struct Cases {
  // Outputs that are exact, to the bit, where all inputs are small integers.
  std::vector<std::string> exact = {};
  // Of input ports by name, scalars too: what their elements are. The others are normal numbers.
  std::map<std::string, catalogue::Values> values = {};
};

}  // namespace coda::author
