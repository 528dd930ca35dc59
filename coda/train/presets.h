// Model sizes that `coda train` knows by name; the small ones are for bytes as tokens.
#pragma once
#include <string>
#include <vector>

#include "coda/checkpoint/model_config.h"

namespace coda::train {

std::vector<std::string> preset_names();
bool is_preset(const std::string& name);
checkpoint::ModelConfig preset(const std::string& name);

}  // namespace coda::train
