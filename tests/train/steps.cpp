// For the tests in Python: trains a model from a folder for some steps on given tokens, prints the
// losses and gradient norms, and writes the first step's gradients and the last weights.
//   train_steps MODEL TOKENS OUT OPTIONS
// TOKENS: int64, tokens then targets of every part of every step. OPTIONS: JSON.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "coda/checkpoint/safetensors.h"
#include "coda/train/model_checkpoint.h"
#include "coda/train/run_options.h"

namespace coda::train {
namespace {

std::vector<int64_t> read_tokens(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<int64_t> tokens(bytes.size() / sizeof(int64_t));
  std::memcpy(tokens.data(), bytes.data(), tokens.size() * sizeof(int64_t));
  return tokens;
}

void write_gradients(block::Model& model, const std::string& path) {
  std::vector<checkpoint::TensorRecord> tensors;
  for (const block::Parameter& parameter : model.parameters().all()) {
    for (size_t i = 0; i < parameter.stock.size(); ++i) {
      tensors.push_back(checkpoint::tensor_record(parameter.stock[i].name, DType::kFp32,
                                                  parameter.stock[i].shape,
                                                  parameter.part(parameter.gradient, i).data));
    }
  }
  checkpoint::write_safetensors(path, tensors);
}

void run(const std::string& folder, const std::string& tokens_path, const std::string& out,
         const nlohmann::json& json) {
  RunOptions options;
  options.batch = json.at("batch");
  options.parts = json.at("parts");
  options.sequence = json.at("sequence");
  options.type = json.at("dtype");
  options.recompute = json.at("recompute");
  options.fold = json.at("fold");
  options.decay = json.at("decay");
  options.max_norm = json.at("max_norm");
  validate(options);
  const auto device = block::make_device("cpu", json.at("threads"));
  block::Model model(checkpoint::read_model_config(folder + "/config.json"), model_options(options),
                     *device);
  read_weights(model, folder);
  const std::vector<int64_t> tokens = read_tokens(tokens_path);
  const auto count = static_cast<size_t>(model.sizes().tokens());
  const int64_t steps = json.at("steps");
  size_t at = 0;
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t part = 0; part < options.parts; ++part) {
      const std::span all(tokens);
      model.forward_backward(part, all.subspan(at, count), all.subspan(at + count, count));
      at += 2 * count;
    }
    if (step == 0) write_gradients(model, out + "/gradients.safetensors");
    const float loss = model.loss();
    model.update(json.at("rate"), step + 1);
    std::printf("%.9g %.9g\n", static_cast<double>(loss),
                static_cast<double>(model.gradient_norm()));
  }
  write_weights(model, out);
}

}  // namespace
}  // namespace coda::train

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    coda::train::run(argv[1], argv[2], argv[3], nlohmann::json::parse(argv[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
