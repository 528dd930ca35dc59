// A model's weights and its optimizer's state in a checkpoint's folder: config.json and
// model.safetensors as `transformers` reads them, optimizer.safetensors beside them.
#pragma once
#include "coda/block/model.h"
#include "coda/checkpoint/model_files.h"

namespace coda::train {

// Into a folder that is there; for write_folder_atomically and save_checkpoint.
void write_weights(block::Model& model, const std::string& folder);
void write_optimizer(block::Model& model, const std::string& folder);

// Throws coda::Error where the files hold other tensors or shapes than the model has, naming each,
// and where a weight is no finite number.
void read_weights(block::Model& model, const std::string& folder);
// The fp32 weights too, so that training goes on bit for bit.
void read_optimizer(block::Model& model, const std::string& folder);

}  // namespace coda::train
