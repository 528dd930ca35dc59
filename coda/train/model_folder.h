// The model that a run begins with: a preset, or a folder with config.json and, maybe, weights.
// Host only.
#pragma once
#include <string>

#include "coda/checkpoint/model_config.h"

namespace coda::train {

// Of a run's folder its latest checkpoint; every other name as it is.
std::string resolve_model(const std::string& model);

// Throws coda::Error where there is no such preset or folder.
checkpoint::ModelConfig config_of(const std::string& model);

// Of a preset, or a folder that is there. Throws coda::Error where it has weights, but none that
// read_weights() would find: nobody who has some means to begin with random ones.
bool has_weights(const std::string& model);

}  // namespace coda::train
