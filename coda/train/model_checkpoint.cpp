#include "coda/train/model_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coda/checkpoint/atomic.h"
#include "coda/checkpoint/parameter_names.h"
#include "coda/checkpoint/safetensors.h"

namespace coda::train {
namespace {

constexpr const char* kOptimizerFile = "/optimizer.safetensors";

using block::Parameter;
using checkpoint::NamedShape;
using checkpoint::TensorRecord;

// f(stock tensor's name and shape, which part of the parameter)
template <class F>
void for_each_stock(const block::Model& model, F&& f) {
  for (const Parameter& parameter : model.parameters().all()) {
    for (size_t i = 0; i < parameter.stock.size(); ++i) f(parameter, i);
  }
}

TensorRecord record(std::string name, const std::vector<int64_t>& shape, const TensorView& view) {
  return checkpoint::tensor_record(std::move(name), view.dtype, shape, view.data);
}

TensorView bytes_at(const void* data, int64_t bytes) {
  return {data, DType::kInt32, 1, bytes, bytes, Major::kRow, 1};
}

checkpoint::CopyBytes copy_from(block::Device& device) {
  return [&device](void* to, const void* from, int64_t bytes) {
    device.copy_out(to, bytes_at(from, bytes));
  };
}

struct OptimizerTensor {
  const char* suffix;
  TensorView Parameter::* view;
};
constexpr OptimizerTensor kOptimizerTensors[] = {
    {".master", &Parameter::master}, {".m", &Parameter::m}, {".v", &Parameter::v}};

// One row of a matrix.
TensorRecord row_of(const TensorRecord& matrix, int64_t row) {
  const int64_t columns = matrix.shape[1], bytes = matrix.bytes / matrix.shape[0];
  return {matrix.name,
          matrix.dtype,
          {columns},
          static_cast<const char*>(matrix.data) + row * bytes,
          bytes};
}

bool same_tensor(const TensorRecord& x, const TensorRecord& y) {
  if (x.shape != y.shape) return false;
  std::vector<float> of_x(static_cast<size_t>(x.shape[1])), of_y(of_x.size());
  for (int64_t row = 0; row < x.shape[0]; ++row) {
    checkpoint::copy_elements(row_of(x, row), of_x);
    checkpoint::copy_elements(row_of(y, row), of_y);
    if (of_x != of_y) return false;
  }
  return true;
}

// A head of its own beside tied embeddings: transformers 5 takes it, so it shall not be lost here.
void expect_tied(const checkpoint::ModelFiles& files, const std::string& folder,
                 const std::string& embedding) {
  constexpr const char* kHead = "lm_head.weight";
  if (!files.contains(kHead) || same_tensor(files.tensor(kHead), files.tensor(embedding))) return;
  throw Error(
      fmt::format("model folder '{}': expected {} to be {}, as config.json's 'tie_word_embeddings' "
                  "says, got another tensor; set it to false to train with that head",
                  folder, kHead, embedding));
}

// What was not written by a run would first be noticed when the next weights are saved.
void expect_usable(const std::string& path, const TensorRecord& saved, bool square) {
  std::vector<float> values(static_cast<size_t>(saved.bytes) / sizeof(float));
  checkpoint::copy_elements(saved, values);
  for (const float value : values) {
    if (std::isfinite(value) && !(square && value < 0)) continue;
    throw Error(fmt::format("{}: {}: expected finite numbers{}, got {}", path, saved.name,
                            square ? " from 0 on" : "", value));
  }
}

}  // namespace

void write_weights(block::Model& model, const std::string& folder) {
  checkpoint::FileOutput config(folder + "/config.json");
  checkpoint::ModelConfig written = model.config();
  written.dtype = model.options().type;
  config.write(checkpoint::to_json(written));
  config.finish();
  std::vector<TensorRecord> tensors;
  for_each_stock(model, [&](const Parameter& parameter, size_t i) {
    tensors.push_back(record(parameter.stock[i].name, parameter.stock[i].shape,
                             parameter.part(parameter.weight, i)));
  });
  checkpoint::write_safetensors(folder + "/model.safetensors", tensors, {{"format", "pt"}},
                                copy_from(model.device()));
}

void write_optimizer(block::Model& model, const std::string& folder) {
  std::vector<TensorRecord> tensors;
  for_each_stock(model, [&](const Parameter& parameter, size_t i) {
    for (const OptimizerTensor& kind : kOptimizerTensors) {
      tensors.push_back(record(parameter.stock[i].name + kind.suffix, parameter.stock[i].shape,
                               parameter.part(parameter.*kind.view, i)));
    }
  });
  checkpoint::write_safetensors(folder + kOptimizerFile, tensors, {}, copy_from(model.device()));
}

void read_weights(block::Model& model, const std::string& folder) {
  checkpoint::ModelFiles files = checkpoint::ModelFiles::open(folder);
  const std::vector<NamedShape> expected = checkpoint::parameter_names(model.config());
  files.complete_names(checkpoint::base_prefix(model.config()), expected[0].name);
  files.check_against(expected);
  if (model.config().tie_word_embeddings) expect_tied(files, folder, expected[0].name);
  std::vector<float> values;
  for (const Parameter& parameter : model.parameters().all()) {
    values.resize(static_cast<size_t>(parameter.rows * parameter.columns));
    for (const block::StockTensor& stock : parameter.stock) {
      const auto part =
          std::span(values).subspan(static_cast<size_t>(stock.first_row * parameter.columns),
                                    static_cast<size_t>(stock.rows * parameter.columns));
      checkpoint::copy_elements(files.tensor(stock.name), part);
      const auto bad = std::ranges::find_if_not(part, [](float x) { return std::isfinite(x); });
      if (bad == part.end()) continue;
      throw Error(fmt::format("model folder '{}': expected finite weights, got {} in {}", folder,
                              *bad, stock.name));
    }
    model.set_weight(parameter, values);
  }
  model.finish_weights();
}

void read_optimizer(block::Model& model, const std::string& folder) {
  const checkpoint::SafetensorsFile file(folder + kOptimizerFile);
  std::vector<NamedShape> expected;
  for_each_stock(model, [&](const Parameter& parameter, size_t i) {
    for (const OptimizerTensor& kind : kOptimizerTensors) {
      expected.push_back({parameter.stock[i].name + kind.suffix, parameter.stock[i].shape});
    }
  });
  checkpoint::check_shapes(file.path(), file.shapes(), expected);
  for_each_stock(model, [&](const Parameter& parameter, size_t i) {
    for (const OptimizerTensor& kind : kOptimizerTensors) {
      const TensorRecord saved = file.tensor(parameter.stock[i].name + kind.suffix);
      const TensorView to = parameter.part(parameter.*kind.view, i);
      if (saved.dtype != to.dtype) {
        throw Error(fmt::format("{}: {}: expected {}, got {}", file.path(), saved.name,
                                dtype_name(to.dtype), dtype_name(saved.dtype)));
      }
      expect_usable(file.path(), saved, kind.view == &Parameter::v);
      model.device().copy_in(bytes_at(to.data, saved.bytes), saved.data);
    }
  });
  model.device().wait();
}

}  // namespace coda::train
